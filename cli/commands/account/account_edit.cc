// subak account set, hold, drain, resume, delete.
#include <chrono>
#include <thread>

#include "cli/commands/account/account_parts.h"
#include "cli/products.h"
#include "cli/text/failure.h"
#include "cli/text/order_table.h"
#include "cli/text/words.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

struct SetCommand {
  std::string path;
  std::optional<std::string> shares, quota, limit, user_limit, borrow, lend, namespaces,
      time_limits, budget, default_time_limit, managed_by;
  bool retroactive = false;
  AccountEditOptions options;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

AccountWish wish_of(const SetCommand& o) {
  AccountWish wish;
  wish.path = o.path;
  wish.shares = o.shares;
  wish.quota = o.quota;
  wish.limit = o.limit;
  wish.user_limit = o.user_limit;
  wish.borrow = o.borrow;
  wish.lend = o.lend;
  wish.time_limits = o.time_limits;
  wish.budget = o.budget;
  wish.default_time_limit = o.default_time_limit;
  wish.managed_by = o.managed_by;
  if (o.namespaces) wish.namespaces = split(*o.namespaces);
  return wish;
}

v1::UpdateAccountRequest request_of(const AccountWish& wish, const AccountEditOptions& options) {
  v1::UpdateAccountRequest request;
  put_wish(wish, "--", &request);
  put_options(options, request);
  return request;
}

// Prints which positions of waiting jobs a retroactive edit changes.
void show_order(Session& s, v1::UpdateAccountRequest request) {
  if (s.form() != Form::kTable && s.form() != Form::kWide) return;
  request.set_validate_only(true);
  const auto answer = s.call<v1::EditAccountResponse>("AccountService/UpdateAccount", request);
  print_order(s.out(), answer.order(), s.form() == Form::kWide);
}

int update(Session& s, const v1::UpdateAccountRequest& request) {
  const auto answer = s.call<v1::EditAccountResponse>("AccountService/UpdateAccount", request);
  return show_edit(s, request.account().path(), answer, request.validate_only());
}

int set_account(Session& s, const SetCommand& o) {
  if (o.retroactive && !o.shares)
    throw usage_failure("--retroactive: want it with --shares",
                        "only an edit of shares can count for past usage");
  const AccountWish wish = wish_of(o);
  v1::UpdateAccountRequest request = request_of(wish, o.options);
  Products(s).resolve("--", request.mutable_account());
  request.set_allow_missing(true);
  request.set_retroactive(o.retroactive);
  if (o.retroactive) show_order(s, request);
  // If no flag sets a field, the mask is empty. The service then takes the fields that are set,
  // which are none. This is right for the creation of an account without values.
  return update(s, request);
}

void add_set(Command account) {
  auto o = std::make_shared<SetCommand>();
  Command c = account.add(
      "set", "create or change an account; fields that you do not name stay as they are");
  c.argument("PATH", o->path, "such as ml.vision, or ml.vision/ana for a user");
  c.option("--shares", o->shares,
           "the account's weight among its siblings: of two siblings with 3 and 1, the first gets "
           "three quarters",
           "N");
  c.flag("--retroactive", o->retroactive,
         "let the new shares also count for past usage. The command first shows which jobs at the "
         "front "
         "of the queue would get another position");
  c.option("--quota", o->quota,
           "guaranteed GPUs: 16, or by product H100=16,A100=8 (short names work), or none",
           "AMOUNTS");
  c.option("--limit", o->limit,
           "the most GPUs that the account may hold at once, written as for --quota, and limits on "
           "its jobs: gpu=16,jobs=20,queued=500,time=2d,gpu-minutes=6000, or none",
           "LIMITS");
  c.option("--user-limit", o->user_limit,
           "the same limits for each user of the account: gpu=8,jobs=4, or none", "LIMITS");
  c.option("--borrow", o->borrow,
           "the most GPUs that the account may hold above its quota: 8, gpu=8,H100=2, none or "
           "unlimited",
           "AMOUNTS");
  c.option("--lend", o->lend,
           "the most GPUs of the account's unused quota that other accounts may use, written as "
           "for --borrow",
           "AMOUNTS");
  c.option("--budget", o->budget,
           "GPU-hours that the account may spend in each period: 10000h/month, "
           "H100=2000h/quarter, 50000h/total, soft=8000h/month (warns only), or none",
           "BUDGETS");
  c.option("--namespaces", o->namespaces,
           "the full list of the account's Kubernetes namespaces, or none", "A,B,CLUSTER/C");
  c.option("--time-limits", o->time_limits,
           "enforced (Subak ends jobs at their time limits), advised (Subak does not end them), or "
           "inherit (the parent account decides)",
           "WORD");
  c.option(
      "--default-time-limit", o->default_time_limit,
      "how long a job of the account is planned to run if it has no time limit: 4h, or inherit "
      "(the parent account decides, and for the root the policy)",
      "DURATION");
  c.option(
      "--managed-by", o->managed_by,
      "the caller that manages this account and those below it, such as a pipeline's token ci; "
      "others need --override. anyone: every caller; none: the parent account decides",
      "NAME");
  add_edit_options(c, o->options);
  c.run([o](Session& s) { return set_account(s, *o); });
}

struct SwitchCommand {
  AccountWish wish;
  AccountEditOptions options;
};

void add_switch(Command account, const std::string& name, const std::string& help,
                std::optional<bool> held, std::optional<bool> draining) {
  auto o = std::make_shared<SwitchCommand>();
  o->wish.held = held;
  o->wish.draining = draining;
  Command c = account.add(name, help);
  c.argument("PATH", o->wish.path, "such as ml.vision");
  add_edit_options(c, o->options);
  c.run([o](Session& s) { return update(s, request_of(o->wish, o->options)); });
}

struct DeleteCommand {
  std::string path;
  bool drain = false;
  AccountEditOptions options;
};

// Waits until no job of the account or of one below it is left. Says each new number of jobs.
void wait_for_jobs(Session& s, const std::string& path) {
  constexpr std::chrono::seconds kLookAgain{1};
  v1::ListJobsRequest request;
  request.set_account(path);
  for (int told = 0;; std::this_thread::sleep_for(kLookAgain)) {
    const auto answer = all_pages<v1::ListJobsResponse>(s, "JobService/ListJobs", request, 0,
                                                        [](auto& a) { return a.mutable_jobs(); });
    if (answer.jobs().empty()) return;
    if (answer.jobs_size() == told) continue;
    told = answer.jobs_size();
    s.err() << told << (told == 1 ? " job" : " jobs") << " of " << path << " left, the first is "
            << answer.jobs(0).id() << std::endl;
  }
}

// Deletes the account with all accounts and users below it, in one edit.
int delete_subtree(Session& s, const DeleteCommand& o) {
  v1::ListAccountsRequest below;
  below.set_parent(o.path);
  below.set_include_users(true);
  const auto accounts = all_pages<v1::ListAccountsResponse>(
      s, "AccountService/ListAccounts", below, 0, [](auto& a) { return a.mutable_accounts(); });
  v1::ApplyAccountsRequest request;
  for (const v1::Account& account : accounts.accounts()) add_removal(account.path(), &request);
  request.set_reason(o.options.edit.reason);
  request.set_override_managed(o.options.override_managed);
  const auto answer = s.call<v1::ApplyAccountsResponse>("AccountService/ApplyAccounts", request);
  s.out() << "account " << o.path << " deleted";
  if (answer.edited_size() > 1) s.out() << " with " << answer.edited_size() - 1 << " below it";
  s.out() << ", revision " << answer.revision() << '\n';
  return kExitDone;
}

int drain_and_delete(Session& s, const DeleteCommand& o) {
  if (o.options.dry_run)
    throw usage_failure("--drain: want it without --dry-run",
                        "subak job list --account PATH shows the jobs to wait for");
  AccountWish wish;
  wish.path = o.path;
  wish.draining = true;
  v1::UpdateAccountRequest request = request_of(wish, o.options);
  request.clear_request_id();
  s.call<v1::EditAccountResponse>("AccountService/UpdateAccount", request);
  wait_for_jobs(s, o.path);
  return delete_subtree(s, o);
}

int delete_account(Session& s, const DeleteCommand& o) {
  v1::DeleteAccountRequest request;
  request.set_path(o.path);
  put_options(o.options, request);
  const auto answer = s.call<v1::EditAccountResponse>("AccountService/DeleteAccount", request);
  return show_edit(s, o.path, answer, o.options.dry_run);
}

void add_delete(Command account) {
  auto o = std::make_shared<DeleteCommand>();
  Command c = account.add(
      "delete",
      "delete an account that has no accounts, users or jobs below it; its history stays");
  c.argument("PATH", o->path, "not the root");
  c.flag("--drain", o->drain,
         "accept no new jobs, wait until all present jobs have ended, then delete the account with "
         "all accounts and users below it; if you interrupt it, the account stays drained");
  add_edit_options(c, o->options);
  c.run([o](Session& s) { return o->drain ? drain_and_delete(s, *o) : delete_account(s, *o); });
}

std::string title_of(const std::string& path, const v1::EditAccountResponse& answer, bool dry_run) {
  std::string title = "account " + (path.empty() ? "(root)" : path) + " ";
  const std::string would = dry_run ? "would be " : "";
  if (!answer.has_before()) return title + would + "created";
  if (!answer.has_account()) return title + would + "deleted";
  title += dry_run ? "would change" : "changed";
  return title + ", revision " + std::to_string(answer.before().revision()) +
         (dry_run ? "" : " -> " + std::to_string(answer.account().revision()));
}

}  // namespace

