#include "engine/derive/rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "accounting/fairtree/fairtree.h"
#include "core/account_path.h"
#include "core/must.h"
#include "engine/answers/view.h"
#include "engine/derive/gang_reasons.h"
#include "engine/derive/preemption/lending.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/derive/reasons.h"
#include "engine/derive/reservations.h"
#include "engine/state/planned_end.h"

namespace subak::derive {
namespace {

// The user's name. Empty: the job is the account's own.
std::string_view user_of(const State& s, const state::Job& job) {
  if (job.leaf == kUnassigned || !s.tree().node(job.leaf).spec.user) return {};
  const std::string_view path = s.tree().node(job.leaf).spec.path;
  return path.substr(path.rfind('/') + 1);
}

// True if the job is in the account's subtree. An empty path matches every job.
bool is_below(const State& s, const state::Job& job, std::string_view account) {
  if (account.empty()) return true;
  return job.leaf != kUnassigned && is_path_within(s.tree().node(job.leaf).spec.path, account);
}

}  // namespace

std::vector<OpenUsage> open_usage(const State& s) {
  std::vector<OpenUsage> out;
  s.allocations().each_node([&](NodeId /*node*/, std::span<const state::PodPlace> pods) {
    for (const auto& [id, rank] : pods) {
      const state::Job& job = s.jobs().at(id);
      const state::Pod& pod = job.pods[rank];
      if (pod.slot.milligpu == 0) continue;
      must(pod.holds_slot() && pod.since_ms <= s.now(), "open usage began by now");
      const UsageState bound =
          job.origin == JobOrigin::kForeign ? UsageState::kForeign : UsageState::kUsed;
      out.push_back({job.leaf, pod.is_bound() ? bound : UsageState::kHeld,
                     std::string(s.fleet().products().name(s.fleet().product_of(pod.slot.node))),
                     pod.since_ms, pod.slot.milligpu, id, pod.slot.node,
                     static_cast<std::uint32_t>(std::popcount(pod.slot.gpu_mask)), pod.name,
                     pod.uid});
    }
  });
  return out;
}

std::pair<std::string, std::string> payer_of(const State& s, AccountId leaf) {
  if (leaf == kUnassigned) return {};
  const AccountSpec& spec = s.tree().node(leaf).spec;
  const auto slash = spec.user ? spec.path.rfind('/') : std::string::npos;
  if (slash == std::string::npos) return {spec.path, ""};
  return {spec.path.substr(0, slash), spec.path.substr(slash + 1)};
}

JobRow row(const State& s, const state::Job& job, bool with_pods) {
  JobRow row;
  row.id = job.id;
  row.name = job.name;
  row.cluster = s.clusters().name_of(job.id.cluster());
  std::tie(row.account, row.user) = payer_of(s, job.leaf);
  row.state = job.state;
  row.origin = job.origin;
  row.cause = job.cause;
  row.request = state::request_of(s.fleet(), job);
  row.gang_size = job.gang_size;
  row.priority = job.priority;
  row.priority_class = class_name_of(s, job);
  row.time_limit_ms = job.time_limit_ms;
  row.grace_ms = job.extras().grace_ms;
  row.submit_ms = job.submit_ms;
  const state::Run& run = job.run();
  row.started_ms = run.started_ms;
  row.ended_ms = run.ended_ms;
  row.until_ms = job.until_ms;
  row.end_refused_ms = run.end_refused_ms;
  row.attempt = job.attempt;
  row.planned_end_ms = run.end_ms == state::kNever ? 0 : run.end_ms;
  if (const state::Reservation* const r = s.clusters().reservation_of(job.id)) {
    row.start_ms = r->start_ms == state::kNever ? 0 : r->start_ms;
    row.start_expected_ms = std::min(row.start_ms, FreeFor(s, job, r->start_ms).at(r->nodes));
    row.start_promised = !r->estimated;
    row.start_moved = {r->cause, r->late};
  }
  row.reclaim.claims = job.state == JobState::kQueued && s.claims().of(job.id) != nullptr;
  if (job.extras().preempted != nullptr) row.reclaim.preempted = preemption_of(s, job);
  if (job.in_attempt()) row.reclaim.loan = loan_of(s, job);
  row.overruns = job.overruns;
  row.refused = job.extras().backoff != nullptr;
  if (job.extras().rejected != nullptr) row.rejected = *job.extras().rejected;
  row.owners.parking = job.parking();
  if (const auto* const group = s.jobs().gangs().siblings(job)) {
    row.owners.siblings = {group->workload->kind, job.ns() + "/" + group->workload->name,
                           group->jobs,           group->running,
                           group->waiting,        group->queued.size()};
  }
  row.limit.enforced = state::enforces_limit(s, job);
  const bool has_limit = job.state != JobState::kDone && job.time_limit_ms != 0;
  row.limit.distrusted = has_limit && !state::trusts_limit(s, job);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    const state::Pod& pod = job.pods[rank];
    if (pod.holds_slot()) {
      row.milligpu += pod.slot.milligpu;
      row.nodes.push_back(pod.slot.node);
    }
    if (with_pods)
      row.pods.push_back({rank, pod.uid, pod.name, pod.state, pod.gate, pod.slot, pod.since_ms});
  }
  std::sort(row.nodes.begin(), row.nodes.end());
  row.nodes.erase(std::unique(row.nodes.begin(), row.nodes.end()), row.nodes.end());
  if (job.pods_holding() == 0) row.milligpu = state::least_milligpu(s.fleet(), job);
  must(row.milligpu >= 0, "a job holds or asks for no less than nothing");
  return row;
}

