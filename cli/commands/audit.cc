// subak audit: prints who changed what, when and why.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/text/words.h"
#include "subak/v1/admin_service.pb.h"

namespace subak::cli {
namespace {

constexpr std::int64_t kAuditRows = 100;

// Returns the fields of a record in its one-line text form: name=value. Values may be quoted or in
// brackets.
std::map<std::string, std::string> fields_of(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::string word;
  int depth = 0;
  bool quoted = false;
  const auto end_word = [&] {
    const std::size_t cut = word.find('=');
    if (cut != std::string::npos) fields[word.substr(0, cut)] = word.substr(cut + 1);
    word.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      word += c;
      word += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (c == ' ' && !quoted && depth == 0) {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return fields;
}

std::string job_deed(const v1::AuditEntry& e) {
  const auto fields = fields_of(e.after());
  const auto is = [&fields](const char* name, const char* value) {
    const auto it = fields.find(name);
    return it != fields.end() && it->second == value;
  };
  if (e.what() == "stop_asked") return e.actor().empty() ? "stopped job" : "cancelled job";
  if (is("state", "done")) return "cancelled job";
  return is("state", "paused") ? "held job" : "released job";
}

// Describes in words what the actor did, or what the service refused. Where there are two texts,
// the first one is for an object that did not exist before. A refused request has the name of its
// input: "set_account".
std::string deed(const v1::AuditEntry& e) {
  static const std::map<std::string, std::pair<const char*, const char*>> kDeeds{
      {"account_set", {"made account", "changed account"}},
      {"account_deleted", {"deleted account", "deleted account"}},
      {"account_moved", {"moved account", "moved account"}},
      {"cluster_set", {"made cluster", "changed cluster"}},
      {"cluster_deleted", {"deleted cluster", "deleted cluster"}},
      {"policy_set", {"set policy", "changed policy"}},
      {"finalized", {"finalized store", "finalized store"}},
  };
  if (e.what() == "node_set") {
    const auto fields = fields_of(e.after());
    if (fields.contains("drained_from")) return "planned drain of node";
    return fields.contains("drained") ? "drained node" : "undrained node";
  }
  if (e.what() == "job_moved" || e.what() == "stop_asked") return job_deed(e);
  const auto it = kDeeds.find(e.what());
  std::string text = it == kDeeds.end()   ? e.what()
                     : e.before().empty() ? it->second.first
                                          : it->second.second;
  std::replace(text.begin(), text.end(), '_', ' ');
  return e.refused().empty() ? text : "refused: " + text;
}

// Converts "{product=gpu milligpu=16000}" at the beginning of `value` to "gpu=16" and removes it.
// Empty: `value` begins otherwise.
std::string take_amount(std::string_view& value) {
  constexpr std::string_view kProduct = "{product=", kMilliGpu = " milligpu=";
  if (!value.starts_with(kProduct)) return {};
  const std::size_t at = value.find(kMilliGpu);
  if (at == std::string_view::npos) return {};
  const char* const digits = value.data() + at + kMilliGpu.size();
  const char* const end_of_value = value.data() + value.size();
  std::int64_t milligpu = 0;
  const auto [end, ec] = std::from_chars(digits, end_of_value, milligpu);
  if (ec != std::errc() || end == end_of_value || *end != '}') return {};
  const std::string product(value.substr(kProduct.size(), at - kProduct.size()));
  value.remove_prefix(static_cast<std::size_t>(end + 1 - value.data()));
  return product + "=" + gpus_text(milligpu);
}

// Converts the amounts in a value to the form for people, and removes the brackets of lists.
std::string said(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    if (const std::string amount = take_amount(value); !amount.empty()) {
      out += amount;
    } else {
      out += value.front();
      value.remove_prefix(1);
    }
  }
  const bool list = out.size() > 1 && out.front() == '[' && out.back() == ']';
  return list ? out.substr(1, out.size() - 2) : out;
}

// Returns the text for a field that one of two records lacks. `other`: the other record's value.
std::string unset_beside(const std::string& name, const std::string& other) {
  if (name.starts_with("drained_")) return "none";
  return other == "true" ? "false" : "default";
}

// Returns the fields that differ, or all fields of a new object: "shares 1 -> 3, quota default ->
// gpu=16".
std::string change_text(const v1::AuditEntry& e) {
  if (!e.refused().empty()) return e.refused();
  const auto before = fields_of(e.before());
  const auto after = fields_of(e.after());
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, value] : before) {
    const auto now = after.find(name);
    const std::string then = now == after.end() ? unset_beside(name, value) : said(now->second);
    if (said(value) != then) add(name + " " + said(value) + " -> " + then);
  }
  for (const auto& [name, value] : after) {
    if (before.contains(name)) continue;
    const bool says_nothing = name == "path" || name == "name" || name == "id" || name == "user";
    if (before.empty() && !says_nothing) add(name + " " + said(value));
    if (!before.empty()) add(name + " " + unset_beside(name, value) + " -> " + said(value));
  }
  return text;
}

Table audit_table(const v1::ListAuditResponse& answer) {
  Table table({{"FACT", Align::kRight, Room::kWide},
               time_column("TIME"),
               {"ACTOR", Align::kLeft, Room::kElastic},
               {"WHAT"},
               {"SUBJECT", Align::kLeft, Room::kElastic},
               {"REASON", Align::kLeft, Room::kElastic},
               {"CHANGE", Align::kLeft, Room::kElastic},
               {"KIND", Align::kLeft, Room::kWide},
               {"REQUEST", Align::kLeft, Room::kWide},
               {"BEFORE", Align::kLeft, Room::kWide},
               {"AFTER", Align::kLeft, Room::kWide},
               {"REFUSED", Align::kLeft, Room::kWide}});
  for (const auto& e : answer.entries()) {
    table.row({std::to_string(e.sequence()), time_cell(e.time()),
               e.actor().empty() ? "(subakd)" : e.actor(), deed(e), e.subject(), e.reason(),
               change_text(e), e.what(), e.request_id(), e.before(), e.after(), e.refused()});
  }
  return table;
}

struct AuditCommand {
  std::string subject;
  ListOptions list{kAuditRows};
};

}  // namespace

void add_audit(Command root) {
  auto o = std::make_shared<AuditCommand>();
  Command c = root.add("audit", "list edits: who changed what, when and why; newest first");
  c.option("--subject", o->subject, "only changes to this account, job, node or cluster", "NAME");
  c.option("--limit", o->list.limit, "show at most N rows (0: all)", "N");
  c.run([o](Session& s) {
    v1::ListAuditRequest request;
    request.set_subject(o->subject);
    const auto answer =
        all_pages<v1::ListAuditResponse>(s, "AdminService/ListAudit", request, o->list.limit,
                                         [](auto& a) { return a.mutable_entries(); });
    s.show(answer, [&] { return audit_table(answer); });
    return 0;
  });
}

}  // namespace subak::cli
