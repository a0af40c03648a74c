// The interface of the durable store that the runtime needs, and the records that its reads return.
// server/store/sqlite and server/store/postgres implement this interface; tests have their own
// implementations.
//
// The store has facts (numbered decisions and observations) and checkpoints (lists of facts that
// rebuild the state as of one fact). It also has the rows of the ledger (one interval in which one
// pod held GPUs of one node) and the audit log (the edits by people).
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
#include "server/codec/day_sums.h"
#include "server/runtime/clock/clock.h"

namespace subak {

class PackedFacts;

// --- reads ---------------------------------------------------------------------------------------

// Receives the facts that rebuild the state from StoreReader::recover(), in this order:
// - checkpoint_fact(), for each fact of the checkpoint; these facts have the number 0;
// - checkpoint_end(), once; `seq` is 0 if there is no checkpoint;
// - fact(), for each later fact, without a gap in the numbers.
class FactSink {
 public:
  virtual ~FactSink() = default;
  virtual void checkpoint_fact(const Fact& fact) = 0;
  virtual void checkpoint_end(std::uint64_t seq) = 0;
  virtual void fact(const Fact& fact) = 0;
};

// Which facts a recovery has read.
struct Recovered {
  // The last fact; 0: the store is empty.
  std::uint64_t seq = 0;
  // The last fact of the checkpoint; 0: there is no checkpoint.
  std::uint64_t checkpoint_seq = 0;
  // The number of facts in the checkpoint, and the number of facts after the checkpoint.
  std::uint64_t checkpoint_facts = 0;
  std::uint64_t tail_facts = 0;
};

// A checkpoint that a store has.
struct StoredCheckpoint {
  // The last fact of its state.
  std::uint64_t seq = 0;
  // The number of facts that rebuild the state.
  std::uint64_t facts = 0;
  // The size in the store, in bytes. 0 for the checkpoint in use.
  std::uint64_t bytes = 0;
  friend bool operator==(const StoredCheckpoint&, const StoredCheckpoint&) = default;
};

// A row of the ledger, with the number of the fact that wrote it.
struct LedgerEntry {
  std::uint64_t seq = 0;
  // When the row was written.
  TimeMs time_ms = 0;
  LedgerRow row;
};

// The columns by which StoreReader::daily_usage() groups rows. A DailyUsage has the default value
// in each other column.
struct UsageColumns {
  UsagePeriod period = UsagePeriod::kDay;
  bool product = true, profile = true, cluster = true, ns = true;
  // With `job`, all rows of the period are read. Without it, sums of days are read.
  bool job = false;
};

// Selects rows of the ledger that overlap [from_ms, to_ms). The facts of these rows have numbers
// above `after_seq`, up to `last_seq`. The result is in order of seq, and has at most `most` rows.
struct LedgerQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  // Only rows whose GPUs one of these accounts held; empty: all rows.
  std::vector<AccountId> holders;
  // Only rows that one of these accounts paid; empty: all rows.
  std::vector<AccountId> payers;
  // Only rows of this job; nullopt: all rows.
  std::optional<JobId> job;
  // With `payers`: also rows that the platform pays and that one of the payers held.
  bool with_platform = false;
  // Only rows of facts after this one; 0: from the first fact on.
  std::uint64_t after_seq = 0;
  std::uint64_t last_seq = INT64_MAX;
  std::size_t most = 1000;
  // How daily_usage() groups the rows.
  UsageColumns columns;
};

// An entry of the audit log: one edit that was made or refused.
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
  // The record after the edit; empty: the edit removed the object.
  std::string after;
  // The error of a refusal; else empty.
  std::string error;
  // The request id as the caller gave it; empty: none.
  std::string request_id;
};

// Selects edits in [from_ms, to_ms) whose seq is below `before_seq`. The result is in order of seq,
// the newest edit first, and has at most `most` edits.
struct AuditQuery {
  TimeMs from_ms = 0;
  TimeMs to_ms = INT64_MAX;
  // Only edits of this subject. If this is the path of an account, edits of all accounts below that
  // account match too. Empty: all edits.
  std::string subject;
  // Only edits by this caller; empty: all edits.
  std::string actor;
  std::uint64_t before_seq = INT64_MAX;
  std::size_t most = 100;
};

// The usage of one (payer, holder, state, product, profile, cluster, ns, job) in one period.
struct DailyUsage {
  // The first day of the period, in days since 1970-01-01, UTC. With UsagePeriod::kAll: the first
  // day that has usage.
  std::int64_t day = 0;
  // The account that paid, and the account that held the GPUs.
  AccountId payer, holder;
  UsageState state = UsageState::kUsed;
  // As in LedgerRow.
  std::string product, profile, cluster, ns;
  JobId job;
  GpuTime amount;
  // The number of ledger rows in the sum. A row that a query cuts in two counts twice.
  std::uint64_t rows = 0;
};

