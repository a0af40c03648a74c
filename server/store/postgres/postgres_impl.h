// The part of the PostgreSQL store that writes. Other code uses open_shared_store()
// (postgres_store.h), which makes this object. Threads: as Store and SharedStore say.
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

// The store of one process. One thread commits. CheckpointWriter, the heartbeat and readers have
// connections of their own.
class PostgresStore final : public SharedStore {
 public:
  // `options.clock` must be set. The constructor does not connect.
  PostgresStore(Address address, PostgresOptions options);
  ~PostgresStore() override { give_up_lead(); }
  // Connects to the database. Call it before all other functions.
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
  // The result is a time by the boot clock. Threads: any.
  std::int64_t owned_until_ms() const override { return confirmed_ms_ + limits::kLeadTrustedMs; }
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  std::optional<Error> add_past_checkpoint(
      std::uint64_t seq, const std::function<const PackedFacts*()>& facts) override;
  std::optional<Error> write_calibration(std::string_view bytes) override;
  Result<std::string> read_calibration() override;
  std::optional<Error> write_activity(std::int64_t part, std::string_view bytes) override;
  Result<std::string> read_activity(std::int64_t part) override;
  std::optional<Error> write_notice_marks(std::string_view bytes) override;
  Result<std::string> read_notice_marks() override;
  std::optional<Error> add_day_sums(const std::function<bool()>& wanted) override;
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  Result<std::string> make_copy(const std::function<bool()>& wanted) override;
  std::string describe() const override { return address_.shown; }

 private:
  enum class Outcome : std::uint8_t {
    // The statement is durable.
    kDone,
    // The statement had no effect, and another attempt does not help. batch_.error says why.
    kRefused,
    // The statement had no effect, and may be sent again.
    kAgain,
    // It is unknown whether the statement is durable. resolve() finds out.
    kUnknown,
  };
  // Reads the rows of the lead once. True: according to all reads so far, the lead is free.
  Result<bool> look(LeadershipSeen& seen);
  // Tries to take the lead. True: this process has taken the lead.
  Result<bool> take(const LeadershipSeen& seen);
  // Migrates the tables, writes the first rows of a new store, and reads the position. It is called
  // after this process has taken the lead.
  std::optional<Error> prepare();
  // Writes the first rows of a new store. If options_.uuid is set, it refuses a store that exists
  // already.
  std::optional<Error> found();
  // Reads the identity, the version and the position of the store, and checks the last fact of the
  // checkpoint.
  std::optional<Error> load();
  std::optional<Error> check_rows();

  // Calls attempt() until the result is kDone or kRefused. After kUnknown, it raises the epoch, and
  // then finds out whether `batch_.sent` is durable (resolve()).
  template <class F>
  std::optional<Error> insist(F&& attempt);
  // Finds out whether the batch that was sent last is durable. kDone: it is. kAgain: it is not, and
  // may be sent again under the new epoch.
  Outcome resolve();
  // Sends the batch once. After kDone, batch_.position is the position after the batch.
  Outcome try_commit(std::span<const Fact> facts);
  // Confirms that this process leads, for a batch without facts.
  Outcome beat();
  // Interprets the result of a statement that failed, or whose connection broke.
  Outcome judge(const PgResult& result, std::string_view what);
  // Reads the last edit of each of edited_things(), into `out`.
  Outcome last_edits(std::span<const Fact> facts, LastEdits& out);
  // Returns the outcome for the case that another process leads. Its error is final.
  Outcome lost();

  const Clock& clock() const { return *options_.clock; }

  const Address address_;
  const PostgresOptions options_;
  // The identity of the store. The identity is set once, before the first commit.
  struct Identity {
    std::string uuid;
    // The start of the checksums: the CRC32C of the uuid.
    std::uint32_t seed = 0;
  };
  Identity identity_;
  // The epoch in which this process leads; 0: this process does not lead. After each unknown
  // outcome, this process raises the epoch.
  std::atomic<std::int64_t> epoch_{0};
  // A copy of the version in batch_.position, for other threads.
  std::atomic<std::uint32_t> version_{1};

  // Only the committing thread uses the members from here to `checkpoints_`, except those that are
  // atomic or guarded by a mutex.
  PgConnection db_;
  struct CurrentBatch {
    // The position before the batch.
    Position position;
    // The position after the batch whose outcome is unknown; nullopt: there is no such batch.
    std::optional<Position> sent;
    // The error of the last attempt.
    std::optional<Error> error;
  };
  CurrentBatch batch_;
  LeadershipWatch watch_;
  // The result of took_over().
  bool took_over_ = false;
  // The leader that the last look found.
  struct Seen {
    mutable Mutex mutex;
    Leadership lead SUBAK_GUARDED_BY(mutex);
  };
  Seen seen_;
  struct Trouble {
    // Since when a commit waits for the database, by the monotonic clock; 0: no commit waits.
    std::atomic<std::int64_t> waits_since_ms{0};
    // True: a commit gets no answer. Until it gets one, the heartbeat is silent.
    std::atomic<bool> no_answer{false};
  };
  Trouble trouble_;
  struct Checkpoints {
    // Only the thread that writes checkpoints uses it.
    CheckpointWriter writer;
    // Held while past checkpoints are changed.
    Mutex past;
  };
  Checkpoints checkpoints_;
  // When the last heartbeat that confirmed the lead was begun, by the boot clock. Commits do not
  // confirm the lead: a process that waits for silence looks only at heartbeats before it takes the
  // lead.
  std::atomic<std::int64_t> confirmed_ms_{0};
  // nullptr: this process does not lead.
  std::unique_ptr<Heartbeat> heartbeat_;
  Proof proof_;
};

}  // namespace subak::postgres
