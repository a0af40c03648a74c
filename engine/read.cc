// Reads for the follower: rows of jobs and accounts, and the View.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "accounting/fairtree.h"
#include "engine/impl.h"

namespace subak {
namespace {

constexpr double kRawPerGpuSecond = static_cast<double>(GpuTime::kRawPerGpuSecond);

}  // namespace

ClusterId Engine::find_cluster(std::string_view name) const {
  const Cluster* c = std::as_const(*impl_).find_cluster(name);
  return c == nullptr ? ClusterId() : c->id;
}

std::string Engine::cluster_name(ClusterId id) const {
  const auto it = impl_->clusters.find(id);
  return it == impl_->clusters.end() ? std::string() : it->second.name;
}

const Policy& Engine::policy() const { return impl_->policy; }
const AccountTree& Engine::accounts() const { return impl_->tree; }
const Fleet& Engine::fleet() const { return impl_->fleet; }
const Ledger& Engine::ledger() const { return impl_->ledger; }

std::vector<NodeId> Engine::nodes(ClusterId cluster) const { return impl_->fleet.nodes(cluster); }

std::size_t Engine::count(JobState state) const {
  return impl_->counts[static_cast<std::size_t>(state)];
}

std::string_view Engine::Impl::user_of(const Job& job) const {
  if (job.leaf == kUnassigned || !tree.node(job.leaf).spec.user) return {};
  const std::string_view path = tree.node(job.leaf).spec.path;
  return path.substr(path.rfind('/') + 1);
}

std::vector<OpenUsage> Engine::open_usage() const {
  const Impl& s = *impl_;
  std::vector<OpenUsage> out;
  for (const auto& [node, pods] : s.on_node) {
    for (const auto& [id, rank] : pods) {
      const Job& job = *s.find_job(id);
      const Pod& pod = job.pods[rank];
      if (pod.slot.milligpu == 0) continue;
      const UsageState bound =
          job.origin == JobOrigin::kForeign ? UsageState::kForeign : UsageState::kUsed;
      out.push_back({job.leaf, pod.is_bound() ? bound : UsageState::kHeld, s.product_of(pod.slot),
                     pod.since_ms, pod.slot.milligpu});
    }
  }
  return out;
}

JobRow Engine::Impl::row(const Job& job, bool with_pods) const {
  JobRow row;
  row.id = job.id;
  row.name = job.name;
  row.cluster = name_of(job.id.cluster());
  if (job.leaf != kUnassigned) {
    const AccountSpec& spec = tree.node(job.leaf).spec;
    const auto slash = spec.user ? spec.path.rfind('/') : std::string::npos;
    row.account = spec.path.substr(0, slash);
    if (slash != std::string::npos) row.user = spec.path.substr(slash + 1);
  }
  row.state = job.state;
  row.origin = job.origin;
  row.outcome = job.outcome;
  row.request = request_of(job);
  row.gang_size = job.gang_size;
  row.priority = job.priority;
  row.time_limit_ms = job.time_limit_ms;
  row.submit_ms = job.submit_ms;
  row.started_ms = job.started_ms;
  row.ended_ms = job.ended_ms;
  row.until_ms = job.until_ms;
  row.attempt = job.attempt;
  row.cancelling = job.cancelling;
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    const Pod& pod = job.pods[rank];
    if (pod.holds_slot()) {
      row.milligpu += pod.slot.milligpu;
      row.nodes.push_back(pod.slot.node);
    }
    if (with_pods) row.pods.push_back({rank, pod.uid, pod.name, pod.state, pod.slot, pod.since_ms});
  }
  std::sort(row.nodes.begin(), row.nodes.end());
  row.nodes.erase(std::unique(row.nodes.begin(), row.nodes.end()), row.nodes.end());
  if (job.pods_holding() == 0) row.milligpu = least_milligpu(job);
  return row;
}

std::optional<JobRow> Engine::job(JobId id, bool with_pods) const {
  const Job* job = std::as_const(*impl_).find_job(id);
  if (job == nullptr) return std::nullopt;
  return impl_->row(*job, with_pods);
}

std::vector<JobRow> Engine::jobs(JobId after, std::size_t most, std::optional<JobState> state,
                                 std::string_view account, std::string_view user) const {
  std::vector<JobRow> out;
  const Impl& s = *impl_;
  const std::vector<JobId>& ids = s.ids.ascending();
  for (auto it = std::upper_bound(ids.begin(), ids.end(), after); it != ids.end(); ++it) {
    if (out.size() == most) break;
    const Job* found = s.find_job(*it);
    if (found == nullptr) continue;
    const Job& job = *found;
    if (state && job.state != *state) continue;
    if (!account.empty() && (job.leaf == kUnassigned ||
                             !AccountsView::is_within(s.tree.node(job.leaf).spec.path, account))) {
      continue;
    }
    if (!user.empty() && s.user_of(job) != user) continue;
    out.push_back(s.row(job, false));
  }
  return out;
}

std::vector<JobId> Engine::queue_order(std::size_t most) const {
  const Impl& s = *impl_;
  return s.ready.order(s.tree, s.policy.order, TargetShareRule(), s.tick.get(), s.now, most);
}

std::vector<JobRow> Engine::queue(std::size_t most) const {
  std::vector<JobRow> out;
  for (JobId id : queue_order(most)) out.push_back(impl_->row(*impl_->find_job(id), false));
  return out;
}

bool Engine::is_queued_below(JobId id, std::string_view account) const {
  const Impl& s = *impl_;
  const Job* job = s.find_job(id);
  if (job == nullptr || job->state != JobState::kQueued) return false;
  return account.empty() || AccountsView::is_within(s.tree.node(job->leaf).spec.path, account);
}

