// What the runtime needs from the world: time and a durable store. The real ones are
// server/runtime/clock.h and server/store/sqlite_store.h; tests bring their own.
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
#include "engine/fact.h"

namespace subak {

class PackedFacts;

// The only source of time. Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeMs wall_ms() const = 0;  // UTC; may jump in either direction
  virtual std::int64_t monotonic_us()
      const = 0;  // since an arbitrary instant; never goes backwards
  DurationMs monotonic_ms() const { return monotonic_us() / 1000; }
  // The same with the time that the machine slept; only the wall clock is measured by it.
  virtual std::int64_t boot_ms() const { return monotonic_ms(); }
};

// --- reads ---------------------------------------------------------------------------------------

// Receives what rebuilds the state, in this order: each checkpoint fact (seq 0), checkpoint_end
// once (seq 0 if there is no checkpoint), then each later fact without a gap.
class FactSink {
 public:
  virtual ~FactSink() = default;
  virtual void checkpoint_fact(const Fact& fact) = 0;
  virtual void checkpoint_end(std::uint64_t seq) = 0;
  virtual void fact(const Fact& fact) = 0;
};

struct Recovered {
  std::uint64_t seq = 0;             // of the last fact
  std::uint64_t checkpoint_seq = 0;  // 0: no checkpoint
  std::uint64_t checkpoint_facts = 0;
  std::uint64_t tail_facts = 0;
};

// A row of the books with the fact that made it.
struct LedgerEntry {
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;  // when it was written
  LedgerRow row;
};

// Rows that overlap [from_ms, to_ms), in order of seq, after `after_seq` and up to `last_seq`, at
// most `most`.
struct LedgerQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  std::vector<AccountId> holders;  // empty: all
  std::vector<AccountId> payers;   // empty: all
  std::optional<JobId> job;
  std::uint64_t after_seq = 0;
  std::uint64_t last_seq = INT64_MAX;
  std::size_t most = 1000;
};

// One edit, done or refused.
struct AuditEntry {
  std::uint64_t seq = 0;
  TimeMs time_ms = 0;
  std::string actor;
  std::string what;     // fact kind ("account_set"); of a refusal the input kind ("set_account")
  std::string subject;  // account path, cluster or node name, "1-42", "policy"
  std::string reason;
  std::string before;  // text form of the record (core/text.h); empty: was not there
  std::string after;   // empty: is gone
  std::string error;   // of a refusal, else empty
  std::string request_id;
};

// Edits in [from_ms, to_ms), newest first, with seq below `before_seq`.
struct AuditQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  std::string subject;  // exact, or everything below it for an account path; empty: all
  std::string actor;    // exact; empty: all
  std::uint64_t before_seq = INT64_MAX;
  std::size_t most = 100;
};

// What one (payer, holder, state, product) used on one UTC day.
struct DailyUsage {
  std::int64_t day = 0;  // days since 1970-01-01
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  std::string product;
  GpuTime amount;
  std::uint64_t rows = 0;  // that contributed
};

// Reads of what is durable, on a connection of their own: never wait for the loop or a commit.
// Threads: one at a time per reader; open one reader per thread.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // One consistent picture. An error (damage, an unknown kind of fact) means: do not start.
  virtual Result<Recovered> recover(FactSink& sink) = 0;
  // Facts after `after_seq`, at most `most`, in order.
  virtual Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) = 0;
  virtual Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) = 0;
  // Ledger rows cut to [from_ms, to_ms) and at midnights (UTC), summed. Sorted by day, payer,
  // holder, state, product. `most` and `after_seq` of the query are ignored.
  // Cost: the rows written since from_ms.
  virtual Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) = 0;
  virtual Result<std::vector<AuditEntry>> audit(const AuditQuery& query) = 0;
};

// --- writes --------------------------------------------------------------------------------------

// By cluster: the user as whom it knows the edge of who leads (ClusterView::known_as).
using KnownAs = std::map<std::string, std::string>;

// Who may commit, where several processes share a store.
struct Lead {
  std::int64_t epoch = 0;  // only rises; 0: the store is one process's
  std::string holder;      // in words; empty: nobody
  std::string address;     // at which clients reach the holder; empty: not known
  KnownAs known_as;        // no fact, so those who follow are told it
};

// The durable facts. Threads: commit() is called by one thread, write_checkpoint() and write_told() by
// one other; the rest by any.
class Store {
 public:
  virtual ~Store() = default;
  // All or nothing, and durable on return. `facts` are numbered without a gap and never empty. An
  // error is final: the caller shows nothing of the batch and ends the process.
  virtual std::optional<Error> commit(std::span<const Fact> facts) = 0;
  // That no other process can have committed since: asked before a batch without facts is shown, whose replies and
  // effects rest on the facts so far being all there are, and before any that had to wait beyond owned_until_ms(). An
  // error is final, as that of commit(), and called by the same thread.
  virtual std::optional<Error> check_owned() { return std::nullopt; }
  // Until when, by Clock::boot_ms(), the last commit() or check_owned() says that much: a process may sleep before it
  // shows what rests on it. Called by the same thread. A store that no other process can take: for ever.
  virtual std::int64_t owned_until_ms() const { return INT64_MAX; }
  // How long the commit or the check under way has been waiting for its store, as a database may be away; 0: none
  // is, or that is not known. Threads: any.
  virtual DurationMs waiting_ms() const { return 0; }
  // Who leads, as it was last seen. Threads: any.
  virtual Lead lead() const { return {}; }
  // Facts that rebuild the state as of `seq`, which is durable. Replaces the previous
  // checkpoint once all of it is durable; commits may run meanwhile.
  // An error loses the checkpoint, nothing else.
  virtual std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) = 0;
  // What is kept beside a checkpoint and may be lost (server/codec/told.h): replaces what was there. An
  // error loses it, nothing else. A store without a place for it keeps nothing.
  virtual std::optional<Error> write_told(std::string_view) { return std::nullopt; }
  // Empty: nothing is there. An error: it is damaged, or cannot be read.
  virtual Result<std::string> read_told() { return std::string(); }
  virtual Result<std::unique_ptr<StoreReader>> open_reader() = 0;
  // Copies everything durable to a new file beside the store and returns its path; the caller
  // removes it. One at a time. Commits go on meanwhile. `wanted` is asked between parts; once it
  // says no, the copy ends with an error.
  virtual Result<std::string> make_copy(const std::function<bool()>& wanted);
  // "sqlite var/subak.db", for logs and status.
  virtual std::string describe() const = 0;
};

}  // namespace subak
