// The interfaces that the runtime needs: time and a durable store. The real ones are
// server/runtime/clock/clock.h and server/store/sqlite/sqlite_store.h; tests bring their own.
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

// Receives the facts that rebuild the state. First come the checkpoint facts (seq 0), then
// checkpoint_end once (seq 0 if there is no checkpoint). Then each later fact follows without a
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
  // The facts in the checkpoint, and those that came after it.
  std::uint64_t checkpoint_facts = 0;
  std::uint64_t tail_facts = 0;
};

// A row of the ledger with the fact that wrote it.
struct LedgerEntry {
  std::uint64_t seq = 0;
  // When it was written.
  TimeMs time_ms = 0;
  LedgerRow row;
};

// Selects rows that overlap [from_ms, to_ms), after `after_seq` and up to `last_seq`, at most
// `most`. The result is in order of seq.
struct LedgerQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  // Accounts that held the GPUs; empty: all.
  std::vector<AccountId> holders;
  // Accounts that paid; empty: all.
  std::vector<AccountId> payers;
  // Only this job; nullopt: all.
  std::optional<JobId> job;
  // Rows of later facts only; 0: from the first.
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
  // The kind of the fact ("account_set"); of a refusal that of the input ("set_account").
  std::string what;
  // An account path, the name of a cluster or node, a job "1-42", or "policy".
  std::string subject;
  // As the caller gave it.
  std::string reason;
  // The record before, in text form (core/text.h); empty: it did not exist.
  std::string before;
  // The record after; empty: it was removed.
  std::string after;
  // Of a refusal; else empty.
  std::string error;
  // As the caller gave it; empty: none.
  std::string request_id;
};

// Selects edits in [from_ms, to_ms) with seq below `before_seq`, newest first.
struct AuditQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  // Exactly this one, or all below it for an account path; empty: all.
  std::string subject;
  // Exactly this one; empty: all.
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
  // Rows of the ledger that contributed.
  std::uint64_t rows = 0;
};

// Reads durable data on a connection of its own. It never waits for the loop or a commit. Threads:
// one at a time per reader; open one reader per thread.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // Reads one consistent snapshot. An error (damage, an unknown kind of fact) means: do not start.
  virtual Result<Recovered> recover(FactSink& sink) = 0;
  // Returns facts after `after_seq`, at most `most`, in order.
  virtual Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) = 0;
  // Returns rows of the ledger.
  virtual Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) = 0;
  // Returns sums of ledger rows, cut to [from_ms, to_ms) and at midnights (UTC). Sorted by day,
  // payer, holder, state, product. Ignores `most` and `after_seq` of the query. Cost: the rows
  // written since from_ms.
  virtual Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) = 0;
  // Returns rows of the audit log.
  virtual Result<std::vector<AuditEntry>> audit(const AuditQuery& query) = 0;
};

// --- writes --------------------------------------------------------------------------------------

// By cluster: the user name by which it knows the leader's edge (ClusterView::known_as).
using KnownAs = std::map<std::string, std::string>;

// The process that may commit, if several share a store.
struct Leadership {
  // It only rises; 0: one process owns the store.
  std::int64_t epoch = 0;
  // A description of the leader; empty: there is no leader.
  std::string holder;
  // Where clients reach the leader; empty: not known.
  std::string address;
  // It is not a fact, so followers get it here.
  KnownAs known_as;
};

// The durable facts. Threads: one thread calls commit(), one other calls write_checkpoint() and
// write_calibration(), any may call the rest.
class Store {
 public:
  virtual ~Store() = default;
  // Commits all facts or none; durable on return. `facts` are numbered without a gap and never
  // empty. An error is final: the caller releases nothing of the batch and ends the process.
  virtual std::optional<Error> commit(std::span<const Fact> facts) = 0;
  // Checks that no other process can have committed since. Call it before a batch without facts is
  // released: its replies and effects rest on the facts so far being complete. Call it also before
  // a batch that had to wait beyond owned_until_ms(). An error is final, as that of commit().
  // Threads: that of commit().
  virtual std::optional<Error> check_owned() { return std::nullopt; }
  // Returns until when, by Clock::boot_ms(), the last commit() or check_owned() holds. A process
  // may sleep before it releases the batch. For ever if no other process can take the store.
  // Threads: that of commit().
  virtual std::int64_t owned_until_ms() const { return INT64_MAX; }
  // Returns how long the current commit or check has waited for its store, since a database may be
  // away. 0: there is none, or it is unknown. Threads: any.
  virtual DurationMs waiting_ms() const { return 0; }
  // Returns the leader as last seen. Threads: any.
  virtual Leadership lead() const { return {}; }
  // Writes the facts that rebuild the state as of `seq`, which is durable. They replace the
  // previous checkpoint once all of them are durable; commits may run meanwhile. An error loses
  // only this checkpoint.
  virtual std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) = 0;
  // Replaces the calibration data beside a checkpoint (server/codec/calibration.h), which may be
  // lost. An error loses only these data. A store without room for them keeps none.
  virtual std::optional<Error> write_calibration(std::string_view) { return std::nullopt; }
  // Returns the calibration data; empty: there are none. An error: they are damaged or unreadable.
  virtual Result<std::string> read_calibration() { return std::string(); }
  // Opens a reader with a connection of its own. Threads: any. The store outlives it.
  virtual Result<std::unique_ptr<StoreReader>> open_reader() = 0;
  // Copies all durable data to a new file beside the store and returns its path; the caller removes
  // it. One copy at a time. Commits go on meanwhile. `wanted` is called between parts; false ends
  // the copy with an error.
  virtual Result<std::string> make_copy(const std::function<bool()>& wanted);
  // Returns "sqlite var/subak.db", for logs and status.
  virtual std::string describe() const = 0;
};

}  // namespace subak
