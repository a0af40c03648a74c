// The rows of the audit log in SQL. They are derived from the facts:
// one row for each edit, done or refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// An audit row. `thing` identifies the edited object. The caller fills in seq and time. If the fact
// has no state before the edit, the caller sets `before` to the state after the
// last edit of the thing.
// `before` and `after` are texts for people: records in the form of core/text.h. An empty `after`
// means that the object was removed, or that the row has no new state.
struct AuditRow {
  std::string thing;
  AuditEntry entry;
};
// Returns the audit row of a fact; nullopt: the fact is no edit. Refused edits have a row, and so
// have jobs that Subak itself ended, without an actor. Submissions of jobs have none, since the
// fact of each has its actor.
std::optional<AuditRow> audit_row(const fact::Body& body);

// An operator's acceptance of data loss. All facts after `until` are lost; a replica knew the facts
// up to `known` before. An acceptance does not change the state, so it has no kind of fact. It is
// stored as a CallDenied about kLossSubject with the message of loss_message(). No refusal has a
// message with that beginning. The audit log shows it with `what` kLossAccepted.
inline constexpr std::string_view kLossSubject = "store", kLossAccepted = "loss_accepted";
struct LossAccepted {
  std::uint64_t until = 0, known = 0;
  std::string reason;
};
// Returns the message for an acceptance. It is cut at limits::kMaxMessageBytes, with the note about
// the cut.
// The numbers come first, so they are never cut.
std::string loss_message(const LossAccepted& loss);
// Returns the acceptance in a fact; nullopt: the fact has none.
std::optional<LossAccepted> loss_accepted(const fact::Body& body);
// Returns LossAccepted::until of the row of an acceptance; 0 for other rows.
std::uint64_t loss_until(const AuditEntry& row);

// Returns the checksum of a row. `seed`: start of the store's checksums. `ord`: the number of the
// row, from 1.
std::uint32_t audit_sum(std::uint32_t seed, std::uint64_t ord, const AuditRow& row);
// Returns the texts of a row, in the order of their columns.
template <class Row>
auto audit_texts(Row& row) {
  auto& e = row.entry;
  return std::array{&e.actor,  &e.what,  &row.thing, &e.subject,   &e.reason,
                    &e.before, &e.after, &e.error,   &e.request_id};
}
// Sets `before` from the last edit of the same thing, if the fact has none.
// Also sets `subject`, if the fact has none.
void take_before(AuditRow& row, std::string subject, std::string after);

// Writes audit rows, in the transaction of its connection. Threads: those of the connection.
class AuditWriter {
 public:
  // Prepares the statements. Call it before the first insert(). `seed`: start of the checksums.
  // `db` outlives the writer. False: it failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Writes a row, with number and time of `fact`. `ord`: the number of the row, from 1.
  // False: it failed, see damaged() and the connection's error().
  bool insert(std::uint64_t ord, const Fact& fact, AuditRow row);
  // Returns the number of the fact whose row the last insert() found damaged.
  // nullopt: it found none.
  std::optional<std::uint64_t> damaged() const { return damaged_; }

 private:
  bool take_before(AuditRow& row);

  Statement last_;
  Statement insert_;
  std::uint32_t seed_ = 0;
  std::optional<std::uint64_t> damaged_;
};

// The columns that read_audit_row() and audit_ord() read, in order.
inline constexpr std::string_view kAuditColumns =
    "seq, time_ms, actor, what, thing, subject, reason, before, after, error, request_id, ord, sum";
// Reads a row; nullopt: its checksum is wrong.
std::optional<AuditRow> read_audit_row(const Statement& query, std::uint32_t seed);
// Returns the column ord of the present row, without a check.
std::uint64_t audit_ord(const Statement& query);

// True if the query selects the entry.
// It selects times from_ms <= t < to_ms. A subject selects itself and, as a path, all paths below
// it ("a" selects "a.b" and "a/u"). Empty filters select all.
bool wants(const AuditQuery& query, const AuditEntry& entry);

}  // namespace subak