// Says which rows and days the stored sums of days include. These are sums of the ledger's rows by
// UTC day, from which reports are read.
struct DayMark {
  // The sums have all rows of facts up to this one. 0: there are no sums.
  std::uint64_t seq = 0;
  // The number of rows of the ledger in the sums.
  std::uint64_t rows = 0;
  // The number of stored parts (codec::DaySumsPart).
  std::uint64_t parts = 0;
  // The days with sums lie in [from_day, to_day).
  std::int64_t from_day = 0, to_day = 0;
  friend bool operator==(const DayMark&, const DayMark&) = default;
};

// The stored sums of some days, and their mark, as of one snapshot.
struct DaySums {
  DayMark mark;
  std::vector<codec::DaySumsPart> parts;
};

// Reads durable data on its own connection. A read never waits for the loop or for a commit.
// Threads: one at a time for each reader, so open one reader for each thread.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // Passes the facts of one consistent snapshot to `sink`. After an error (the data are damaged, or
  // a fact has an unknown kind) the service must not start.
  virtual Result<Recovered> recover(FactSink& sink) = 0;
  // Returns facts after `after_seq`, at most `most`, in order.
  virtual Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) = 0;
  // Returns the number of the last fact; 0: there is none.
  virtual Result<std::uint64_t> last_seq() = 0;
  // Returns the number of the last fact that was made at or before `t`; 0: none was. Times of facts
  // never decrease, so this takes O(log(facts)) reads of one fact.
  virtual Result<std::uint64_t> last_seq_until(TimeMs t) = 0;
  // Returns the checkpoint in use, from which recover() starts. `seq` is 0 if there is none. The
  // default implementation has none.
  virtual Result<StoredCheckpoint> checkpoint_in_use() { return StoredCheckpoint(); }
  // Returns the past checkpoints (docs/design/0131) that belong to these facts, the oldest first.
  // The default implementation has none.
  virtual Result<std::vector<StoredCheckpoint>> past_checkpoints() {
    return std::vector<StoredCheckpoint>();
  }
  // Passes the facts of the past checkpoint `seq` to `sink`, as recover() passes those of the
  // checkpoint in use. An error: there is no such past checkpoint, it is damaged, or it needs a
  // newer program. Then `sink` may have got some facts. The default implementation has none.
  virtual std::optional<Error> read_past_checkpoint(std::uint64_t seq, FactSink& /*sink*/) {
    return Error{ErrorCode::kNotFound, "store.past", std::to_string(seq), "want a past checkpoint"};
  }
  // Returns rows of the ledger.
  virtual Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) = 0;
  // Returns sums of ledger rows in [from_ms, to_ms), grouped by payer, holder, state and the
  // columns of the query. If a row spans from_ms, to_ms or a midnight, the function divides the row
  // at that time. The engine writes no row that spans a midnight. The result is sorted by day and
  // by the columns, in the order of DailyUsage. The function ignores `most` and `after_seq` of the
  // query. `query.job` must be nullopt, since sums of days do not have jobs. It reads the sums of
  // complete days (server/store/days), and rows for the rest.
  virtual Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) = 0;
  // Returns the stored sums of the days [from_day, to_day). A damaged sum is an error for which
  // says_damage() is true. The default implementation has no sums.
  virtual Result<DaySums> day_sums(std::int64_t /*from_day*/, std::int64_t /*to_day*/) {
    return DaySums();
  }
  // Returns rows of the audit log.
  virtual Result<std::vector<AuditEntry>> audit(const AuditQuery& query) = 0;
};

// --- writes --------------------------------------------------------------------------------------

// For each cluster, by its name: the user name that the leader's edge has in that cluster
// (ClusterView::known_as).
using KnownAs = std::map<std::string, std::string>;

// Describes the process that may commit, if several processes share a store.
struct Leadership {
  // The number of the present leadership. Each process that takes the lead gets a larger number. 0:
  // a single process owns the store.
  std::int64_t epoch = 0;
  // A description of the leader; empty: there is no leader.
  std::string holder;
  // The address at which clients reach the leader; empty: not known.
  std::string address;
  // The user names of the leader's edges. The user names are not facts, so processes that follow
  // the leader get the names here.
  KnownAs known_as;
};