std::vector<AccountRow> Engine::account_rows(TimeMs t) const {
  const Impl& s = *impl_;
  const std::vector<AccountId> ids = s.tree.preorder();
  std::map<AccountId, std::int64_t> child_shares;
  for (AccountId id : ids) {
    if (id != kRootAccount) child_shares[s.tree.node(id).parent] += s.tree.node(id).spec.shares;
  }
  std::vector<ShareRow> share_rows;
  std::vector<AccountRow> out;
  std::map<AccountId, double> whole_share{{kRootAccount, 1.0}};
  const double root_usage = s.tree.usage(kRootAccount, t);
  for (AccountId id : ids) {
    const AccountNode& node = s.tree.node(id);
    const double usage = s.tree.usage(id, t);
    const double parent_usage = id == kRootAccount ? usage : s.tree.usage(node.parent, t);
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
    row.usage_gpu_seconds = usage / kRawPerGpuSecond;
    row.effective_usage = parent_usage > 0 ? usage / parent_usage : 0;
    row.level_fs = row.norm_shares == 0      ? 0
                   : row.effective_usage > 0 ? row.norm_shares / row.effective_usage
                                             : std::numeric_limits<double>::infinity();
    if (id != kRootAccount) whole_share[id] = whole_share[node.parent] * row.norm_shares;
    const double share = whole_share[id];
    row.share_factor =
        share > 0 ? std::exp2(-(root_usage > 0 ? usage / root_usage : 0) / share) : 0;
    row.surplus_gpu_seconds = s.tree.surplus(id, t) / kRawPerGpuSecond;
    row.usage_total = s.tree.usage_undecayed(id, t);
    row.held = node.held;
    row.running = node.running;
    row.quota = node.quota_total;
    row.queued = s.ready.queued_milligpu(id);
    row.jobs_queued = s.ready.queued_jobs(id);
    out.push_back(std::move(row));
    ShareRow share_row;  // Fair Tree ranks leaves: users, and accounts without any
    const bool leaf = node.children.empty() && id != kRootAccount;
    share_row.account = leaf ? s.tree.node(node.parent).spec.path : node.spec.path;
    share_row.user = leaf ? node.spec.path : "";
    share_row.parent = id == kRootAccount ? "" : s.tree.node(node.parent).spec.path;
    if (share_row.account.empty()) share_row.account = "root";
    if (share_row.parent.empty() && id != kRootAccount) share_row.parent = "root";
    share_row.shares = node.spec.shares;
    share_row.raw_usage = usage;
    share_row.order = id.value;
    share_rows.push_back(std::move(share_row));
  }
  const auto factors = fair_tree(share_rows);
  for (std::size_t i = 0; factors.ok() && i < out.size(); ++i) {
    out[i].fairshare = (*factors)[i].fairshare;
  }
  return out;
}

std::shared_ptr<const View> Engine::view() const {
  const Impl& s = *impl_;
  auto view = std::make_shared<View>();
  view->seq = s.seq;
  view->time_ms = s.now;
  view->policy = s.policy;
  view->fact_version = s.fact_version;
  view->accounts = s.view_of_accounts();
  view->clusters = s.view_of_clusters();
  view->jobs_queued = count(JobState::kQueued);
  view->jobs_held = count(JobState::kHeld) + count(JobState::kIncomplete);
  view->jobs_reserved = count(JobState::kReserved);
  view->jobs_running = count(JobState::kRunning);
  view->ledger_rows = s.ledger.rows();
  return view;
}

std::shared_ptr<const std::vector<ClusterView>> Engine::Impl::view_of_clusters() const {
  if (mig_view_version != nodes_version) {
    mig_view.clear();
    for (const auto& [id, c] : clusters) {
      for (const MigRow& row : fleet.mig(id)) mig_view[id][row.profile] += row.configured;
    }
    mig_view_version = nodes_version;
  }
  auto out = std::make_shared<std::vector<ClusterView>>();
  const std::vector<ProductTotals> totals = fleet.totals();
  for (const auto& [id, c] : clusters) {
    ClusterView& view = out->emplace_back();
    view.id = id;
    view.name = c.name;
    view.mode = c.mode;
    view.namespaces = c.namespaces;
    view.synced = c.synced;
    view.owned = c.owned;
    for (const ProductTotals& p : totals) {
      if (p.cluster != id) continue;
      view.products.push_back(p);
      const std::int64_t gpus = fleet.largest_node_gpus(id, p.product);
      view.product_node_gpus.push_back(gpus);
      view.largest_node_gpus = std::max(view.largest_node_gpus, gpus);
    }
    const auto mig = mig_view.find(id);
    if (mig != mig_view.end()) view.mig_slices.assign(mig->second.begin(), mig->second.end());
  }
  return out;
}

// Made anew only after an edit of the tree; shared by all views until the next.
std::shared_ptr<const AccountsView> Engine::Impl::view_of_accounts() const {
  if (accounts_view && accounts_view_version == tree.structure_version()) return accounts_view;
  auto out = std::make_shared<AccountsView>();
  for (AccountId id : tree.preorder()) {
    const AccountNode& node = tree.node(id);
    if (node.spec.user) continue;
    const std::size_t index = out->rows.size();
    out->rows.push_back({id, node.spec, node.revision});
    out->by_path[node.spec.path] = index;
    for (const std::string& ns : node.spec.namespaces) out->by_namespace[ns] = index;
  }
  accounts_view = out;
  accounts_view_version = tree.structure_version();
  return out;
}

}  // namespace subak
