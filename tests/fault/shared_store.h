// A database in memory that several processes of a fault world share: the facts, and the row that
// names the leader. Also the connection of one process to it, which behaves as
// server/store/postgres does.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/limits.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/postgres_store.h"
#include "store.h"

namespace subak::fault {

struct Database {
  explicit Database(Planted planted) : facts(planted) {}

  FaultStore facts;
  bool is_away = false;
  std::int64_t epoch = 0;
  std::string holder;  // the leader; empty: the leader gave up the lead
  std::int64_t beats = 0;
  std::map<std::int64_t, std::int64_t> ended_ms;  // when each former epoch ended, by the boot clock

  void raise(const std::string& who, std::int64_t now_ms);
  // A batch whose sender died before the answer. It may arrive at any later time.
  struct Late {
    std::int64_t epoch = 0;
    std::vector<Fact> facts;
  };
  std::vector<Late> network;
  void deliver(std::size_t i);
};

class SharedFaultStore final : public SharedStore {
 public:
  // `database` and `clock` must outlive this object. `name`: the name of the process.
  SharedFaultStore(Database& database, const Clock& clock, std::string name);

  // True: no message passes in either direction.
  bool is_cut_off = false;
  // True: the process sends the next commit, and dies before the answer.
  bool dies_with_it = false;

  bool reaches() const { return !is_cut_off && !database_.is_away; }
  std::int64_t epoch() const { return epoch_; }
  bool is_leader() const { return leads() && database_.epoch == epoch_; }
  // Returns how long ago another process took the lead from this one, in ms; nullopt: none did.
  std::optional<DurationMs> lost_for_ms() const;
  // Takes the lead without a check, like the only process of a file store.
  void lead_alone();
  // Sends a heartbeat. False: another process leads, so this process must end.
  bool beat();

  Result<bool> try_lead() override;
  bool leads() const override { return epoch_ != 0; }
  bool took_over() const override { return false; }
  void give_up_lead() override;
  void tell(const KnownAs&) override {}
  Leadership lead() const override { return {database_.epoch, database_.holder, "", {}}; }
  std::optional<Error> commit(std::span<const Fact> facts) override;
  std::optional<Error> check_owned() override;
  std::int64_t owned_until_ms() const override {
    return is_alone_ ? INT64_MAX : confirmed_ms_ + limits::kLeadTrustedMs;
  }
  void note_alive() override { watch_.saw_sign(clock_.boot_ms()); }
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  std::optional<Error> write_calibration(std::string_view bytes) override;
  Result<std::string> read_calibration() override { return database_.facts.read_calibration(); }
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  std::string describe() const override { return name_; }

 private:
  class Reader;
  void take();
  Error away() const;
  Error lost() const;

  Database& database_;
  const Clock& clock_;
  const std::string name_;
  std::int64_t epoch_ = 0;
  std::int64_t confirmed_ms_ = 0;
  bool is_alone_ = false;
  postgres::LeadershipWatch watch_;
};

}  // namespace subak::fault
