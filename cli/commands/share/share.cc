// subak share: the share factors of the account tree, with the columns and words of Slurm's sshare.
#include <algorithm>

#include "cli/commands.h"
#include "cli/commands/share/share_history.h"
#include "cli/namespace_scope.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "subak/v1/account_service.pb.h"

namespace subak::cli {
namespace {

struct ShareCommand {
  std::string account;
  bool accounts_only = false;
  MomentOptions at;
  ShareMoments moments;
  WatchOptions watch;
  NamespaceOptions where;
};

std::size_t depth_of(const std::string& path) {
  if (path.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
}

// Returns the last label of the path, indented: " vision" for ml.vision. A user's row repeats the
// account, as in sshare.
std::string tree_cell(const v1::ShareRow& row) {
  const std::string& path = row.account();
  const std::string name = path.empty() ? "root" : path.substr(path.rfind('.') + 1);
  return std::string(depth_of(path) + (row.user().empty() ? 0 : 1), ' ') + name;
}

Table share_table(const v1::ListSharesResponse& answer, bool csv) {
  constexpr Align kRight = Align::kRight;
  Table table({{"Account", Align::kLeft, Room::kElastic},
               {"User", Align::kLeft, Room::kElastic},
               {"Raw\nShares", kRight},
               {"Norm\nShares", kRight},
               {"Raw\nUsage", kRight},
               {"Norm\nUsage", kRight},
               {"Effectv\nUsage", kRight},
               {"Fair\nShare", kRight},
               {"Level\nFS", kRight},
               {"Rank", kRight},
               {"Reserved", kRight},
               {"Running", kRight},
               {"Queued", kRight},
               {"Quota", kRight, Room::kWide},
               {"Borrowed", kRight, Room::kWide},
               {"Lent", kRight, Room::kWide},
               {"NotRecallable", Align::kLeft, Room::kWide},
               {"QueuedJobs", kRight, Room::kWide},
               {"ShareFactor", kRight, Room::kWide},
               {"Surplus", kRight, Room::kWide},
               {"UsedGpuHours", kRight, Room::kWide}});
  for (const v1::ShareRow& r : answer.rows()) {
    const auto usage = [csv](double v) { return csv ? fixed_text(v, 3) : significant_text(v); };
    const int digits = csv ? 6 : 4;
    const auto whole = [csv](double v) { return csv ? fixed_text(v, 3) : fixed_text(v, 0); };
    table.row({csv ? r.account() : tree_cell(r),
               r.user(),
               std::to_string(r.raw_shares()),
               fixed_text(r.norm_shares(), digits),
               whole(r.raw_usage_gpu_seconds()),
               fixed_text(r.norm_usage(), digits),
               fixed_text(r.effective_usage(), digits),
               r.has_fairshare() ? fixed_text(r.fairshare(), digits) : "",
               usage(r.level_fs()),
               r.rank() > 0 ? std::to_string(r.rank()) : "",
               gpus_text(r.held_milligpu()),
               gpus_text(r.running_milligpu()),
               gpus_text(r.queued_milligpu()),
               gpus_text(r.quota_milligpu()),
               gpus_text(r.borrowed_milligpu()),
               gpus_text(r.lent_milligpu()),
               not_recallable_text(r),
               std::to_string(r.queued_jobs()),
               fixed_text(r.share_factor(), digits),
               whole(r.surplus_gpu_seconds()),
               gpu_hours_text(r.usage_total())});
  }
  return table;
}

void show_shares(Session& s, const ShareCommand& o) {
  v1::ListSharesRequest request;
  request.set_account(o.account);
  request.set_accounts_only(o.accounts_only);
  const auto answer = all_pages<v1::ListSharesResponse>(s, "AccountService/ListShares", request, 0,
                                                        [](auto& a) { return a.mutable_rows(); });
  s.show(answer, [&] { return share_table(answer, s.is_csv()); });
}

// Throws Failure (usage) if the options contradict each other.
void check_moments(const ShareCommand& o) {
  if (o.at.at.empty() && !o.watch.watch) return;
  throw usage_failure("--from, --to and --step show many moments, and --at and --watch one",
                      "use one or the other");
}

}  // namespace

void add_share(Command root, Program program) {
  auto o = std::make_shared<ShareCommand>();
  Command c =
      root.add("share", "what each account is due and what it has: shares, recent use, GPUs, rank");
  c.optional_argument("ACCOUNT", o->account,
                      "only this account and the accounts below it; default: all accounts");
  c.flag("--accounts-only", o->accounts_only, "without users");
  add_at(c, o->at);
  add_share_moments(c, o->moments);
  add_watch(c, o->watch);
  if (program == Program::kKubectl) add_namespace(c, o->where, true);
  c.run([o, program](Session& s) {
    if (program == Program::kKubectl && o->account.empty()) o->account = account_of(s, o->where);
    if (o->moments.any()) {
      check_moments(*o);
      return show_share_history(s, o->account, o->moments);
    }
    return draw_at(s, o->at, o->watch, [&] { show_shares(s, *o); });
  });
}

}  // namespace subak::cli
