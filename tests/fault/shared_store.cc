#include "shared_store.h"

#include <utility>

#include "core/limits.h"

namespace subak::fault {

void Database::raise(const std::string& who, std::int64_t now_ms) {
  ended_ms[epoch] = now_ms;
  ++epoch;
  holder = who;
}

// The epoch is checked in the batch's own transaction, and the numbers of facts are keys.
void Database::deliver(std::size_t i) {
  const Late late = std::move(network[i]);
  network.erase(network.begin() + static_cast<std::ptrdiff_t>(i));
  const bool is_ours = late.epoch == epoch || facts.planted() == Planted::kNoEpochCheck;
  if (is_ours && late.facts.front().seq == facts.durable_seq() + 1) facts.commit(late.facts);
}

class SharedFaultStore::Reader final : public FactsReader {
 public:
  Reader(const SharedFaultStore& store, std::unique_ptr<StoreReader> reader)
      : store_(store), reader_(std::move(reader)) {}
  Result<Recovered> recover(FactSink& sink) override {
    if (!store_.reaches()) return store_.away();
    return reader_->recover(sink);
  }
  Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
    if (!store_.reaches()) return store_.away();
    return reader_->facts(after, most);
  }

 private:
  const SharedFaultStore& store_;
  std::unique_ptr<StoreReader> reader_;
};

SharedFaultStore::SharedFaultStore(Database& database, const Clock& clock, std::string name)
    : database_(database), clock_(clock), name_(std::move(name)) {}

std::optional<DurationMs> SharedFaultStore::lost_for_ms() const {
  const auto ended = database_.ended_ms.find(epoch_);
  if (ended == database_.ended_ms.end()) return std::nullopt;
  return clock_.boot_ms() - ended->second;
}

void SharedFaultStore::lead_alone() {
  is_alone_ = true;
  take();
}

void SharedFaultStore::take() {
  confirmed_ms_ = clock_.boot_ms();
  database_.raise(name_, clock_.boot_ms());
  epoch_ = database_.epoch;
}

bool SharedFaultStore::beat() {
  if (!reaches()) return true;
  if (!is_leader()) return false;
  ++database_.beats;
  confirmed_ms_ = clock_.boot_ms();
  return true;
}

Result<bool> SharedFaultStore::try_lead() {
  if (leads()) return true;
  watch_.begin_look(clock_.boot_ms());
  if (!reaches()) {
    watch_.saw_nothing(clock_.boot_ms());
    return away();
  }
  const postgres::LeadershipSeen seen{lead(), database_.beats};
  if (!watch_.is_free(seen, clock_.boot_ms())) return false;
  take();
  return true;
}

void SharedFaultStore::give_up_lead() {
  if (reaches() && is_leader()) database_.holder.clear();
}

// One whose answer is lost looks it up under a new epoch of its own, and is there or sent again: as if the answer had
// come, unless another leads.
std::optional<Error> SharedFaultStore::commit(std::span<const Fact> facts) {
  if (dies_with_it) {
    database_.network.push_back({epoch_, {facts.begin(), facts.end()}});
    return away();
  }
  if (!is_leader()) return lost();
  if (facts.front().seq != database_.facts.durable_seq() + 1) {  // numbers are keys
    database_.facts.complaints.push_back("a fact became durable that its leader did not know");
    return lost();
  }
  return database_.facts.commit(facts);
}

std::optional<Error> SharedFaultStore::check_owned() {
  if (database_.facts.planted() == Planted::kUnconfirmed) {
    confirmed_ms_ = clock_.boot_ms();
    return std::nullopt;
  }
  if (clock_.boot_ms() < owned_until_ms()) return std::nullopt;
  return beat() ? std::nullopt : std::optional(lost());
}

std::optional<Error> SharedFaultStore::write_checkpoint(std::uint64_t seq,
                                                        const PackedFacts& facts) {
  if (!reaches()) return away();
  if (!is_leader()) return lost();
  return database_.facts.write_checkpoint(seq, facts);
}

std::optional<Error> SharedFaultStore::write_calibration(std::string_view bytes) {
  if (!reaches()) return away();
  if (!is_leader()) return lost();
  return database_.facts.write_calibration(bytes);
}

Result<std::unique_ptr<StoreReader>> SharedFaultStore::open_reader() {
  if (!reaches()) return away();
  auto reader = database_.facts.open_reader();
  return std::unique_ptr<StoreReader>(std::make_unique<Reader>(*this, std::move(*reader)));
}

Error SharedFaultStore::away() const {
  return {ErrorCode::kPrecondition, "store", "the database is away", "want it back"};
}

Error SharedFaultStore::lost() const {
  return {ErrorCode::kPrecondition, "store.lead", database_.holder + " leads by now",
          "want one leader"};
}

}  // namespace subak::fault
