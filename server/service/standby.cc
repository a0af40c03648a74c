#include "server/service/standby.h"

#include <string>
#include <utility>

#include "core/limits.h"
#include "server/codec/codec.h"
#include "server/log/log.h"
#include "server/runtime/runtime.h"

namespace subak {
namespace {

bool is_same(const Fact& a, const Fact& b) {
  std::string bytes_a, bytes_b;
  return a.seq == b.seq && a.time_ms == b.time_ms && codec::encode(a.body, bytes_a) &&
         codec::encode(b.body, bytes_b) && bytes_a == bytes_b &&
         codec::kind_of(a.body) == codec::kind_of(b.body);
}

}  // namespace

void Standby::look(StoreReader& reader) {
  auto error = engines_.loop == nullptr ? read_all(reader) : read_on(reader);
  if (!error && engines_.loop == nullptr) error = read_all(reader);
  if (error && !failed_) log::warn("a standby cannot read", {{"error", error->message()}});
  failed_ = error.has_value();
}

Standby::Engines Standby::take() {
  last_.reset();
  Engines known = std::exchange(engines_, {});
  return failed_ ? Engines() : known;
}

void Standby::evolve(const Fact& fact) {
  engines_.loop->evolve(fact);
  engines_.follower->evolve(fact);
}

std::optional<Error> Standby::read_all(StoreReader& reader) {
  class Sink final : public FactSink {
   public:
    explicit Sink(Standby& standby) : standby_(standby) {}
    void checkpoint_fact(const Fact& fact) override { standby_.evolve(fact); }
    void checkpoint_end(std::uint64_t seq) override {
      standby_.engines_.loop->set_seq(seq);
      standby_.engines_.follower->set_seq(seq);
    }
    void fact(const Fact& fact) override {
      standby_.evolve(fact);
      standby_.last_ = fact;
    }

   private:
    Standby& standby_;
  };
  engines_ = {std::make_shared<Engine>(), std::make_shared<Engine>()};
  last_.reset();
  Sink sink(*this);
  const auto recovered = reader.recover(sink);
  if (recovered.ok()) return std::nullopt;
  engines_ = {};
  return recovered.error();
}

// The last fact that is known is read again. Where there is none (a checkpoint is all there was), the next must be the one
// after it.
std::optional<Error> Standby::read_on(StoreReader& reader) {
  while (true) {
    const std::uint64_t from = engines_.loop->seq() - (last_ ? 1 : 0);
    const auto facts = reader.facts(from, limits::kCopiedFactsAtOnce);
    if (!facts.ok()) return facts.error();
    if (last_ && (facts->empty() || !is_same(facts->front(), *last_))) {
      log::warn("what a standby knew is not in the store any more: it reads all of it anew",
                {{"seq", last_->seq}});
      engines_ = {};
      return std::nullopt;
    }
    const std::size_t known = last_ ? 1 : 0;
    if (facts->size() == known) return std::nullopt;
    for (std::size_t i = known; i < facts->size(); ++i) evolve((*facts)[i]);
    last_ = facts->back();
  }
}

}  // namespace subak
