// Elects the leader, the one process that commits, by two rows of the database. The row of the
// table lead names the leader. It also has the epoch, a number that never falls and that rises each
// time another process takes the lead. The row of the table beat counts the leader's heartbeats.
// Private to server/store/postgres.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// The beginning of each statement that a leader runs. If this process still leads, `l` has one row
// with the epoch of the process ($1). The row is locked until the statement is durable, and a
// process that raises the epoch waits for that lock. If another process has raised the epoch
// before, `l` has no row, so the statement does nothing. The statement locks the row instead of
// updating it, since an update in each batch would become slower and slower while a long snapshot
// is open.
inline constexpr char kIfLeading[] =
    "WITH l AS MATERIALIZED (SELECT epoch FROM lead WHERE epoch = $1 FOR SHARE) ";

// Makes these two tables and their rows if they are missing. Two processes may call it at the same
// time. It also adds columns that a database of an older version lacks. If the role may not create
// tables, the rows must exist.
std::optional<Error> make_lead(PgConnection& db);

// The result of one read of the two rows. If the holder is empty, no process leads.
struct LeadershipSeen {
  // The epoch, the holder, and what the holder wrote for other replicas.
  Leadership lead;
  // The number of heartbeats so far. Any change of this number is a sign of life.
  std::int64_t beats = 0;
  // The time of the database's clock.
  TimeMs time_ms = 0;
};
// Reads the rows with one statement. The time is that of the read, and not that of the beginning of
// a transaction.
Result<LeadershipSeen> look_at_lead(PgConnection& db);

// Decides from several looks at the rows whether the lead is free. LeadershipWatch does not access
// the database itself. Times are those of the boot clock, in ms. Threads: one at a time.
class LeadershipWatch {
 public:
  // Call it before each look. If more than half of limits::kLeaderSilentMs has passed since the
  // last look ended, the leader's silence is measured from now on. The duration of a look itself is
  // not part of this pause.
  void begin_look(std::int64_t boot_ms);
  // Takes the result of a look and returns true if the lead is free. There are these cases:
  // - The lead has a holder. The lead is free if the holder has sent no heartbeat for
  //   limits::kLeaderSilentMs. Time in which this machine sleeps counts, but failed looks do not
  //   count as silence.
  // - No process has led yet. The lead is free.
  // - The last holder gave the lead up. The lead is free, but for this process only once
  //   limits::kHeartbeatMs have passed since its first look. So processes that have watched for
  //   longer, and know the state, can take the lead first.
  bool is_free(const LeadershipSeen& seen, std::int64_t boot_ms);
  // Returns the time since the last look. A failed look counts too.
  DurationMs since_look_ms(std::int64_t boot_ms) const { return boot_ms - looked_ms_; }
  // saw_nothing() records a failed look. saw_sign() records another sign of life, such as a commit
  // of the leader.
  void saw_nothing(std::int64_t boot_ms) { alive_ms_ = looked_ms_ = boot_ms; }
  void saw_sign(std::int64_t boot_ms) {
    alive_ms_ = boot_ms;
    saw_life_ = true;
  }
  // True if a leader has given a sign of life since the first look.
  bool saw_life() const { return saw_life_; }

 private:
  // The result of the last look that succeeded; nullopt: there was none.
  std::optional<LeadershipSeen> last_;
  bool saw_life_ = false;
  // `alive_ms_`: the time of the last sign of life, or of an event that counts as one.
  // `looked_ms_`: when the last look ended.
  std::int64_t alive_ms_ = 0, looked_ms_ = 0;
  // When the first look succeeded.
  std::optional<std::int64_t> begun_ms_;
};

// The result of an attempt to raise the epoch. The new epoch is durable when the attempt returns.
struct Raised {
  // kRaised: this process leads. kOther: see the functions below. kUnknown: there was an error, so
  // it is unknown whether the epoch was raised.
  enum class How : std::uint8_t { kRaised, kOther, kUnknown } how = How::kUnknown;
  // For kRaised: the new epoch.
  std::int64_t epoch = 0;
  // For kOther and kUnknown: the error.
  std::optional<Error> error;
};
// Takes the lead. After kRaised, no statement of the previous leader becomes durable. kOther: the
// rows have changed since `seen`, because another process was first or the leader gave a sign of
// life. If the holder stopped in the middle of a message, the row stays locked, and no timeout of
// the server releases it. So this function terminates the holder's session on the server.
Raised take_lead(PgConnection& db, const std::string& holder, const std::string& address,
                 const LeadershipSeen& seen);
// Raises the epoch while this process leads; `db` is a new connection. kOther: another process
// leads. Like take_lead(), it tries again while the row is locked, at most limits::kLeadTries
// times.
Raised raise_own(PgConnection& db, const std::string& holder);
// Sends a heartbeat. For limits::kLeaderSilentMs after it, no process that waits for silence takes
// the lead. `said`: the text for other replicas; empty: the text in the database stays unchanged.
// If `epoch` is not the present epoch, the call has no effect and the result has no row. Otherwise
// the result has one row, whose column kTimeOfHeartbeat has the database's time.
PgResult beat(PgConnection& db, std::int64_t epoch, std::string_view said);
inline constexpr int kTimeOfHeartbeat = 1;
// Gives the lead up. It has no effect if another process leads. A failure is ignored: the other
// processes then wait until no heartbeat has come for limits::kLeaderSilentMs.
void give_up_lead(PgConnection& db, std::int64_t epoch);
// Returns Leadership::known_as as the text for beat(). The text has one line for each cluster, with
// the name of the cluster, a tab and the user name. If a name contains a tab or a line end, the
// line is left out.
std::string known_as_text(const KnownAs& known_as);
// Reads a text of known_as_text(). It skips lines without a tab.
KnownAs read_known_as(std::string_view text);
// The `want` of the error leads_by_now(); see says_other_leads().
inline constexpr char kWantOneLeader[] = "want one leader: this process ends";
// leader_of() returns a description of the leader, or "unknown" if the row cannot be read.
// leads_by_now() returns the error for a process that led before, while `holder` leads now.
std::string leader_of(PgConnection& db);
Error leads_by_now(const std::string& holder);

}  // namespace subak::postgres