std::vector<JobRow> beside_queue(const State& s, JobId after, std::size_t most,
                                 std::string_view account) {
  std::vector<JobRow> out;
  const auto& beside = s.jobs().sets().beside_queue();
  const auto& crowded = s.jobs().sets().crowded();
  auto one = beside.upper_bound(after);
  auto other = crowded.upper_bound(after);
  while (out.size() < most && (one != beside.end() || other != crowded.end())) {
    const bool both = one != beside.end() && other != crowded.end() && *one == *other;
    const bool first = other == crowded.end() || (one != beside.end() && *one <= *other);
    const state::Job& job = s.jobs().at(first ? *one : *other);
    if (first) ++one;
    if (!first || both) ++other;
    must(job.state != JobState::kDone, "a job beside the queue is live");
    if (job.state == JobState::kQueued || !is_below(s, job, account)) continue;
    out.push_back(row(s, job, false));
  }
  return out;
}

std::vector<CrowdedJob> crowded(const State& s, JobId after, std::size_t most) {
  std::vector<CrowdedJob> out;
  const auto& all = s.jobs().sets().crowded();
  for (auto it = all.upper_bound(after); it != all.end() && out.size() < most; ++it) {
    const state::Job& job = s.jobs().at(*it);
    must(job.pods_behind() > 0, "a crowded job has pods without a rank");
    out.push_back({row(s, job, true), beyond_gang(job)});
  }
  return out;
}

std::vector<JobRow> jobs(const State& s, JobId after, std::size_t most,
                         std::optional<JobState> state, std::string_view account,
                         std::string_view user) {
  std::vector<JobRow> out;
  const std::vector<JobId>& ids = s.jobs().table().ascending();
  for (auto it = std::upper_bound(ids.begin(), ids.end(), after); it != ids.end(); ++it) {
    if (out.size() == most) break;
    const state::Job* found = s.jobs().find(*it);
    if (found == nullptr) continue;
    const state::Job& job = *found;
    if (state && job.state != *state) continue;
    if (!is_below(s, job, account)) continue;
    if (!user.empty() && user_of(s, job) != user) continue;
    out.push_back(row(s, job, false));
  }
  return out;
}

