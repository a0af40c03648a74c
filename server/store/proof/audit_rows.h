// Makes, writes and reads the rows of the audit log, which shows who changed what. The rows are
// derived from the facts: there is one row for each edit that was made or refused. Threads: those
// that may use the connection; the other functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/file/connection.h"

namespace subak {

// An audit row. `thing` identifies the object that was edited. The caller sets the seq and the time
// of the entry. If the fact does not have the state before the edit, the caller sets `before` to
// the state after the last edit of the thing. `before` and `after` are texts for people: records in
// the form of core/text.h. An empty `after` means that the object was removed, or that the row has
// no new state.
struct AuditRow {
  std::string thing;
  AuditEntry entry;
};
// Returns the audit row of a fact; nullopt: the fact has none. Each edit and each refused edit has
// a row. If Subak itself ends a job, the row of that fact has no actor. The submission of a job has
// no row, since its fact already has the actor.
std::optional<AuditRow> audit_row(const fact::Body& body);

// An operator's acceptance of data loss. All facts after `until` are lost. Before the loss, a
// replica knew the facts up to the number `known`. An acceptance does not change the state, so it
// has no kind of fact of its own. An acceptance is stored as a fact CallDenied about kLossSubject,
// with the message of loss_message(). No refusal has a message that begins like this one. In the
// audit log, the acceptance has kLossAccepted as `what`.
inline constexpr std::string_view kLossSubject = "store", kLossAccepted = "loss_accepted";
struct LossAccepted {
  std::uint64_t until = 0, known = 0;
  std::string reason;
};
// Returns the message for an acceptance. If the message is longer than limits::kMaxMessageBytes, it
// is cut, and says so. The numbers come first, so they are never cut.
std::string loss_message(const LossAccepted& loss);
// Returns the acceptance that a fact stores; nullopt: the fact stores none.
std::optional<LossAccepted> loss_accepted(const fact::Body& body);
// Returns LossAccepted::until if the row is that of an acceptance, else 0.
std::uint64_t loss_until(const AuditEntry& row);

// Returns the checksum of a row. `seed`: the start of the store's checksums. `ord`: the number of
// the row in the audit log, from 1.
std::uint32_t audit_sum(std::uint32_t seed, std::uint64_t ord, const AuditRow& row);
// Returns the texts of a row, in the order of their columns.
template <class Row>
auto audit_texts(Row& row) {
  auto& e = row.entry;
  return std::array{&e.actor,  &e.what,  &row.thing, &e.subject,   &e.reason,
                    &e.before, &e.after, &e.error,   &e.request_id};
}
// Completes the row from the last edit of the same thing: sets `before` and `subject`, if the fact
// does not have them. `subject` and `after`: those of the last edit.
void take_before(AuditRow& row, std::string subject, std::string after);

// Writes audit rows, in the transaction of its connection. Threads: those that may use the
// connection.
class AuditWriter {
 public:
  // Prepares the statements. Call it before the first insert(). `seed`: the start of the checksums.
  // `db` must outlive the writer. False: the call failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Writes a row, with the number and the time of `fact`. `ord`: the number of the row in the audit
  // log, from 1. False: the call failed, see damaged() and the connection's error().
  bool insert(std::uint64_t ord, const Fact& fact, AuditRow row);
  // Returns the number of the fact whose audit row the last insert() found damaged. nullopt: it
  // found no damaged row.
  std::optional<std::uint64_t> damaged() const { return damaged_; }

 private:
  bool take_before(AuditRow& row);

  Statement last_;
  Statement insert_;
  std::uint32_t seed_ = 0;
  std::optional<std::uint64_t> damaged_;
};

// The columns that read_audit_row() and audit_ord() read, in this order.
inline constexpr std::string_view kAuditColumns =
    "seq, time_ms, actor, what, thing, subject, reason, before, after, error, request_id, ord, sum";
// Reads the present row of the query; nullopt: the checksum of the row is wrong.
std::optional<AuditRow> read_audit_row(const Statement& query, std::uint32_t seed);
// Returns the column ord of the present row, without checking the row.
std::uint64_t audit_ord(const Statement& query);

// True if the query selects the entry. The query selects times from_ms <= t < to_ms. A subject
// selects itself, and if it is a path, all paths below it: "a" selects "a.b" and "a/u". An empty
// filter selects all.
bool wants(const AuditQuery& query, const AuditEntry& entry);

}  // namespace subak
