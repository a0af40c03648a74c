// The audit log in SQL: a reading of the facts, one row per edit, done or refused.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/connection.h"

namespace subak {

// What of a fact goes into the audit log; nullopt: it was no edit by anybody. Submissions of jobs
// are not edits (each is a fact of its own, with its actor). `thing` is the identity of what was
// edited. The caller still fills seq and time, and `before` where the fact does not say it: then it
// is what the last edit of the thing left.
struct AuditRow {
  std::string thing;
  AuditEntry entry;
};
std::optional<AuditRow> audit_row(const fact::Body& body);

// Somebody's word that all facts after `until`, which a replica knew up to `known`, are lost. Nothing of the state follows
// from it, so it has no fact of its own: it is a CallDenied about kLossSubject with the message that loss_message() makes
// and no refusal has, as those begin otherwise. The audit log shows it as what it is, `what` being kLossAccepted.
inline constexpr std::string_view kLossSubject = "store", kLossAccepted = "loss_accepted";
struct LossAccepted {
  std::uint64_t until = 0, known = 0;
  std::string reason;
};
// Cut where it would be longer than a message may be.
std::string loss_message(const LossAccepted& loss);
// Nullopt: the fact says no such thing.
std::optional<LossAccepted> loss_accepted(const fact::Body& body);
// LossAccepted::until of such a row; 0 of any other.
std::uint64_t loss_until(const AuditEntry& row);

// The sum of a row; `seed`: what the sums of its store begin with, `ord`: counts the rows from 1.
std::uint32_t audit_sum(std::uint32_t seed, std::uint64_t ord, const AuditRow& row);
// The texts of a row, in the order of their columns.
template <class Row>
auto audit_texts(Row& row) {
  auto& e = row.entry;
  return std::array{&e.actor,  &e.what,  &row.thing, &e.subject,   &e.reason,
                    &e.before, &e.after, &e.error,   &e.request_id};
}
// What the last edit of the same thing left is what was before this one, where the fact does not say it.
void take_before(AuditRow& row, std::string subject, std::string after);

class AuditWriter {
 public:
  // `seed`: what the sums begin with.
  bool prepare(Connection& db, std::uint32_t seed);
  // `ord`: counts the rows from 1. False: ask the connection; or the thing's last row is damaged.
  bool insert(std::uint64_t ord, const Fact& fact, AuditRow row);
  // The row that insert() found damaged.
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
// Nullopt: the row is not what was written.
std::optional<AuditRow> read_audit_row(const Statement& query, std::uint32_t seed);
std::uint64_t audit_ord(const Statement& query);

// What a query wants.
bool wants(const AuditQuery& query, const AuditEntry& entry);

}  // namespace subak
