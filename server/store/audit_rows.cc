#include "server/store/audit_rows.h"

#include <utility>
#include <variant>

#include "core/text.h"

namespace subak {
namespace {

constexpr std::string_view kLast =
    "SELECT subject, after FROM audit WHERE thing = ? ORDER BY seq DESC LIMIT 1";
constexpr std::string_view kInsert = "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
// The strings from subject + '.' to below subject + '0' are those that continue with '.' or '/':
// what lies below an account.
constexpr std::string_view kQuery =
    "SELECT seq, time_ms, actor, what, subject, reason, before, after, error, request_id FROM "
    "audit "
    "WHERE seq < ?1 AND time_ms >= ?2 AND time_ms < ?3 AND (?4 = '' OR actor = ?4) "
    "AND (?5 = '' OR subject = ?5 OR (subject >= ?5 || '.' AND subject < ?5 || '0')) "
    "ORDER BY seq DESC LIMIT ?6";

// Fills what differs from kind to kind: thing, subject, after.
struct Describe {
  AuditRow& row;
  bool operator()(const fact::ClusterSet& f) {
    fact::ClusterSet shown = f;
    shown.edit = {};
    return is("cluster " + std::to_string(f.id.value), f.name, to_text(shown));
  }
  bool operator()(const fact::NodeSet& f) {
    const std::string drained = f.drained ? " drained=true" : "";
    return is("node " + std::to_string(f.id.value), f.spec.name, to_text(f.spec) + drained);
  }
  bool operator()(const fact::PolicySet& f) { return is("policy", "policy", to_text(f.policy)); }
  bool operator()(const fact::Finalized& f) {
    return is("store", "store", "fact_version=" + std::to_string(f.version));
  }
  bool operator()(const fact::AccountSet& f) {
    return is(account(f.id), f.spec.path, to_text(f.spec));
  }
  bool operator()(const fact::AccountDeleted& f) { return is(account(f.id), "", ""); }
  bool operator()(const fact::JobMoved& f) {
    const std::string id = text::job_id_text(f.id);
    const std::string flag = f.cancelling ? " cancelling=true" : "";
    return is("job " + id, id, "state=" + std::string(enum_name(f.to)) + flag);
  }
  bool operator()(const fact::EditRefused& f) {
    row.entry.what = f.what;
    row.entry.error = f.error;
    return is("", f.subject, "");
  }
  template <class Other>
  bool operator()(const Other&) {
    return false;
  }

  static std::string account(AccountId id) { return "account " + std::to_string(id.value); }
  bool is(std::string thing, std::string subject, std::string after) {
    row.thing = std::move(thing);
    row.entry.subject = std::move(subject);
    row.entry.after = std::move(after);
    return true;
  }
};

struct EditOf {
  template <class T>
  const EditStamp* operator()(const T& record) const {
    if constexpr (requires { record.edit; }) {
      return &record.edit;
    } else {
      return nullptr;
    }
  }
};

}  // namespace

std::optional<AuditRow> audit_row(const fact::Body& body) {
  const EditStamp* edit = std::visit(EditOf{}, body);
  const bool refused = std::holds_alternative<fact::EditRefused>(body);
  if (edit == nullptr || (*edit == EditStamp{} && !refused)) return std::nullopt;
  AuditRow row;
  row.entry.what = std::visit([](const auto& f) { return std::string(f.kName); }, body);
  if (!std::visit(Describe{row}, body)) return std::nullopt;
  row.entry.actor = edit->actor;
  row.entry.reason = edit->reason;
  row.entry.request_id = edit->request_id;
  return row;
}

bool AuditWriter::prepare(Connection& db) {
  return last_.prepare(db, kLast) && insert_.prepare(db, kInsert);
}

bool AuditWriter::insert(const Fact& fact, AuditRow row) {
  AuditEntry& entry = row.entry;
  if (!row.thing.empty()) {
    last_.bind(1, std::string_view(row.thing));
    if (last_.step()) {
      if (entry.subject.empty()) entry.subject = last_.text(0);
      entry.before = last_.text(1);
    }
    if (last_.failed()) return false;
    last_.reset();
  }
  insert_.bind(1, fact.seq);
  insert_.bind(2, fact.time_ms);
  int parameter = 3;
  for (const std::string* text :
       {&entry.actor, &entry.what, &row.thing, &entry.subject, &entry.reason, &entry.before,
        &entry.after, &entry.error, &entry.request_id}) {
    insert_.bind(parameter++, std::string_view(*text));
  }
  return insert_.run();
}

Result<std::vector<AuditEntry>> read_audit(Connection& db, const AuditQuery& query) {
  Statement rows;
  if (!rows.prepare(db, kQuery)) return db.error("store.audit");
  rows.bind(1, query.before_seq);
  rows.bind(2, query.from_ms);
  rows.bind(3, query.to_ms);
  rows.bind(4, std::string_view(query.actor));
  rows.bind(5, std::string_view(query.subject));
  rows.bind(6, static_cast<std::uint64_t>(query.most));
  std::vector<AuditEntry> out;
  while (rows.step()) {
    AuditEntry entry;
    entry.seq = rows.unsigned_number(0);
    entry.time_ms = rows.number(1);
    int column = 2;
    for (std::string* text : {&entry.actor, &entry.what, &entry.subject, &entry.reason,
                              &entry.before, &entry.after, &entry.error, &entry.request_id}) {
      *text = rows.text(column++);
    }
    out.push_back(std::move(entry));
  }
  if (rows.failed()) return db.error("store.audit");
  return out;
}

}  // namespace subak