void add_removal(const std::string& path, v1::ApplyAccountsRequest* request) {
  v1::AccountChange* const change = request->add_changes();
  change->mutable_account()->set_path(path);
  change->set_delete_(true);
}

void add_edit_options(Command& command, AccountEditOptions& options) {
  add_reason(command, options.edit);
  command.option("--revision", options.revision,
                 "make the change only if the account still has this revision", "N");
  command.flag("--dry-run", options.dry_run, "show what would change; change nothing");
  add_override(command, options.override_managed);
}

void add_override(Command& command, bool& override_managed) {
  command.flag("--override", override_managed,
               "make the change although another caller manages the account (managed-by); the "
               "audit log says so");
}

void print_diff(Session& s, const std::string& title, const std::vector<DiffLine>& lines) {
  s.out() << printable(title) << '\n';
  for (const DiffLine& line : lines) {
    const std::string text = std::string(1, line.sign) + " " + printable(line.text);
    s.out() << (line.sign == '-' ? s.paint(Colour::kRed, text) : s.paint(Colour::kGreen, text))
            << '\n';
  }
}

int show_edit(Session& s, const std::string& path, const v1::EditAccountResponse& answer,
              bool dry_run) {
  s.show_text(answer, [&] {
    const auto lines = account_diff(answer.has_before() ? &answer.before() : nullptr,
                                    answer.has_account() ? &answer.account() : nullptr);
    if (answer.repeated_request()) {
      s.out() << "a request with this id was carried out before; nothing changed now\n";
    } else if (lines.empty()) {
      s.out() << "account " << printable(path) << " already has these values\n";
    } else {
      print_diff(s, title_of(path, answer, dry_run), lines);
    }
  });
  s.warn(answer.warnings());
  return kExitDone;
}

void add_account_edits(Command account) {
  add_set(account);
  add_switch(account, "hold", "stop the account's jobs from starting; running jobs go on", true,
             std::nullopt);
  add_switch(account, "drain", "accept no new jobs for the account; waiting and running jobs go on",
             std::nullopt, true);
  add_switch(account, "resume",
             "end a hold or a drain: the service accepts and starts jobs of the account again",
             false, false);
  add_delete(account);
}

}  // namespace subak::cli