// The durable facts. Threads: one thread calls commit(), check_owned() and owned_until_ms(). One
// other thread calls write_checkpoint() and write_calibration().
// Any thread may call the other members.
class Store {
 public:
  virtual ~Store() = default;
  // Commits all facts or none. The facts are durable when commit() returns. `facts` are numbered
  // without a gap and never empty. An error is final: the caller must not release the batch, and
  // must end the process.
  virtual std::optional<Error> commit(std::span<const Fact> facts) = 0;
  // Checks that no other process can have committed since the last commit(). The replies and
  // effects of a batch are right only if this process has all facts. So call this function before
  // the release of a batch that has no facts, or that waited beyond owned_until_ms(). An error is
  // final, like an error of commit().
  virtual std::optional<Error> check_owned() { return std::nullopt; }
  // Returns the time, by Clock::boot_ms(), until which the last commit() or check_owned() proves
  // that this process owns the store. The process may sleep between that proof and the release of
  // the batch, and another process may take the store meanwhile. INT64_MAX: no other process can
  // take the store.
  virtual std::int64_t owned_until_ms() const { return INT64_MAX; }
  // Returns how long the present commit or check has waited for the store; a database may be
  // unreachable. 0: there is no commit or check at present, or the time is unknown.
  virtual DurationMs waiting_ms() const { return 0; }
  // Returns the leader that this process saw last.
  virtual Leadership lead() const { return {}; }
  // Writes a checkpoint: the facts that rebuild the state as of `seq`. The fact `seq` must be
  // durable. Once the whole checkpoint is durable, it replaces the previous one. Commits may run at
  // the same time. After an error, only this checkpoint is lost.
  virtual std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) = 0;
  // Keeps a compressed copy of a checkpoint of the state after the fact `seq`, which must be
  // durable, if it is worth keeping (server/store/past). Then it calls `facts` once for the facts
  // that rebuild this state. If `facts` returns nullptr, it keeps nothing. It drops others where
  // the limits require this (limits::kPastCheckpointFacts and those beside it). Does nothing in a
  // process that does not lead. After an error, past checkpoints may be missing, so reads of the
  // past take longer. The default implementation keeps none. Threads: any.
  virtual std::optional<Error> add_past_checkpoint(
      std::uint64_t /*seq*/, const std::function<const PackedFacts*()>& /*facts*/) {
    return std::nullopt;
  }
  // Replaces the calibration data that is stored beside the checkpoint
  // (server/codec/calibration.h). After an error, only this data is lost, which does no harm. The
  // default implementation stores nothing.
  virtual std::optional<Error> write_calibration(std::string_view) { return std::nullopt; }
  // Returns the calibration data; empty: there is none. An error means that the data is damaged or
  // unreadable.
  virtual Result<std::string> read_calibration() { return std::string(); }
  // Replaces one part of the sums of activity (server/activity). The parts are observations, which
  // may be lost. `part`: the number of the part, from 0. An error: nothing was written, for example
  // because another process leads. One thread at a time may call it. The default implementation
  // stores nothing.
  virtual std::optional<Error> write_activity(std::int64_t /*part*/, std::string_view /*bytes*/) {
    return std::nullopt;
  }
  // Adds the ledger rows that are new since the last call to the sums of days (server/store/days).
  // If the sums are damaged or missing, makes them again. Commits may run at the same time. Calls
  // `wanted` between parts of the work, and stops if `wanted` returns false. Does nothing in a
  // process that does not lead. One thread at a time may call it. After an error, reports read rows
  // instead. The default implementation has no sums.
  virtual std::optional<Error> add_day_sums(const std::function<bool()>& /*wanted*/) {
    return std::nullopt;
  }
  // Returns one part of the sums of activity; empty: there is none. An error means that the part is
  // damaged or unreadable.
  virtual Result<std::string> read_activity(std::int64_t /*part*/) { return std::string(); }
  // Replaces the marks of the notices (server/notify/marks.h). An error: nothing was written, for
  // example because another process leads. One thread at a time may call it. The default
  // implementation stores nothing.
  virtual std::optional<Error> write_notice_marks(std::string_view /*bytes*/) {
    return std::nullopt;
  }
  // Returns the marks of the notices; empty: there are none. An error means that they are damaged
  // or unreadable.
  virtual Result<std::string> read_notice_marks() { return std::string(); }
  // Opens a reader with its own connection. The store must outlive the reader.
  virtual Result<std::unique_ptr<StoreReader>> open_reader() = 0;
  // Copies all durable data to a new file beside the store and returns the file's path. The caller
  // must remove the file. Make one copy at a time. Commits may run during the copy. The function
  // calls `wanted` between parts of the copy. If `wanted` returns false, the copy ends with an
  // error. The default implementation always returns an error, since a database has its own tools
  // for backups.
  virtual Result<std::string> make_copy(const std::function<bool()>& wanted);
  // Returns a description for logs and status, such as "sqlite var/subak.db".
  virtual std::string describe() const = 0;
};

}  // namespace subak