std::vector<AccountRow> account_rows(const State& s, TimeMs t) {
  const std::vector<AccountId> ids = s.tree().preorder();
  std::map<AccountId, std::int64_t> child_shares;
  for (AccountId id : ids) {
    if (id != kRootAccount) child_shares[s.tree().node(id).parent] += s.tree().node(id).spec.shares;
  }
  std::vector<ShareRow> share_rows;
  std::vector<AccountRow> out;
  std::map<AccountId, double> whole_share{{kRootAccount, 1.0}};
  const double root_usage = s.tree().usage(kRootAccount, t);
  for (AccountId id : ids) {
    const AccountNode& node = s.tree().node(id);
    const double usage = s.tree().usage(id, t);
    const double parent_usage = id == kRootAccount ? usage : s.tree().usage(node.parent, t);
    AccountRow row;
    row.id = id;
    row.parent = node.parent;
    row.spec = node.spec;
    row.revision = node.revision;
    const std::int64_t siblings = child_shares[node.parent];
    row.norm_shares = id == kRootAccount ? 1
                      : siblings > 0
                          ? static_cast<double>(node.spec.shares) / static_cast<double>(siblings)
                          : 0;
    row.usage_gpu_seconds = usage / GpuTime::kRawPerGpuSecond;
    row.effective_usage = parent_usage > 0 ? usage / parent_usage : 0;
    row.level_fs = row.norm_shares == 0      ? 0
                   : row.effective_usage > 0 ? row.norm_shares / row.effective_usage
                                             : std::numeric_limits<double>::infinity();
    if (id != kRootAccount) whole_share[id] = whole_share[node.parent] * row.norm_shares;
    const double share = whole_share[id];
    must(share >= 0 && share <= 1.0 + 1e-9, "a share is a part of the whole");
    row.share_factor =
        share > 0 ? std::exp2(-(root_usage > 0 ? usage / root_usage : 0) / share) : 0;
    row.surplus_gpu_seconds = surplus_of(s.tree(), id, t) / GpuTime::kRawPerGpuSecond;
    row.usage_total = s.tree().usage_undecayed(id, t);
    row.held = node.holdings.held();
    row.running = node.holdings.running();
    row.quota = node.quota_total;
    // A user without a quota of its own uses its account's quota.
    if (!node.spec.user || node.quota_total > 0) row.lending.borrowed = node.meters.surplus_rate();
    row.queued = s.jobs().ready().queued_milligpu(id);
    row.jobs_queued = s.jobs().ready().queued_jobs(id);
    out.push_back(std::move(row));
    ShareRow share_row;  // Fair Tree ranks leaves: users, and accounts without users
    const bool leaf = node.children.empty() && id != kRootAccount;
    share_row.account = leaf ? s.tree().node(node.parent).spec.path : node.spec.path;
    share_row.user = leaf ? node.spec.path : "";
    share_row.parent = id == kRootAccount ? "" : s.tree().node(node.parent).spec.path;
    if (share_row.account.empty()) share_row.account = "root";
    if (share_row.parent.empty() && id != kRootAccount) share_row.parent = "root";
    share_row.shares = node.spec.shares;
    share_row.raw_usage = usage;
    share_row.order = id.value;
    share_rows.push_back(std::move(share_row));
  }
  must(share_rows.size() == out.size(), "each account is ranked");
  add_lending(s, out);
  const auto factors = fair_tree(share_rows);
  for (std::size_t i = 0; factors.ok() && i < out.size(); ++i) {
    out[i].fairshare = (*factors)[i].fairshare;
  }
  return out;
}

std::vector<NodeBill> bill(const State& s, TimeMs t) {
  std::map<NodeId, GpuTime> open;
  s.allocations().each_node([&](NodeId node, std::span<const state::PodPlace> pods) {
    for (const auto& [id, rank] : pods) {
      const state::Pod& pod = s.jobs().at(id).pods[rank];
      open[node] += GpuTime::of(pod.slot.milligpu, t - pod.since_ms);
    }
  });
  std::vector<NodeBill> out;
  for (const auto& [key, id] : s.nodes().all()) {
    NodeBill& bill = out.emplace_back();
    bill.node = id;
    bill.capacity = s.fleet().books(id, t);
    bill.charged = s.ledger().of_node(id) + open[id];
    must(s.fleet().node(id) != nullptr, "a bill is of a node of the fleet");
    bill.residual = bill.capacity.allocated - bill.charged;
    const GpuTime parts = bill.capacity.allocated + bill.capacity.idle + bill.capacity.stranded +
                          bill.capacity.unusable;
    const GpuTime whole = bill.capacity.installed + bill.capacity.overcommitted;
    if (parts != whole) bill.residual += whole - parts;
  }
  return out;
}

}  // namespace subak::derive
