// Who leads: one row with an epoch that only rises. Private to server/store/postgres.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

// What a look at the rows shows.
struct LeadSeen {
  std::int64_t epoch = 0, beats = 0;
  std::string holder;  // empty: nobody leads
};
Result<LeadSeen> look_at_lead(PgConnection& db);

// Returns once nobody leads: the holder gave the lead up, or showed no sign of life for limits::kLeaderSilentMs of a
// clock that does not stop while a machine sleeps. A sign is a hint, never proof; without an answer of the database there is
// none, and this waits on. `stop` is asked between looks; once it says yes, this ends with an error. `looked` is called after each look that found a leader.
// Where somebody has led before, the first limits::kBeatMs are left to those who wait already and know the state.
Result<LeadSeen> wait_for_lead(PgConnection& db, const Address& address, const Clock& clock,
                               const std::function<bool()>& stop,
                               const std::function<void()>& looked);

// What became of an attempt to raise the epoch; it is durable before this returns.
struct Raised {
  enum class How : std::uint8_t { kRaised, kOther, kUnknown } how = How::kUnknown;
  std::int64_t epoch = 0;      // kRaised
  std::optional<Error> error;  // else
};
// Whoever led until now leads no longer: nothing of theirs becomes durable after this. A holder that stopped in the
// middle of a message keeps the row locked, and no timeout of the server ends that: its backend is ended.
// kOther: the epoch is not that of `seen` any more, so somebody else was first.
Raised take_lead(PgConnection& db, const std::string& holder, const LeadSeen& seen);
// The same for who leads already, on a new connection. kOther: somebody else leads.
Raised raise_own(PgConnection& db, const std::string& holder);
// A sign of life, and the end of a lead; nothing happens where another leads.
void beat(PgConnection& db, std::int64_t epoch);
void give_up_lead(PgConnection& db, std::int64_t epoch);
// Who leads now, in words.
std::string leader_of(PgConnection& db);

}  // namespace subak::postgres
