// The lead: one row of the database, whose epoch only rises, names the process that leads. Private
// to server/store/postgres.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// The beginning of each statement of a leader. If this process still leads, `l` has one row with
// its epoch ($1), locked until the statement is durable. If another process leads, `l` has no row.
// A process that raises the epoch waits for that lock;
// if it was first, this statement finds no row.
// The statement locks the row instead of updating it. An update in each batch would become slower
// and slower during a long snapshot.
inline constexpr char kIfLeading[] =
    "WITH l AS MATERIALIZED (SELECT epoch FROM lead WHERE epoch = $1 FOR SHARE) ";

// Makes the rows of the lead if they are missing. Two processes may do so at once.
// It also adds columns that a database of an older version lacks. If the role may not create
// tables, the rows must exist.
std::optional<Error> make_lead(PgConnection& db);

// The result of a look at the rows. If the lead has no holder, it is free.
struct LeadershipSeen {
  // The epoch, its holder, and the text that the holder wrote for other replicas.
  Leadership lead;
  // The number of heartbeats so far. Any change is a sign of life.
  std::int64_t beats = 0;
  // The database's clock.
  TimeMs time_ms = 0;
};
// Reads the rows with one statement. The clock's time is that of the read, not that of the
// beginning of a transaction.
Result<LeadershipSeen> look_at_lead(PgConnection& db);

// Decides by several looks at the rows whether the lead is free. It calls no database.
// Times are those of the boot clock, in ms. Threads: one.
class LeadershipWatch {
 public:
  // Call it before each look. If the pause between two looks was longer than half of
  // limits::kLeaderSilentMs, the leader's silence begins at 0 again. The duration of a look does
  // not count as a pause.
  void begin_look(std::int64_t boot_ms);
  // Takes the result of a look and returns true if the lead is free. It is free if the holder gave
  // it up, or sent no heartbeat for limits::kLeaderSilentMs. The boot clock goes on while a machine
  // sleeps. Failed looks do not count as silence.
  // If a process has led before, is_free() returns false for the first limits::kHeartbeatMs. So
  // processes that already watch, and that know the state, can take the lead first.
  bool is_free(const LeadershipSeen& seen, std::int64_t boot_ms);
  // Returns the time since the last look, also a failed one.
  DurationMs since_look_ms(std::int64_t boot_ms) const { return boot_ms - looked_ms_; }
  // saw_nothing() records a failed look, saw_sign() a sign of life that is not in the rows.
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
  // `alive_ms_`: the last sign of life, or the last event that counts as one. `looked_ms_`: the
  // last look.
  std::int64_t alive_ms_ = 0, looked_ms_ = 0;
  // When the first look succeeded.
  std::optional<std::int64_t> begun_ms_;
};

// The result of an attempt to raise the epoch; durable on return.
struct Raised {
  // kRaised: this process leads. kOther: see the functions below. kUnknown: there was an error, and
  // the epoch was raised or not.
  enum class How : std::uint8_t { kRaised, kOther, kUnknown } how = How::kUnknown;
  // For kRaised: the new epoch.
  std::int64_t epoch = 0;
  // For kOther and kUnknown: the error.
  std::optional<Error> error;
};
// Takes the lead. After this, no statement of the previous leader becomes durable. If a holder
// stopped in the middle of a message, the row stays locked, and no timeout of the server ends that.
// So this function ends the backend of the holder. kOther: the row has changed since `seen`.
// Another process was first, or the leader gave a sign of life.
Raised take_lead(PgConnection& db, const std::string& holder, const std::string& address,
                 const LeadershipSeen& seen);
// Raises the epoch of this process, which leads, on a new connection. kOther:
// another process leads.
// Like take_lead(), it retries while the row is locked, at most limits::kLeadTries times.
Raised raise_own(PgConnection& db, const std::string& holder);
// Sends a heartbeat with the text `said` for other replicas; empty: the row's text stays unchanged.
// It has no effect if `epoch` is not the present epoch. For limits::kLeaderSilentMs after it, no
// process that waits for silence takes the lead.
// The result has a row if `epoch` is the present epoch. The column kTimeOfHeartbeat has the
// database's time.
PgResult beat(PgConnection& db, std::int64_t epoch, std::string_view said);
inline constexpr int kTimeOfHeartbeat = 1;
// Gives the lead up. It has no effect if another process leads.
// A failure is ignored: the others then wait until the heartbeats are missing for long enough.
void give_up_lead(PgConnection& db, std::int64_t epoch);
// Returns Leadership::known_as as text for the heartbeat's row: one line for each cluster, with its
// name, a tab and the user name. A name that contains a tab or a line end is left out.
std::string known_as_text(const KnownAs& known_as);
// Reads that text. It skips lines without a tab.
KnownAs read_known_as(std::string_view text);
// The `want` of the error for a process that led before; see says_other_leads().
inline constexpr char kWantOneLeader[] = "want one leader: this process ends";
// leader_of() returns a description of the leader, or "unknown" if the row cannot be read.
// leads_by_now() returns the error for a process that led before.
std::string leader_of(PgConnection& db);
Error leads_by_now(const std::string& holder);

}  // namespace subak::postgres
