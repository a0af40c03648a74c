// subak account apply, diff, move, undo: change the account tree to match a file, show the
// difference, move an account, or restore the tree.
#include <charconv>
#include <map>
#include <set>

#include "cli/commands/account/account_parts.h"
#include "cli/products.h"
#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/order_table.h"
#include "core/account_path.h"
#include "core/edge_limits.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

constexpr char kFileForm[] =
    "The file:\n"
    "  accounts:\n"
    "  - {path: ml, shares: 2, limit: H100=64}\n"
    "  - {path: ml.vision, shares: 3, quota: gpu=16, borrow: unlimited, lend: 8,\n"
    "     namespaces: [team-a], held: false, draining: false,\n"
    "     time-limits: enforced, managed-by: ci}\n"
    "A field that the file omits stays as it is.\n";

using ByPath = std::map<std::string, v1::Account>;
// The account tree as it is now.
struct Accounts {
  ByPath by_path;
  std::uint64_t revision = 0;
};

struct ApplyCommand {
  std::string file;
  bool prune = false;
  bool dry_run = false, override_managed = false, retroactive = false;
  std::uint64_t revision = 0;
  EditOptions edit;
};

Accounts read_accounts(Session& s) {
  const auto answer = all_pages<v1::ListAccountsResponse>(
      s, "AccountService/ListAccounts",
      [] {
        v1::ListAccountsRequest request;
        request.set_include_users(true);
        return request;
      }(),
      0, [](auto& a) { return a.mutable_accounts(); });
  Accounts accounts;
  for (const v1::Account& a : answer.accounts()) accounts.by_path[a.path()] = a;
  accounts.revision = answer.revision();
  return accounts;
}

// Returns the account with the fields of `wanted` that the mask names. `before`: nullptr for a new
// account.
v1::Account merged(const v1::Account* before, const v1::Account& wanted,
                   const google::protobuf::FieldMask& mask) {
  v1::Account after = before != nullptr ? *before : v1::Account();
  after.set_path(wanted.path());
  v1::Account from = wanted;
  const auto* descriptor = v1::Account::descriptor();
  for (const std::string& name : mask.paths()) {
    after.GetReflection()->SwapFields(&after, &from, {descriptor->FindFieldByName(name)});
  }
  return after;
}

// Adds the removal of each account that the file does not name, and of its users.
void add_removals(const std::set<std::string>& wanted, const ByPath& accounts,
                  v1::ApplyAccountsRequest* request) {
  for (auto it = accounts.rbegin(); it != accounts.rend(); ++it) {
    const std::string& path = it->first;
    if (path.empty() || wanted.contains(path.substr(0, path.find('/')))) continue;
    add_removal(path, request);
  }
}

// Returns the changes that lead from the present tree to the file's tree. Accounts that already are
// as the file says are left out.
v1::ApplyAccountsRequest changes_of(Session& s, const std::vector<AccountWish>& wishes,
                                    const ByPath& accounts, bool prune) {
  Products products(s);
  v1::ApplyAccountsRequest request;
  std::set<std::string> wanted;
  for (const AccountWish& wish : wishes) {
    v1::UpdateAccountRequest update;
    put_wish(wish, wish.path + ": ", &update);
    products.resolve(wish.path + ": ", update.mutable_account());
    const auto found = accounts.find(wish.path);
    const v1::Account* before = found == accounts.end() ? nullptr : &found->second;
    const v1::Account after = merged(before, update.account(), update.update_mask());
    if (before == nullptr || !account_diff(before, &after).empty()) {
      v1::AccountChange* const change = request.add_changes();
      change->mutable_account()->Swap(update.mutable_account());
      change->mutable_update_mask()->Swap(update.mutable_update_mask());
    }
    // The parents of a wanted account are wanted too.
    for (std::string_view path = wish.path; !path.empty(); path = parent_path(path)) {
      wanted.emplace(path);
    }
  }
  if (prune) add_removals(wanted, accounts, &request);
  return request;
}

