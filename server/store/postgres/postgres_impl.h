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
#include "server/store/postgres/batch.h"
#include "server/store/postgres/checkpoint_writer.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/heartbeat.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/postgres/proof.h"
#include "server/store/postgres/rows.h"
#include "threads/mutex.h"

namespace subak::postgres {

class PostgresStore final : public SharedStore {
 public:
  // `options` has a clock.
  // It connects to nothing before open().
  PostgresStore(Address address, PostgresOptions options);
  ~PostgresStore() override { give_up_lead(); }
  // Connects; call it first.
  std::optional<Error> open();

  Result<bool> try_lead() override;
  // Threads: any.
  bool leads() const override { return epoch_ != 0; }
  bool took_over() const override { return took_over_; }
  void watch() override;
  void note_alive() override { watch_.saw_sign(clock().boot_ms()); }
  void give_up_lead() override;
  void tell(const KnownAs& known_as) override;
  Leadership lead() const override;
  DurationMs waiting_ms() const override;

  std::optional<Error> commit(std::span<const Fact> facts) override;
  std::optional<Error> check_owned() override;
  // By the boot clock. Threads: any.
  std::int64_t owned_until_ms() const override { return confirmed_ms_ + limits::kLeadTrustedMs; }
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  std::optional<Error> write_calibration(std::string_view bytes) override;
  Result<std::string> read_calibration() override;
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  Result<std::string> make_copy(const std::function<bool()>& wanted) override;
  std::string describe() const override { return address_.shown; }

 private:
  enum class Outcome : std::uint8_t {
    // The statement is durable.
    kDone,
    // Nothing of it is there, and another attempt does not help: batch_.error says why.
    kRefused,
    // Nothing of it is there, and it may be sent again.
    kAgain,
    // It may be there: resolve() finds out.
    kUnknown,
  };
  // Checks the settings that a durable commit needs, and with `replicated` the standbys.
  std::optional<Error> check_server();
  // Only logs: a role that may also change or delete rows does not stop a start.
  void check_role();
  // Refuses a store with facts of a version that this program does not know. A store without tables
  // is good.
  std::optional<Error> check_version();
  // Checks that the lead's epoch is not below that of the last fact; else its row was altered.
  std::optional<Error> check_epoch();
  // Looks once at the rows. True: by all looks so far, the lead is free.
  Result<bool> look(LeadershipSeen& seen);
  // True if this process took the lead.
  Result<bool> take(const LeadershipSeen& seen);
  // After the lead was taken: migrates, makes the first rows, and reads the position.
  std::optional<Error> prepare();
  // Writes the first rows of a new store. With options_.uuid, a store that is there already is
  // refused.
  std::optional<Error> found();
  // Reads identity, version and position of the store, and checks the checkpoint's fact.
  std::optional<Error> load();
  std::optional<Error> check_rows();

  // Calls attempt() until it is done or refused. After an unknown outcome it asks the database
  // under a new epoch: resolve() says what became of `batch_.sent`.
  template <class F>
  std::optional<Error> insist(F&& attempt);
  // kDone: the batch is there. kAgain: it is not, and may be sent under the new epoch.
  Outcome resolve();
  // Sends the batch once. At kDone the position is the new one.
  Outcome try_commit(std::span<const Fact> facts);
  // Confirms the lead for a batch without facts.
  Outcome beat();
  // Interprets a statement that failed or broke.
  Outcome judge(const PgResult& result, std::string_view what);
  // Reads the last edit of each thing that the facts edit.
  Outcome last_edits(std::span<const Fact> facts, LastEdits& out);
  // The outcome if another process leads: its error is final.
  Outcome lost();

  const Clock& clock() const { return *options_.clock; }

  const Address address_;
  const PostgresOptions options_;
  // Set once, before the first commit.
  struct Identity {
    std::string uuid;
    // The start of the checksums: the CRC32C of the uuid.
    std::uint32_t seed = 0;
  };
  Identity identity_;
  // The epoch of this process; 0: it does not lead. A new one after each unknown outcome.
  std::atomic<std::int64_t> epoch_{0};
  // The version of the facts, as in batch_.position: for other threads.
  std::atomic<std::uint32_t> version_{1};

  // The rest up to `checkpoints_` is used by the committing thread, but for atomics.
  PgConnection db_;
  struct CurrentBatch {
    // The position before the batch.
    Position position;
    // The position after the batch whose outcome is unknown; nullopt: none is.
    std::optional<Position> sent;
    // The error of the last attempt.
    std::optional<Error> error;
  };
  CurrentBatch batch_;
  LeadershipWatch watch_;
  // As took_over().
  bool took_over_ = false;
  // The leader at the last look.
  struct Seen {
    mutable Mutex mutex;
    Leadership lead SUBAK_GUARDED_BY(mutex);
  };
  Seen seen_;
  struct Trouble {
    // Since when a commit waits for the database, monotonic; 0: none waits.
    std::atomic<std::int64_t> waits_since_ms{0};
    // A commit gets no answer: the heartbeat is silent meanwhile.
    std::atomic<bool> no_answer{false};
  };
  Trouble trouble_;
  // Used by the thread that writes checkpoints.
  CheckpointWriter checkpoints_;
  // When the last confirmation of the lead began, boot clock. Only a heartbeat is a confirmation: a
  // process that waits for silence does not see commits before it takes the lead.
  std::atomic<std::int64_t> confirmed_ms_{0};
  // nullptr: this process does not lead.
  std::unique_ptr<Heartbeat> heartbeat_;
  Proof proof_;
};

}  // namespace subak::postgres
