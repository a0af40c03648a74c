// subak account tree, get, history.
#include <algorithm>
#include <map>

#include "cli/commands/account/account_parts.h"
#include "cli/text/words.h"

namespace subak::cli {
namespace {

std::string state_text(const v1::Account& a) {
  if (a.held()) return "held";
  return a.draining() ? "draining" : "";
}

std::string tree_name(const v1::Account& a) {
  const std::string& path = a.path();
  if (path.empty()) return "root";
  const auto depth = static_cast<std::size_t>(
      1 + std::count_if(path.begin(), path.end(), [](char c) { return c == '.' || c == '/'; }));
  return std::string(depth, ' ') + path.substr(path.find_last_of("./") + 1);
}

// The figures of accounts now, by path.
using Figures = std::map<std::string, v1::ShareRow>;

Figures figures_below(Session& s, const std::string& path) {
  v1::ListSharesRequest request;
  request.set_account(path);
  const auto answer = all_pages<v1::ListSharesResponse>(s, "AccountService/ListShares", request, 0,
                                                        [](auto& a) { return a.mutable_rows(); });
  Figures out;
  for (const v1::ShareRow& row : answer.rows()) {
    out[row.account() + (row.user().empty() ? "" : "/" + row.user())] = row;
  }
  return out;
}

std::int64_t used(const v1::ShareRow& row) { return row.held_milligpu() + row.running_milligpu(); }

Table tree_table(const v1::ListAccountsResponse& answer, bool csv, const Figures& figures) {
  Table table({{"ACCOUNT", Align::kLeft, Room::kElastic},
               {"SHARES", Align::kRight},
               {"QUOTA", Align::kLeft, Room::kElastic},
               {"LIMIT", Align::kLeft, Room::kElastic},
               {"BORROW", Align::kRight},
               {"LEND", Align::kRight},
               {"STATE"},
               {"NAMESPACES", Align::kLeft, Room::kElastic},
               {"REVISION", Align::kRight, Room::kWide},
               {"USED", Align::kRight, Room::kWide},
               {"BORROWED", Align::kRight, Room::kWide},
               {"LENT", Align::kRight, Room::kWide},
               {"NOT RECALLABLE", Align::kLeft, Room::kWide}});
  for (const v1::Account& a : answer.accounts()) {
    const auto fields = account_fields(a);
    const auto quiet = [csv](const std::string& text) {
      return !csv && (text == "none" || text == "unlimited") ? std::string("-") : text;
    };
    const auto found = figures.find(a.path());
    const v1::ShareRow row = found == figures.end() ? v1::ShareRow() : found->second;
    table.row({csv ? a.path() : tree_name(a), fields[0].text, quiet(fields[1].text),
               quiet(fields[2].text), quiet(fields[3].text), quiet(fields[4].text), state_text(a),
               quiet(fields[5].text), std::to_string(a.revision()), gpus_text(used(row)),
               gpus_text(row.borrowed_milligpu()), gpus_text(row.lent_milligpu()),
               not_recallable_text(row)});
  }
  return table;
}

void add_tree(Command account) {
  struct Tree {
    std::string parent;
    bool users = false;
  };
  auto o = std::make_shared<Tree>();
  Command c = account.add("tree", "all accounts with their shares, quotas and limits");
  c.optional_argument("PATH", o->parent,
                      "only this account and the accounts below it; default: all accounts");
  c.flag("--users", o->users, "show users too");
  c.run([o](Session& s) {
    v1::ListAccountsRequest request;
    request.set_parent(o->parent);
    request.set_include_users(o->users);
    const auto answer = all_pages<v1::ListAccountsResponse>(
        s, "AccountService/ListAccounts", request, 0, [](auto& a) { return a.mutable_accounts(); });
    s.show(answer, [&] { return tree_table(answer, s.is_csv(), figures_below(s, o->parent)); });
    return 0;
  });
}

void print_account(Session& s, const v1::Account& a, const Figures& figures) {
  s.out() << (a.user() ? "user " : "account ")
          << s.paint(Colour::kBold, a.path().empty() ? "(root)" : printable(a.path()))
          << ", revision " << a.revision() << '\n';
  for (const FieldText& field : account_fields(a)) {
    std::string name = field.name + ":";
    name.resize(std::max<std::size_t>(13, name.size() + 1), ' ');
    s.out() << "  " << name << printable(field.text) << '\n';
  }
  const auto row = figures.find(a.path());
  if (row == figures.end()) return;
  s.out() << "  now:         " << gpus_text(used(row->second)) << " used, "
          << gpus_text(row->second.borrowed_milligpu()) << " borrowed, "
          << gpus_text(row->second.lent_milligpu()) << " lent\n";
  if (!row->second.not_recallable().empty()) {
    s.out() << "  borrowed, not recallable: " << not_recallable_text(row->second) << '\n';
  }
}

void add_get(Command account) {
  auto path = std::make_shared<std::string>();
  Command c = account.add("get", "all fields of one account or user");
  c.argument("PATH", *path, "such as ml.vision or ml.vision/ana");
  c.run([path](Session& s) {
    v1::GetAccountRequest request;
    request.set_path(*path);
    const auto a = s.call<v1::Account>("AccountService/GetAccount", request);
    if (s.is_csv()) {
      v1::ListAccountsResponse one;
      *one.add_accounts() = a;
      tree_table(one, true, figures_below(s, *path)).print_csv(s.out());
      return 0;
    }
    s.show_text(a, [&] { print_account(s, a, figures_below(s, *path)); });
    return 0;
  });
}

std::string fields_line(const v1::Account& a) {
  std::string text;
  for (const FieldText& field : account_fields(a)) {
    const bool usual = field.text == "none" || field.text == "unlimited" || field.text == "false";
    if (!usual) text += (text.empty() ? "" : " ") + field.name + "=" + field.text;
  }
  return text;
}

Table history_table(const v1::GetAccountHistoryResponse& answer) {
  Table table({{"FACT", Align::kRight},
               time_column("TIME"),
               {"ACTOR", Align::kLeft, Room::kElastic},
               {"REASON", Align::kLeft, Room::kElastic},
               {"THEN", Align::kLeft, Room::kElastic},
               {"REQUEST", Align::kLeft, Room::kWide}});
  for (const v1::AccountEdit& e : answer.edits()) {
    table.row({std::to_string(e.sequence()), time_cell(e.time()), e.actor(), e.reason(),
               e.deleted() ? "deleted"
               : e.moved_from().empty()
                   ? fields_line(e.account())
                   : "moved from " + e.moved_from() + " to " + e.account().path(),
               e.request_id()});
  }
  return table;
}

void add_history(Command account) {
  struct History {
    std::string path;
    ListOptions list;
  };
  auto o = std::make_shared<History>();
  Command c = account.add("history", "list every change of an account, newest first");
  c.argument("PATH", o->path, "such as ml.vision; a deleted account has a history too");
  add_limit(c, o->list);
  c.run([o](Session& s) {
    v1::GetAccountHistoryRequest request;
    request.set_path(o->path);
    const auto answer = all_pages<v1::GetAccountHistoryResponse>(
        s, "AccountService/GetAccountHistory", request, o->list.limit,
        [](auto& a) { return a.mutable_edits(); });
    if (answer.edits().empty() && !o->path.empty()) s.must_be_account(o->path);
    s.show(answer, [&] { return history_table(answer); });
    return 0;
  });
}

}  // namespace

void add_account(Command root) {
  Command account = root.add("account", "accounts and users: who has which share of the fleet");
  add_tree(account);
  add_get(account);
  add_account_edits(account);
  add_account_files(account);
  add_account_suggest(account);
  add_history(account);
}

}  // namespace subak::cli
