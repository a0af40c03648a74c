// The lead: one row with an epoch that only rises. Private to server/store/postgres.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// The beginning of each statement of a leader. `l` has one row, this process's epoch ($1), locked
// until the statement is durable. It has no row if another process leads by now. The epoch is
// locked, not changed: beside a long snapshot, a row that each batch updates becomes slower and
// slower. A process that raises the epoch waits for the lock, or this statement finds no row.
inline constexpr char kIfLeading[] =
    "WITH l AS MATERIALIZED (SELECT epoch FROM lead WHERE epoch = $1 FOR SHARE) ";

// Makes the rows if they are missing. Two processes may do so at once.
// Adds columns that a database of an older version lacks. A role that may not create tables needs
// the rows to exist.
std::optional<Error> make_lead(PgConnection& db);

// The result of a look at the rows. A lead without a holder is free.
struct LeadershipSeen {
  // The epoch, its holder, and what the holder says for others.
  Leadership lead;
  // Heartbeats so far. Any change is a sign of life.
  std::int64_t beats = 0;
  // The database's clock.
  TimeMs time_ms = 0;
};
// One statement. The clock is that of the read, not of the begin of a transaction.
Result<LeadershipSeen> look_at_lead(PgConnection& db);

// Watches whether a process leads. Threads: one.
// Times are those of the boot clock, in ms. It calls no database.
class LeadershipWatch {
 public:
  // Call before each look. After a pause of half of limits::kLeaderSilentMs between looks the
  // silence is counted from the start again. The duration of a look does not count as a pause.
  void begin_look(std::int64_t boot_ms);
  // Takes the result of a look and returns true if the lead is free. It is free if the holder gave
  // it up, or sent no heartbeat for limits::kLeaderSilentMs. The clock does not stop while a
  // machine sleeps. A heartbeat is a hint, not a proof. Without a database no process is taken for
  // dead. If a process has led before, the first limits::kHeartbeatMs are left to processes that
  // already watch and know the state.
  bool is_free(const LeadershipSeen& seen, std::int64_t boot_ms);
  // Returns the time since the last look, also a failed one.
  DurationMs since_look_ms(std::int64_t boot_ms) const { return boot_ms - looked_ms_; }
  // Record a failed look, and a sign of life that is not in the rows.
  void saw_nothing(std::int64_t boot_ms) { alive_ms_ = looked_ms_ = boot_ms; }
  void saw_sign(std::int64_t boot_ms) {
    alive_ms_ = boot_ms;
    saw_life_ = true;
  }
  // True if a leader gave a sign of life since the first look.
  bool saw_life() const { return saw_life_; }

 private:
  // The last look; nullopt: there was none.
  std::optional<LeadershipSeen> last_;
  bool saw_life_ = false;
  // The last sign of life, or what counts as one; and the last look.
  std::int64_t alive_ms_ = 0, looked_ms_ = 0;
  // When the first look succeeded.
  std::optional<std::int64_t> begun_ms_;
};

// The result of an attempt to raise the epoch; durable on return.
struct Raised {
  // kRaised: this process leads. kOther: see below. kUnknown: an error, after which the epoch may
  // be raised or not.
  enum class How : std::uint8_t { kRaised, kOther, kUnknown } how = How::kUnknown;
  // The new epoch, at kRaised.
  std::int64_t epoch = 0;
  // At the other outcomes.
  std::optional<Error> error;
};
// Takes the lead. The previous leader no longer leads: nothing of it becomes durable after this. A
// holder that stopped in the middle of a message keeps the row locked, and no timeout of the server
// ends that; so its backend is ended. kOther: the row is no longer as in `seen`: another process
// was first, or the leader gave a sign of life.
Raised take_lead(PgConnection& db, const std::string& holder, const std::string& address,
                 const LeadershipSeen& seen);
// Raises the epoch of the present leader, on a new connection. kOther: another process leads.
// As take_lead(), it retries while the row is locked, at most limits::kLeadTries times.
Raised raise_own(PgConnection& db, const std::string& holder);
// Sends a heartbeat with `said` for other replicas (empty: the row keeps its text). It has no
// effect if the epoch is not, or no longer, this process's. No process that waits for silence takes
// the lead within limits::kLeaderSilentMs after it. Without an error there is a row if the epoch is
// this process's, with the database's clock in column kTimeOfHeartbeat.
PgResult beat(PgConnection& db, std::int64_t epoch, std::string_view said);
inline constexpr int kTimeOfHeartbeat = 1;
// Gives the lead up; no effect if another process leads.
// A failure is ignored: the others then wait for silence.
void give_up_lead(PgConnection& db, std::int64_t epoch);
// Leadership::known_as as the heartbeat row has it: lines of cluster, tab and user. A name with
// either is left out.
std::string known_as_text(const KnownAs& known_as);
// Lines without a tab are skipped.
KnownAs read_known_as(std::string_view text);
// `want` of the error of a former leader; see says_other_leads().
inline constexpr char kWantOneLeader[] = "want one leader: this process ends";
// Returns a description of the leader; and the error of a former leader.
// "unknown" if the row cannot be read.
std::string leader_of(PgConnection& db);
Error leads_by_now(const std::string& holder);

}  // namespace subak::postgres
