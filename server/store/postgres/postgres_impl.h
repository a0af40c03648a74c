// The write side. Others use open_postgres_store() (postgres_store.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/limits.h"
#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/address.h"
#include "server/store/postgres/batch.h"
#include "server/store/postgres/heartbeat.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/postgres/proof.h"
#include "server/store/postgres/rows.h"
#include "threads/mutex.h"

namespace subak::postgres {

class PostgresStore final : public SharedStore {
 public:
  PostgresStore(Address address, const PostgresOptions& options);
  ~PostgresStore() override { give_up_lead(); }
  // Connects; call it first.
  std::optional<Error> open();

  Result<bool> try_lead() override;
  bool leads() const override { return epoch_ != 0; }
  bool took_over() const override { return took_over_; }
  void watch() override;
  void note_alive() override { watch_.saw_sign(clock_.boot_ms()); }
  void give_up_lead() override;
  void tell(const KnownAs& known_as) override;
  Leadership lead() const override;
  DurationMs waiting_ms() const override;

  std::optional<Error> commit(std::span<const Fact> facts) override;
  std::optional<Error> check_owned() override;
  std::int64_t owned_until_ms() const override { return confirmed_ms_ + limits::kLeadTrustedMs; }
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  std::optional<Error> write_calibration(std::string_view bytes) override;
  Result<std::string> read_calibration() override;
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  Result<std::string> make_copy(const std::function<bool()>& wanted) override;
  std::string describe() const override { return address_.shown; }

 private:
  enum class Outcome : std::uint8_t {
    kDone,     // durable
    kRefused,  // none of it is there: error_
    kAgain,    // none of it is there
    kUnknown,  // it may be there
  };
  std::optional<Error> check_server();
  void check_role();
  // Refuses a store with facts of a version that this program does not know. A store without tables
  // is good.
  std::optional<Error> check_version();
  std::optional<Error> check_epoch();
  // Looks once at the rows. True: by all looks so far, the lead is free.
  Result<bool> look(LeadershipSeen& seen);
  // True if this process took the lead.
  Result<bool> take(const LeadershipSeen& seen);
  std::optional<Error> prepare();
  std::optional<Error> found();
  std::optional<Error> load();
  std::optional<Error> check_rows();

  // Calls attempt() until it is done or refused. After an unknown outcome it asks the database
  // under a new epoch: resolve() says what became of `sent_`.
  template <class F>
  std::optional<Error> insist(F&& attempt);
  Outcome resolve();
  Outcome try_commit(std::span<const Fact> facts);
  Outcome beat();
  // Interprets a statement that failed or broke.
  Outcome judge(const PgResult& result, std::string_view what);
  Outcome last_edits(std::span<const Fact> facts, LastEdits& out);
  Outcome lost();

  // Uses the background's connection; an error if another process leads by now.
  std::optional<Error> write_part(std::uint64_t seq, std::uint64_t part, std::string_view rows);
  std::optional<Error> run_as_leader(const char* rest, Parameters& parameters);
  std::optional<Error> open_background();
  Result<std::uint32_t> anchor_of(std::uint64_t seq);

  const Address address_;
  const Clock& clock_;
  const std::string holder_;
  const std::uint32_t known_version_;
  const bool ignore_checkpoint_, takes_lead_, replicated_;
  const std::string copy_path_, wanted_uuid_, advertise_;
  const std::function<bool()> stop_, may_lead_;
  const std::function<void(const Error&)> on_lost_;
  const std::function<void(const ClockSample&)> on_time_;
  std::string uuid_;
  std::uint32_t seed_ = 0;                 // start of the checksums
  std::atomic<std::int64_t> epoch_{0};     // this process's; the background reads it
  std::atomic<std::uint32_t> version_{1};  // of the facts, as in position_

  // Used by the committing thread.
  PgConnection db_;
  Position position_;             // before the batch
  std::optional<Position> sent_;  // after the batch whose outcome is unknown
  std::optional<Error> error_;    // of the last attempt

  LeadershipWatch watch_;
  bool took_over_ = false;
  mutable Mutex seen_mutex_;
  Leadership seen_ SUBAK_GUARDED_BY(seen_mutex_);  // the leader at the last look
  std::atomic<std::int64_t> waits_since_ms_{0};    // of a commit, monotonic clock; 0: none waits

  PgConnection background_;              // of the thread that writes checkpoints
  std::atomic<bool> in_trouble_{false};  // a commit gets no answer
  // When the last confirmation of the lead began, boot clock. Only a heartbeat is a confirmation: a
  // process that waits for silence does not see commits before it takes the lead.
  std::atomic<std::int64_t> confirmed_ms_{0};
  std::unique_ptr<Heartbeat> heartbeat_;
  Proof proof_;
};

}  // namespace subak::postgres
