#include "server/store/proof/audit_rows.h"

#include <cstdlib>
#include <utility>
#include <variant>

#include "core/account_path.h"
#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/text.h"
#include "server/store/file/row_sum.h"

namespace subak {
namespace {

constexpr std::string_view kInsert =
    "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const std::string kLoss = "loss accepted ", kUntil = "until=", kKnown = "known=";

std::uint64_t number_after(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + word.size(), nullptr, 10);
}

constexpr int kFirstText = 2;  // column of the first text

// Fills the fields that differ between kinds: thing, subject, after, and before if the fact has it.
struct Describe {
  AuditRow& row;
  bool operator()(const fact::ClusterSet& f) {
    fact::ClusterSet shown = f;
    shown.edit = {};
    return is("cluster " + std::to_string(f.id.value), f.name, to_text(shown));
  }
  bool operator()(const fact::ClusterRemoved& f) {
    return is("cluster " + std::to_string(f.id.value), "", "");
  }
  bool operator()(const fact::NodeSet& f) {
    // Only a drain or its end is an edit of a node. `before` is the last state before a drain ends.
    const std::string spec = to_text(f.spec);
    std::string after = spec;
    if (f.drained) after += " drained=true";
    if (f.drain_from_ms != 0) after += " drained_from=" + format_time(f.drain_from_ms);
    if (f.drain_until_ms != 0) after += " drained_until=" + format_time(f.drain_until_ms);
    if (after != spec) row.entry.before = spec;
    return is("node " + std::to_string(f.id.value), f.spec.name, std::move(after));
  }
  bool operator()(const fact::PolicySet& f) { return is("policy", "policy", to_text(f.policy)); }
  bool operator()(const fact::Finalized& f) {
    return is("store", "store", "fact_version=" + std::to_string(f.version));
  }
  bool operator()(const fact::ClockAccepted& f) {
    row.entry.before = "time=" + format_time(f.before_ms);
    return is("", "clock", "time=" + format_time(f.after_ms));
  }
  bool operator()(const fact::AccountSet& f) {
    return is(account(f.id), f.spec.path, to_text(f.spec));
  }
  bool operator()(const fact::AccountMoved& f) {
    return is(account(f.id), f.spec.path, to_text(f.spec));
  }
  bool operator()(const fact::AccountDeleted& f) { return is(account(f.id), f.spec.path, ""); }
  bool operator()(const fact::JobMoved& f) {
    const std::string id = text::job_id_text(f.id);
    const std::string cause =
        f.cause == Cause::kNone ? "" : " cause=" + std::string(enum_name(f.cause));
    row.entry.before = "state=" + std::string(enum_name(f.from));
    return is("job " + id, id, "state=" + std::string(enum_name(f.to)) + cause);
  }
  bool operator()(const fact::StopAsked& f) {
    const std::string id = text::job_id_text(f.id);
    row.entry.before = "state=" + std::string(enum_name(f.from));
    return is("job " + id, id, "state=ending cause=" + std::string(enum_name(f.cause)));
  }
  bool operator()(const fact::EditRefused& f) {
    if (const auto loss = loss_accepted(f)) {
      row.entry.what = kLossAccepted;
      row.entry.before = kKnown + std::to_string(loss->known);
      return is("", f.subject, kUntil + std::to_string(loss->until));
    }
    row.entry.what = f.what;
    row.entry.error = f.error;
    return is("", f.subject, "");
  }
  bool operator()(const fact::BudgetReached& f) {
    return is("", f.path, "budget=" + f.budget + " reached=" + std::to_string(f.percent) + "%");
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
  const EditStamp* operator()(const fact::StopAsked& stop) const { return &stop.by; }
  const EditStamp* operator()(const fact::BudgetReached& /*f*/) const { return &by_subak; }
  EditStamp by_subak;
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
  const EditOf of;
  const EditStamp* edit = std::visit(of, body);
  // Refusals, stops by Subak itself and spent budgets also count, although no user edits then.
  const bool shown = std::holds_alternative<fact::EditRefused>(body) ||
                     std::holds_alternative<fact::BudgetReached>(body) ||
                     std::holds_alternative<fact::StopAsked>(body);
  if (edit == nullptr || (*edit == EditStamp{} && !shown)) return std::nullopt;
  AuditRow row;
  const auto loss = loss_accepted(body);
  row.entry.what = std::visit([](const auto& f) { return std::string(f.kName); }, body);
  if (!std::visit(Describe{row}, body)) return std::nullopt;
  row.entry.actor = edit->actor;
  row.entry.reason = loss ? loss->reason : edit->reason;
  if (!edit->overrides.empty()) {
    row.entry.reason = "override of managed-by " + edit->overrides + ": " + row.entry.reason;
  }
  const auto* const set = std::get_if<fact::AccountSet>(&body);
  if (set != nullptr && set->retroactive) {
    row.entry.reason = "retroactive shares: " + row.entry.reason;
  }
  row.entry.request_id = edit->request_id;
  return row;
}

std::string loss_message(const LossAccepted& loss) {
  return cut_text(kLoss + kUntil + std::to_string(loss.until) + " " + kKnown +
                      std::to_string(loss.known) + ": " + loss.reason,
                  limits::kMaxMessageBytes - kCutNoteBytes);
}

std::optional<LossAccepted> loss_accepted(const fact::Body& body) {
  const auto* const row = std::get_if<fact::EditRefused>(&body);
  if (row == nullptr || row->subject != kLossSubject || !row->error.starts_with(kLoss)) {
    return std::nullopt;
  }
  LossAccepted loss;
  loss.until = number_after(row->error, kUntil);
  loss.known = number_after(row->error, kKnown);
  const auto reason = row->error.find(": ");
  if (reason != std::string::npos) loss.reason = row->error.substr(reason + 2);
  return loss;
}

std::uint64_t loss_until(const AuditEntry& row) {
  return row.what == kLossAccepted ? number_after(row.after, kUntil) : 0;
}

std::uint32_t audit_sum(std::uint32_t seed, std::uint64_t ord, const AuditRow& row) {
  RowSum sum(seed);
  sum.add(row.entry.seq).add(row.entry.time_ms);
  for (const std::string* text : audit_texts(row)) sum.add(std::string_view(*text));
  return sum.add(ord).value();
}

void take_before(AuditRow& row, std::string subject, std::string after) {
  if (row.entry.subject.empty()) row.entry.subject = std::move(subject);
  if (row.entry.before.empty()) row.entry.before = std::move(after);
}

bool AuditWriter::prepare(Connection& db, std::uint32_t seed) {
  seed_ = seed;
  const std::string last = "SELECT " + std::string(kAuditColumns) +
                           " FROM audit WHERE thing = ? ORDER BY seq DESC LIMIT 1";
  return last_.prepare(db, last) && insert_.prepare(db, kInsert);
}

bool AuditWriter::take_before(AuditRow& row) {
  last_.bind(1, std::string_view(row.thing));
  std::optional<AuditRow> last;
  const bool there = last_.step();
  if (there) last = read_audit_row(last_, seed_);
  if (there && !last) damaged_ = last_.unsigned_number(0);
  const bool good = !last_.failed() && there == last.has_value();
  last_.reset();
  if (!good || !last) return good;
  subak::take_before(row, std::move(last->entry.subject), std::move(last->entry.after));
  return true;
}

bool AuditWriter::insert(std::uint64_t ord, const Fact& fact, AuditRow row) {
  damaged_.reset();
  if (!row.thing.empty() && !take_before(row)) return false;
  row.entry.seq = fact.seq;
  row.entry.time_ms = fact.time_ms;
  insert_.bind(1, fact.seq);
  insert_.bind(2, fact.time_ms);
  int parameter = kFirstText + 1;
  for (const std::string* text : audit_texts(row))
    insert_.bind(parameter++, std::string_view(*text));
  insert_.bind(parameter++, ord);
  insert_.bind(parameter, sum_column(audit_sum(seed_, ord, row)));
  return insert_.run();
}

std::optional<AuditRow> read_audit_row(const Statement& query, std::uint32_t seed) {
  AuditRow row;
  row.entry.seq = query.unsigned_number(0);
  row.entry.time_ms = query.number(1);
  int column = kFirstText;
  for (std::string* text : audit_texts(row)) *text = query.text(column++);
  const std::uint32_t sum = audit_sum(seed, audit_ord(query), row);
  if (sum_of(query.number(column + 1)) != sum) return std::nullopt;
  return row;
}

std::uint64_t audit_ord(const Statement& query) { return query.unsigned_number(11); }

bool wants(const AuditQuery& query, const AuditEntry& entry) {
  return entry.seq < query.before_seq && entry.time_ms >= query.from_ms &&
         entry.time_ms < query.to_ms && (query.actor.empty() || entry.actor == query.actor) &&
         is_path_within(entry.subject, query.subject);
}

}  // namespace subak
