// The audit log in SQL: a reading of the facts, one row per edit, done or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/ports.h"
#include "server/store/connection.h"

namespace subak {

// What of a fact goes into the audit log; nullopt: it was no edit by anybody. Submissions of jobs
// are not edits (each is a fact of its own, with its actor). `thing` is the identity of what was
// edited; seq, time and `before` are still to be filled.
struct AuditRow {
  std::string thing;
  AuditEntry entry;
};
std::optional<AuditRow> audit_row(const fact::Body& body);

class AuditWriter {
 public:
  bool prepare(Connection& db);
  bool insert(const Fact& fact, AuditRow row);

 private:
  Statement last_;
  Statement insert_;
};

Result<std::vector<AuditEntry>> read_audit(Connection& db, const AuditQuery& query);

}  // namespace subak
