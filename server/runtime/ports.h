// The interface of the durable store that the runtime needs. server/store/sqlite and
// server/store/postgres implement it; tests have their own implementations.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/ledger.h"
#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "model/fact.h"
#include "server/runtime/clock/clock.h"

namespace subak {

class PackedFacts;

// --- reads ---------------------------------------------------------------------------------------

// Receives the facts that rebuild the state. First come the checkpoint facts (seq 0), then one call
// of checkpoint_end() (seq 0 if there is no checkpoint). Then each later fact follows without a
// gap.
class FactSink {
 public:
  virtual ~FactSink() = default;
  virtual void checkpoint_fact(const Fact& fact) = 0;
  virtual void checkpoint_end(std::uint64_t seq) = 0;
  virtual void fact(const Fact& fact) = 0;
};

// The extent of a recovery.
struct Recovered {
  // The last fact; 0: the store is empty.
  std::uint64_t seq = 0;
  // The last fact of the checkpoint; 0: there is no checkpoint.
  std::uint64_t checkpoint_seq = 0;
  // The number of facts in the checkpoint, and of facts after it.
  std::uint64_t checkpoint_facts = 0;
  std::uint64_t tail_facts = 0;
};

// A row of the ledger with the fact that wrote it.
struct LedgerEntry {
  std::uint64_t seq = 0;
  // When the row was written.
  TimeMs time_ms = 0;
  LedgerRow row;
};

// Selects rows that overlap [from_ms, to_ms), after `after_seq` and up to `last_seq`, at most
// `most`. The result is in order of seq.
struct LedgerQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  // Only rows of these accounts that held the GPUs; empty: all.
  std::vector<AccountId> holders;
  // Only rows that these accounts paid; empty: all.
  std::vector<AccountId> payers;
  // Only this job; nullopt: all.
  std::optional<JobId> job;
  // Only rows of later facts; 0: from the first.
  std::uint64_t after_seq = 0;
  std::uint64_t last_seq = INT64_MAX;
  std::size_t most = 1000;
};

// One edit, done or refused.
struct AuditEntry {
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;
  // The caller: "token:ci", "config", "edge".
  std::string actor;
  // The kind of the fact ("account_set"). For a refusal: the kind of the input ("set_account").
  std::string what;
  // An account path, the name of a cluster or node, a job "1-42", or "policy".
  std::string subject;
  // The reason as the caller gave it.
  std::string reason;
  // The record before the edit, in text form (core/text.h); empty: there was no record.
  std::string before;
  // The record after the edit; empty: it was removed.
  std::string after;
  // The error of a refusal; else empty.
  std::string error;
  // The request id as the caller gave it; empty: none.
  std::string request_id;
};

// Selects edits in [from_ms, to_ms) with seq below `before_seq`, newest first.
struct AuditQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  // Only this subject; for an account path also all accounts below it. Empty: all.
  std::string subject;
  // Only this caller; empty: all.
  std::string actor;
  std::uint64_t before_seq = INT64_MAX;
  std::size_t most = 100;
};

// The usage of one (payer, holder, state, product) on one UTC day.
struct DailyUsage {
  // Days since 1970-01-01, UTC.
  std::int64_t day = 0;
  // The account that paid, and the one that held the GPUs.
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  std::string product;
  GpuTime amount;
  // The number of ledger rows in the sum.
  std::uint64_t rows = 0;
};

// Reads durable data on its own connection. It never waits for the loop or a commit. Threads: one
// at a time for each reader; open one reader for each thread.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // Passes the facts of one consistent snapshot to `sink`. After an error (damage, an unknown kind
  // of fact) the service must not start.
  virtual Result<Recovered> recover(FactSink& sink) = 0;
  // Returns facts after `after_seq`, at most `most`, in order.
  virtual Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) = 0;
  // Returns rows of the ledger.
  virtual Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) = 0;
  // Returns sums of ledger rows, for each day in [from_ms, to_ms) (UTC). A row that spans a limit
  // is divided there. The result is sorted by day, payer, holder, state, product. It ignores `most`
  // and `after_seq` of the query. Cost: the rows written since from_ms.
  virtual Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) = 0;
  // Returns rows of the audit log.
  virtual Result<std::vector<AuditEntry>> audit(const AuditQuery& query) = 0;
};

// --- writes --------------------------------------------------------------------------------------

// By cluster: the user name of the leader's edge in that cluster (ClusterView::known_as).
using KnownAs = std::map<std::string, std::string>;

// The process that may commit, if several share a store.
struct Leadership {
  // The number of the leadership, which only rises; 0: one process owns the store.
  std::int64_t epoch = 0;
  // A description of the leader; empty: there is no leader.
  std::string holder;
  // The address at which clients reach the leader; empty: not known.
  std::string address;
  // The leader's user names. They are not facts, so followers get them here.
  KnownAs known_as;
};

// The durable facts. Threads: one thread calls commit(), check_owned() and owned_until_ms(). One
// other thread calls write_checkpoint() and write_calibration().
// Any thread may call the other members.
class Store {
 public:
  virtual ~Store() = default;
  // Commits all facts or none. They are durable on return. `facts` are numbered without a gap and
  // never empty. An error is final: the caller must not release the batch,
  // and must end the process.
  virtual std::optional<Error> commit(std::span<const Fact> facts) = 0;
  // Checks that no other process can have committed since the last commit(). Call it before a batch
  // without facts is released, since its replies and effects are right only if this process has all
  // facts. Call it also before the release of a batch that waited beyond owned_until_ms(). An error
  // is final, as that of commit().
  virtual std::optional<Error> check_owned() { return std::nullopt; }
  // Returns the time, by Clock::boot_ms(), until which the result of the last commit() or
  // check_owned() is valid. A process may sleep before it releases the batch. The result is
  // INT64_MAX if no other process can take the store.
  virtual std::int64_t owned_until_ms() const { return INT64_MAX; }
  // Returns how long the present commit or check has waited for the store, since a database may be
  // unreachable. 0: there is no commit or check, or the time is unknown.
  virtual DurationMs waiting_ms() const { return 0; }
  // Returns the leader as last seen.
  virtual Leadership lead() const { return {}; }
  // Writes the facts that rebuild the state as of `seq`, which is durable. They replace the
  // previous checkpoint once all of them are durable. Commits may run meanwhile. After an error,
  // only this checkpoint is lost.
  virtual std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) = 0;
  // Replaces the calibration data beside a checkpoint (server/codec/calibration.h). These data may
  // be lost. After an error, only they are lost. The default implementation stores none.
  virtual std::optional<Error> write_calibration(std::string_view) { return std::nullopt; }
  // Returns the calibration data; empty: there are none. An error:
  // the data are damaged or unreadable.
  virtual Result<std::string> read_calibration() { return std::string(); }
  // Opens a reader with its own connection. The store outlives the reader.
  virtual Result<std::unique_ptr<StoreReader>> open_reader() = 0;
  // Copies all durable data to a new file beside the store and returns the file's path. The caller
  // removes the file. Make one copy at a time. Commits go on meanwhile. It calls `wanted` between
  // parts; if that returns false, the copy ends with an error.
  virtual Result<std::string> make_copy(const std::function<bool()>& wanted);
  // Returns a description for logs and status, such as "sqlite var/subak.db".
  virtual std::string describe() const = 0;
};

}  // namespace subak
