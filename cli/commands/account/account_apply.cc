// subak account apply, diff: change the account tree to match a file, or show the difference.
#include <algorithm>
#include <map>
#include <set>

#include "cli/commands/account/account_parts.h"
#include "cli/products.h"
#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
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
    "     time-limits: enforced}\n"
    "A field that the file omits stays as it is.\n";

using Accounts = std::map<std::string, v1::Account>;

struct ApplyCommand {
  std::string file;
  bool prune = false;
  bool dry_run = false;
  EditOptions edit;
};

// One edit of an account. All such edits together lead from the present tree to the file's tree.
struct Change {
  v1::UpdateAccountRequest update;  // unless `remove`
  bool remove = false;
  std::string path;
  std::vector<DiffLine> lines;
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
  for (const v1::Account& a : answer.accounts()) accounts[a.path()] = a;
  return accounts;
}

v1::Account merged(const v1::Account& before, const v1::UpdateAccountRequest& update) {
  v1::Account after = before;
  after.set_path(update.account().path());
  const auto* descriptor = v1::Account::descriptor();
  for (const std::string& name : update.update_mask().paths()) {
    const auto* field = descriptor->FindFieldByName(name);
    v1::Account one = update.account();
    std::vector<const google::protobuf::FieldDescriptor*> move{field};
    after.GetReflection()->SwapFields(&after, &one, move);
  }
  return after;
}

// Returns the accounts that the file does not name, and their users. Children come before parents,
// because the path of a child sorts after the path of its parent.
std::vector<Change> removals_of(const std::set<std::string>& wanted, const Accounts& accounts) {
  std::vector<Change> changes;
  for (auto it = accounts.rbegin(); it != accounts.rend(); ++it) {
    const v1::Account& account = it->second;
    const std::string owner = account.path().substr(0, account.path().find('/'));
    if (account.path().empty() || wanted.contains(owner)) continue;
    changes.push_back({{}, true, account.path(), account_diff(&account, nullptr)});
  }
  return changes;
}

std::vector<Change> changes_of(Session& s, const std::vector<AccountWish>& wishes,
                               const Accounts& accounts, bool prune) {
  Products products(s);
  std::vector<Change> changes;
  std::set<std::string> wanted;
  for (const AccountWish& wish : wishes) {
    Change change;
    change.path = wish.path;
    put_wish(wish, wish.path + ": ", &change.update);
    products.resolve(wish.path + ": ", change.update.mutable_account());
    const auto found = accounts.find(wish.path);
    const v1::Account* before = found == accounts.end() ? nullptr : &found->second;
    const v1::Account after = merged(before != nullptr ? *before : v1::Account(), change.update);
    change.lines = account_diff(before, &after);
    if (!change.lines.empty() || before == nullptr) changes.push_back(std::move(change));
    // The parents of a wanted account are wanted too.
    for (std::string path = wish.path; !path.empty();) {
      wanted.insert(path);
      const std::size_t cut = path.find_last_of("./");
      path = cut == std::string::npos ? "" : path.substr(0, cut);
    }
  }
  if (!prune) return changes;
  for (Change& removal : removals_of(wanted, accounts)) changes.push_back(std::move(removal));
  return changes;
}

// The service does not delete an account with jobs. So this function refuses before any change, and
// in a dry run too.
void refuse_jobs(Session& s, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    if (!change.remove) continue;
    const std::size_t slash = change.path.find('/');
    v1::ListJobsRequest request;
    request.set_account(change.path.substr(0, slash));
    if (slash != std::string::npos) request.set_user(change.path.substr(slash + 1));
    request.set_page_size(1);
    const auto answer = s.call<v1::ListJobsResponse>("JobService/ListJobs", request);
    if (answer.jobs().empty()) continue;
    throw Failure{kExitRefused,
                  "--prune: account " + change.path + " has jobs that have not ended (" +
                      answer.jobs(0).id() + "): nothing was changed",
                  "drain it and wait, cancel its jobs, or name it in the file"};
  }
}

