// Who leads: one row with an epoch that only rises. Private to server/store/postgres.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/postgres/pg_connection.h"

namespace subak::postgres {

// How each statement of a leader begins: `l` has one row, our epoch ($1), locked until the statement is durable; none
// where another leads by now. The epoch is locked, not changed: beside a long snapshot a row that is updated by each
// batch grows slower and slower. Whoever raises the epoch waits for the lock, or this finds no row.
inline constexpr char kIfLeading[] =
    "WITH l AS MATERIALIZED (SELECT epoch FROM lead WHERE epoch = $1 FOR SHARE) ";

// Makes the rows where there are none. Two who do so at once both find them there.
std::optional<Error> make_lead(PgConnection& db);

// What a look at the rows shows: a lead without a holder is nobody's.
struct LeadSeen {
  Lead lead;
  std::int64_t beats = 0;
  TimeMs time_ms = 0;  // what the database's clock showed
};
Result<LeadSeen> look_at_lead(PgConnection& db);

// Looks again and again whether anybody leads. Threads: one.
class LeadWatch {
 public:
  // Before each look: who did not look for half of limits::kLeaderSilentMs begins to count anew. A look that takes long
  // is none of that.
  void begin_look(std::int64_t boot_ms);
  // After it, of what it saw. Nobody does: the holder gave the lead up, or showed no sign of life for limits::kLeaderSilentMs of a clock that
  // does not stop while a machine sleeps. A sign is a hint, never proof; without a database nobody is taken for dead.
  // Where somebody has led before, the first limits::kBeatMs are left to those who watch already and know the state.
  bool is_free(const LeadSeen& seen, std::int64_t boot_ms);
  // Since the last look, also one that failed.
  DurationMs since_look_ms(std::int64_t boot_ms) const { return boot_ms - looked_ms_; }
  // After one that failed; and a sign of life that is not in the rows.
  void saw_nothing(std::int64_t boot_ms) { alive_ms_ = looked_ms_ = boot_ms; }
  void saw_sign(std::int64_t boot_ms) {
    alive_ms_ = boot_ms;
    saw_life_ = true;
  }
  // Somebody gave a sign of life since the first look.
  bool saw_life() const { return saw_life_; }

 private:
  std::optional<LeadSeen> last_;
  bool saw_life_ = false;
  std::int64_t alive_ms_ = 0, looked_ms_ = 0;
  std::optional<std::int64_t> begun_ms_;  // at the first look
};

// What became of an attempt to raise the epoch; it is durable before this returns.
struct Raised {
  enum class How : std::uint8_t { kRaised, kOther, kUnknown } how = How::kUnknown;
  std::int64_t epoch = 0;      // kRaised
  std::optional<Error> error;  // else
};
// Whoever led until now leads no longer: nothing of theirs becomes durable after this. A holder that stopped in the
// middle of a message keeps the row locked, and no timeout of the server ends that: its backend is ended.
// kOther: the row is not as in `seen` any more: somebody else was first, or who leads gave a sign of life.
Raised take_lead(PgConnection& db, const std::string& holder, const std::string& address,
                 const LeadSeen& seen);
// The same for who leads already, on a new connection. kOther: somebody else leads.
Raised raise_own(PgConnection& db, const std::string& holder);
// A sign of life, with what others are told (empty: what the row says stays); nothing happens where the epoch is not
// ours, or not any more. Nobody who waits for silence takes the lead for limits::kLeaderSilentMs after it.
// Without an error: a row if the epoch is ours, with what the database's clock showed in column kTimeOfBeat.
PgResult beat(PgConnection& db, std::int64_t epoch, std::string_view said);
inline constexpr int kTimeOfBeat = 1;
// The end of a lead; nothing happens where another leads.
void give_up_lead(PgConnection& db, std::int64_t epoch);
// Lead::known_as as the row of beats has it: lines of cluster, tab and user. A name with either is left out.
std::string known_as_text(const KnownAs& known_as);
KnownAs read_known_as(std::string_view text);
// `want` of the error of a process that led before: says_other_leads() of it.
inline constexpr char kWantOneLeader[] = "want one leader: this process ends";
// Who leads now, in words; and what a process says that led before.
std::string leader_of(PgConnection& db);
Error leads_by_now(const std::string& holder);

}  // namespace subak::postgres