void print_edited(Session& s, const v1::ApplyAccountsResponse::Edited& edited, const char* would) {
  const v1::Account* const before = edited.has_before() ? &edited.before() : nullptr;
  const v1::Account* const after = edited.has_account() ? &edited.account() : nullptr;
  const auto lines = account_diff(before, after);
  if (lines.empty() && before != nullptr && after != nullptr) return;
  const bool moves = after != nullptr && before != nullptr && before->path() != after->path();
  const char* what = after == nullptr    ? "delete"
                     : before == nullptr ? "create"
                     : moves             ? "move"
                                         : "change";
  const std::string& path = after != nullptr ? after->path() : before->path();
  print_diff(s, std::string(would) + what + " account " + (path.empty() ? "(root)" : path), lines);
}

void refuse_forms(Session& s) {
  if (s.form() == Form::kTable || s.form() == Form::kWide) return;
  throw usage_failure("--output: apply, diff, move and undo print only a diff", "omit --output");
}

std::vector<AccountWish> read_wishes(Session& s, const ApplyCommand& o) {
  refuse_forms(s);
  return parse_account_file(read_input(o.file, limits::kMaxWrittenFileBytes), o.file);
}

int show_applied(Session& s, const v1::ApplyAccountsResponse& answer, bool dry_run) {
  s.warn(answer.warnings());
  if (answer.repeated_request()) {
    s.out() << "nothing changed: an edit with this --request-id was made before\n";
    return kExitDone;
  }
  for (const auto& edited : answer.edited()) print_edited(s, edited, dry_run ? "would " : "");
  if (answer.moved_below() > 0) {
    s.out() << answer.moved_below()
            << (answer.moved_below() == 1 ? " account or user" : " accounts and users")
            << " below it " << (dry_run ? "would move" : "moved") << " along\n";
  }
  s.out() << answer.edited_size() << (answer.edited_size() == 1 ? " account " : " accounts ")
          << (dry_run ? "would change" : "changed");
  if (!dry_run && answer.edited_size() > 0) s.out() << ", revision " << answer.revision();
  s.out() << '\n';
  return kExitDone;
}

int apply(Session& s, const ApplyCommand& o) {
  const auto wishes = read_wishes(s, o);
  v1::ApplyAccountsRequest request = changes_of(s, wishes, read_accounts(s).by_path, o.prune);
  request.set_revision(o.revision);
  request.set_reason(o.edit.reason);
  request.set_request_id(o.edit.request_id);
  request.set_override_managed(o.override_managed);
  request.set_retroactive(o.retroactive);
  const char* const kMethod = "AccountService/ApplyAccounts";
  if (o.retroactive) {
    request.set_validate_only(true);
    const auto answer = s.call<v1::ApplyAccountsResponse>(kMethod, request);
    print_order(s.out(), answer.order(), s.form() == Form::kWide);
  }
  request.set_validate_only(o.dry_run);
  return show_applied(s, s.call<v1::ApplyAccountsResponse>(kMethod, request), o.dry_run);
}

int diff(Session& s, const ApplyCommand& o) {
  const auto wishes = read_wishes(s, o);
  const Accounts accounts = read_accounts(s);
  const v1::ApplyAccountsRequest request = changes_of(s, wishes, accounts.by_path, o.prune);
  for (const v1::AccountChange& change : request.changes()) {
    v1::ApplyAccountsResponse::Edited edited;
    const auto found = accounts.by_path.find(change.account().path());
    const v1::Account* before = found == accounts.by_path.end() ? nullptr : &found->second;
    if (before != nullptr) *edited.mutable_before() = *before;
    if (!change.delete_()) {
      *edited.mutable_account() = merged(before, change.account(), change.update_mask());
    }
    print_edited(s, edited, "apply would ");
  }
  if (request.changes().empty()) return kExitDone;
  s.out() << "tree revision " << accounts.revision << '\n';
  return kExitRefused;
}

struct UndoCommand {
  std::string revision;
  bool dry_run = false, override_managed = false;
  EditOptions edit;
};

