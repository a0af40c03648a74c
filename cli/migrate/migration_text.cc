// The account file and the case for `sim share` of a migration.
#include <algorithm>
#include <map>
#include <utility>

#include "cli/migrate/amounts.h"
#include "cli/migrate/migrate.h"
#include "cli/text/account_names.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/printable.h"

namespace subak::cli {
namespace {

std::string count_of(std::size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

// Returns the limits of an account as the account file has them.
std::string limits_of(const MigratedSpec& spec) {
  std::string text = amounts_of(spec.limit);
  for (const std::string& limit : spec.other_limits) text += (text.empty() ? "" : ",") + limit;
  return text;
}

// Returns the text for a comment: in one line, and not too long.
std::string shown(std::string_view text) {
  return printable(cut_text(text, limits::kMaxTextBytes));
}

class Writer {
 public:
  explicit Writer(const Migration& migration) : m_(migration) {}

  std::string write() {
    head();
    settings();
    rows();
    report();
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  void comment(const std::string& text) { line("# " + shown(text)); }

  std::string at(const SourceLine& where) const {
    return shown(m_.files[where.file]) + ":" + std::to_string(where.line);
  }

  void head() {
    std::size_t accounts = 0, users = 0;
    for (std::size_t i = 1; i < m_.accounts.size(); ++i) {
      const MigratedAccount& row = m_.accounts[i];
      if (!row.left_out) ++(row.path.find('/') != std::string::npos ? users : accounts);
    }
    comment("Accounts from " + list_of(m_.files) + ": " +
            count_of(accounts, "account", "accounts") + ", " + count_of(users, "user", "users") +
            ".");
    if (m_.unmatched.empty()) {
      comment("Everything in these files has an equivalent in Subak.");
    } else {
      comment("Without an equivalent in Subak: " +
              count_of(m_.unmatched.size(), "thing", "things") + ", at the end of this file.");
    }
    comment("Check this file, then: subak account apply -f FILE --reason TEXT --dry-run");
    if (!m_.renamed.empty()) line("#\n# Names that Subak does not accept:");
    for (const std::string& name : m_.renamed) comment("  " + name);
  }

  void settings() {
    if (m_.settings.empty() && m_.classes.empty()) return;
    line("#\n# For the configuration of subakd, not for this file:");
    for (const std::string& setting : m_.settings) comment("  " + setting);
    if (!m_.classes.empty()) comment("  priorityClasses:");
    for (const PriorityClass& one : m_.classes) {
      comment("  - {name: " + quoted_name(one.name) + ", value: " + std::to_string(one.priority) +
              (one.preempts ? ", preempts: true}" : "}"));
    }
  }

  void rows() {
    bool any = false;
    for (std::size_t i = 0; i < m_.accounts.size(); ++i) {
      const MigratedAccount& row = m_.accounts[i];
      if (row.left_out ||
          (i == 0 && limits_of(row.spec).empty() && !row.spec.held && !row.spec.draining))
        continue;
      if (!any) line("accounts:");
      any = true;
      line(text_of(row, i == 0));
    }
    if (!any) line("accounts: []");
  }

  std::string text_of(const MigratedAccount& row, bool is_root) const {
    std::string out = "- {path: " + quoted_name(row.path);
    if (!is_root) out += ", shares: " + std::to_string(row.own_shares);
    const auto add = [&](const char* field, const std::string& value) {
      const bool plain = value.find(',') == std::string::npos;
      out += std::string(", ") + field + ": " + (plain ? value : '"' + value + '"');
    };
    if (!row.spec.quota.empty()) add("quota", amounts_of(row.spec.quota));
    if (const std::string limits = limits_of(row.spec); !limits.empty()) add("limit", limits);
    if (row.spec.borrow) add("borrow", *row.spec.borrow);
    if (row.spec.lend) add("lend", *row.spec.lend);
    if (!row.spec.namespaces.empty()) {
      std::vector<std::string> names;
      for (const std::string& ns : row.spec.namespaces) names.push_back(quoted_name(ns));
      out += ", namespaces: [" + list_of(names) + "]";
    }
    if (row.spec.held) out += ", held: true";
    if (row.spec.draining) out += ", draining: true";
    out += "}";
    if (row.at.line > 0) {
      out += "  # " + at(row.at);
      if (!row.remark.empty()) out += ": " + shown(row.remark);
    }
    return out;
  }

  // One section for each field, in the order in which the fields come first.
  void report() {
    std::map<std::pair<std::string, std::string>, std::vector<const Unmatched*>> sections;
    std::vector<std::pair<std::string, std::string>> order;
    for (const Unmatched& one : m_.unmatched) {
      auto& section = sections[{one.field, one.todo}];
      if (section.empty()) order.emplace_back(one.field, one.todo);
      section.push_back(&one);
    }
    if (!order.empty()) line("#\n# Without an equivalent in Subak:");
    for (const auto& key : order) {
      const auto& section = sections[key];
      line("#\n# " + shown(key.first) + ": " + shown(key.second));
      for (const Unmatched* one : section) {
        if (one->first_only && one != section.front()) continue;
        const std::size_t more = one->first_only ? section.size() - 1 : 0;
        line("#   " + at(one->at) + "  " + shown(one->what) +
             (more == 0 ? "" : ", and " + count_of(more, "more line", "more lines")));
      }
    }
  }

  const Migration& m_;
  std::string text_;
};

}  // namespace

std::string migration_text(const Migration& migration) { return Writer(migration).write(); }

std::string share_case_text(const Migration& migration) {
  // Paths have no character that JSON escapes.
  const auto name_of = [&](std::size_t i) {
    return i == 0 ? std::string("(root)") : migration.accounts[i].path;
  };
  std::string out = "{\"tree\": [";
  for (std::size_t i = 0; i < migration.accounts.size(); ++i) {
    const MigratedAccount& row = migration.accounts[i];
    const std::string parent = i == 0 ? "null" : '"' + name_of(row.parent) + '"';
    // Slurm's user of the root is an account in Subak, with a path of one label.
    const std::string user = row.path.substr(row.path.find('/') + 1);
    out += i == 0 ? "\n" : ",\n";
    out += "  {\"account\": \"" + name_of(row.user ? row.parent : i) +
           "\", \"user\": " + (row.user ? '"' + user + '"' : "null") + ", \"parent\": " + parent +
           ", \"shares\": " + (row.parent_shares ? "\"parent\"" : std::to_string(row.shares)) +
           ", \"raw_usage\": 0, \"order\": " + std::to_string(i) + "}";
  }
  return out + "\n]}\n";
}

}  // namespace subak::cli