void print_change(Session& s, const Change& change, const Accounts& accounts, const char* would) {
  const bool creates = !change.remove && !accounts.contains(change.path);
  const char* what = change.remove ? "delete" : creates ? "create" : "change";
  print_diff(
      s, std::string(would) + what + " account " + (change.path.empty() ? "(root)" : change.path),
      change.lines);
}

// True if the service can check this change although earlier changes of the list are not made yet.
bool can_be_tried(const Change& change, const Accounts& accounts) {
  if (change.remove) return false;  // refuse_jobs() has found what could prevent it
  const std::size_t cut = change.path.find_last_of("./");
  return cut == std::string::npos || accounts.contains(change.path.substr(0, cut));
}

// Makes the change. In a dry run the service only checks it.
v1::EditAccountResponse execute(Session& s, const Change& change, const ApplyCommand& o) {
  const std::string id = o.edit.request_id.empty() ? "" : o.edit.request_id + "/" + change.path;
  if (change.remove) {
    v1::DeleteAccountRequest request;
    request.set_path(change.path);
    request.set_reason(o.edit.reason);
    request.set_request_id(id);
    request.set_validate_only(o.dry_run);
    return s.call<v1::EditAccountResponse>("AccountService/DeleteAccount", request);
  }
  v1::UpdateAccountRequest request = change.update;
  request.set_allow_missing(true);
  request.set_reason(o.edit.reason);
  request.set_request_id(o.dry_run ? "" : id);
  request.set_validate_only(o.dry_run);
  return s.call<v1::EditAccountResponse>("AccountService/UpdateAccount", request);
}

void refuse_forms(Session& s) {
  if (s.form() == Form::kTable || s.form() == Form::kWide) return;
  throw usage_failure("--output: apply and diff print only a diff", "omit --output");
}

int apply(Session& s, const ApplyCommand& o) {
  refuse_forms(s);
  const auto wishes = parse_account_file(read_input(o.file, limits::kMaxWrittenFileBytes), o.file);
  const Accounts accounts = read_accounts(s);
  const auto changes = changes_of(s, wishes, accounts, o.prune);
  refuse_jobs(s, changes);
  for (const Change& change : changes) {
    print_change(s, change, accounts, o.dry_run ? "would " : "");
    if (!o.dry_run || can_be_tried(change, accounts)) s.warn(execute(s, change, o).warnings());
  }
  s.out() << changes.size() << (changes.size() == 1 ? " account " : " accounts ")
          << (o.dry_run ? "would change\n" : "changed\n");
  return kExitDone;
}

int diff(Session& s, const ApplyCommand& o) {
  refuse_forms(s);
  const auto wishes = parse_account_file(read_input(o.file, limits::kMaxWrittenFileBytes), o.file);
  const Accounts accounts = read_accounts(s);
  const auto changes = changes_of(s, wishes, accounts, o.prune);
  for (const Change& change : changes) print_change(s, change, accounts, "apply would ");
  return changes.empty() ? kExitDone : kExitRefused;
}

}  // namespace

void add_account_files(Command account) {
  auto o = std::make_shared<ApplyCommand>();
  Command c = account.add("apply", "change the accounts to match a YAML file");
  c.details(kFileForm);
  c.required_option("-f,--file", o->file, "a YAML file; - is standard input", "FILE");
  c.flag("--prune", o->prune, "delete accounts that the file does not name, with their users");
  c.flag("--dry-run", o->dry_run, "show what would change; change nothing");
  add_reason(c, o->edit);
  c.run([o](Session& s) { return apply(s, *o); });

  auto d = std::make_shared<ApplyCommand>();
  Command e = account.add("diff", "show what apply would change; exit 1 if there are changes");
  e.details(kFileForm);
  e.required_option("-f,--file", d->file, "a YAML file; - is standard input", "FILE");
  e.flag("--prune", d->prune, "also show the accounts that apply --prune would delete");
  e.run([d](Session& s) { return diff(s, *d); });
}

}  // namespace subak::cli