int undo(Session& s, const UndoCommand& o) {
  refuse_forms(s);
  std::uint64_t revision = 0;
  const char* const last = o.revision.data() + o.revision.size();
  const auto [end, error] = std::from_chars(o.revision.data(), last, revision);
  if (error != std::errc() || end != last) {
    throw usage_failure("REVISION: was \"" + o.revision + "\", want the number of an edit",
                        "subak account history shows it in the column FACT");
  }
  v1::UndoAccountEditRequest request;
  request.set_revision(revision);
  request.set_reason(o.edit.reason);
  request.set_request_id(o.edit.request_id);
  request.set_validate_only(o.dry_run);
  request.set_override_managed(o.override_managed);
  const char* const kMethod = "AccountService/UndoAccountEdit";
  return show_applied(s, s.call<v1::ApplyAccountsResponse>(kMethod, request), o.dry_run);
}

void add_undo(Command account) {
  auto o = std::make_shared<UndoCommand>();
  Command c =
      account.add("undo", "restore the accounts of one edit, if nothing has changed them since");
  c.argument("REVISION", o->revision, "as apply prints it, or FACT in subak account history");
  c.flag("--dry-run", o->dry_run, "show what would change; change nothing");
  add_override(c, o->override_managed);
  add_reason(c, o->edit);
  c.run([o](Session& s) { return undo(s, *o); });
}

struct MoveCommand {
  std::string path, to;
  AccountEditOptions options;
};

int move(Session& s, const MoveCommand& o) {
  refuse_forms(s);
  v1::MoveAccountRequest request;
  request.set_path(o.path);
  request.set_to(o.to);
  put_options(o.options, request);
  const char* const kMethod = "AccountService/MoveAccount";
  const auto answer = s.call<v1::ApplyAccountsResponse>(kMethod, request);
  return show_applied(s, answer, o.options.dry_run);
}

void add_move(Command account) {
  auto o = std::make_shared<MoveCommand>();
  Command c = account.add(
      "move", "give an account another name or parent, with all accounts, users and jobs below it");
  c.details(
      "Usage, quotas, budgets and history stay with the account. The accounts above the old place\n"
      "lose its usage, and those above the new place gain it. GPU-hours spent so far stay in the\n"
      "budgets above the old path. subak account undo reverts the move.\n");
  c.argument("PATH", o->path, "such as ml.vision; not the root");
  c.argument("TO", o->to, "the new path, such as bio.vision; its parent must exist");
  add_edit_options(c, o->options);
  c.run([o](Session& s) { return move(s, *o); });
}

}  // namespace

void add_account_files(Command account) {
  auto o = std::make_shared<ApplyCommand>();
  Command c = account.add(
      "apply", "change the accounts to match a YAML file, all in one step or not at all");
  c.details(kFileForm);
  c.required_option("-f,--file", o->file, "a YAML file; - is standard input", "FILE");
  c.flag("--prune", o->prune, "delete accounts that the file does not name, with their users");
  c.flag("--dry-run", o->dry_run, "show what would change; change nothing");
  c.option("--revision", o->revision,
           "make the changes only if the tree still has this revision (diff prints it)", "N");
  c.flag("--retroactive", o->retroactive,
         "let new shares also count for past usage. Before the edit, the command shows which of "
         "the first waiting jobs get another position");
  add_override(c, o->override_managed);
  add_reason(c, o->edit);
  c.run([o](Session& s) { return apply(s, *o); });

  auto d = std::make_shared<ApplyCommand>();
  Command e = account.add("diff", "show what apply would change; exit 1 if there are changes");
  e.details(kFileForm);
  e.required_option("-f,--file", d->file, "a YAML file; - is standard input", "FILE");
  e.flag("--prune", d->prune, "also show the accounts that apply --prune would delete");
  e.run([d](Session& s) { return diff(s, *d); });
  add_move(account);
  add_undo(account);
}

}  // namespace subak::cli
