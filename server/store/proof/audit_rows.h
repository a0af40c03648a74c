// The audit log in SQL: derived from the facts, one row per edit, done or refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// Returns the audit row of a fact; nullopt: it was no edit. Submissions of jobs are not edits (each
// is a fact of its own, with its actor). `thing` identifies the edited object. The caller fills in
// seq and time, and `before` if the fact lacks it: then that is what the last edit of the thing
// left.
// `before` and `after` are text for people, records in the form of core/text.h. An empty `after`
// means that the object was removed, or that the row has no new state.
struct AuditRow {
  std::string thing;
  AuditEntry entry;
};
// Refused edits and stops by Subak itself have a row too; a stop then has no actor.
std::optional<AuditRow> audit_row(const fact::Body& body);

// An operator's acceptance that all facts after `until`, which a replica knew up to `known`, are
// lost. It does not change the state, so it has no fact kind of its own. It is a CallDenied about
// kLossSubject with the message of loss_message(); messages of refusals begin otherwise. The audit
// log shows it with `what` kLossAccepted.
inline constexpr std::string_view kLossSubject = "store", kLossAccepted = "loss_accepted";
struct LossAccepted {
  std::uint64_t until = 0, known = 0;
  std::string reason;
};
// Returns the message, cut to the longest that is allowed.
// At most limits::kMaxMessageBytes with the note about the cut. The numbers come first, so that
// they always stay.
std::string loss_message(const LossAccepted& loss);
// Returns the acceptance in a fact; nullopt: the fact is not one.
std::optional<LossAccepted> loss_accepted(const fact::Body& body);
// Returns LossAccepted::until of an acceptance's row; 0 for other rows.
std::uint64_t loss_until(const AuditEntry& row);

// Returns the checksum of a row. `seed`: start of the store's checksums. `ord`: counts the rows
// from 1.
std::uint32_t audit_sum(std::uint32_t seed, std::uint64_t ord, const AuditRow& row);
// Returns the texts of a row, in the order of their columns.
template <class Row>
auto audit_texts(Row& row) {
  auto& e = row.entry;
  return std::array{&e.actor,  &e.what,  &row.thing, &e.subject,   &e.reason,
                    &e.before, &e.after, &e.error,   &e.request_id};
}
// Sets `before` from the last edit of the same thing, if the fact lacks it.
// Also sets `subject` if the fact lacks it. What the fact has stays.
void take_before(AuditRow& row, std::string subject, std::string after);

// Writes into the transaction of its connection. Threads: those of the connection.
class AuditWriter {
 public:
  // `seed`: start of the checksums.
  // Before the first insert(). `db` outlives the writer. False: ask db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Writes a row. `ord`: counts the rows from 1. False: ask the connection; or the thing's last row
  // is damaged.
  // Number and time are those of `fact`.
  bool insert(std::uint64_t ord, const Fact& fact, AuditRow row);
  // Returns the row that insert() found damaged.
  // As the number of its fact; nullopt: the last insert() found none.
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
// Of the present row, without a check.
std::uint64_t audit_ord(const Statement& query);

// True if the query selects the entry.
// Times are from_ms <= t < to_ms. A subject selects itself and, as a path, all below it ("a"
// selects "a.b" and "a/u"). Empty filters select all.
bool wants(const AuditQuery& query, const AuditEntry& entry);

}  // namespace subak
