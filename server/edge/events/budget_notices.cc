#include "server/edge/events/budget_notices.h"

#include <set>
#include <utility>

#include "core/account_path.h"
#include "core/duration.h"
#include "core/edge_limits.h"

namespace subak {
namespace {

// Returns the namespace if the name of an account's list counts in this cluster; else "". `name`:
// "ns" or "cluster/ns".
std::string namespace_in(const std::string& name, const std::string& cluster) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return name;
  return name.compare(0, slash, cluster) == 0 ? name.substr(slash + 1) : "";
}

void add_named(const Engine& engine, const View& view, const ClusterView& cluster,
               const std::string& account, std::set<std::string>* out) {
  const auto add = [&](const std::string& ns) {
    if (ns.empty()) return;
    const AccountsView::Row* const owner = view.account_of(cluster, ns);
    if (owner != nullptr && is_path_within(owner->spec.path, account)) out->insert(ns);
  };
  const AccountTree& tree = engine.accounts();
  for (const AccountId id : tree.preorder()) {
    const AccountSpec& spec = tree.node(id).spec;
    if (!is_path_within(spec.path, account)) continue;
    for (const std::string& name : spec.namespaces) add(namespace_in(name, cluster.name));
  }
  for (const NamespaceLabel* const label : cluster.labels->values()) add(label->ns);
}

// Adds the namespaces in which pods hold GPUs that the account pays.
void add_used(const Engine& engine, ClusterId cluster, const std::string& account,
              std::set<std::string>* out) {
  const AccountTree& tree = engine.accounts();
  for (const OpenUsage& usage : engine.open_usage()) {
    if (usage.job.cluster() != cluster || !tree.exists(usage.payer)) continue;
    if (!is_path_within(tree.node(usage.payer).spec.path, account)) continue;
    const std::size_t slash = usage.pod.find('/');
    if (slash != std::string::npos) out->insert(usage.pod.substr(0, slash));
  }
}

std::string note_of(const BudgetNotice& notice) {
  std::string note = "account " + (notice.account.empty() ? "(root)" : notice.account) +
                     " has spent " + std::to_string(notice.percent) + " % of its budget " +
                     notice.budget + " at " + format_time(notice.at_ms);
  note += "; \"subak budget list " + notice.account + "\" shows what is left and until when";
  return note;
}

}  // namespace

std::vector<std::string> budget_namespaces(const Engine& engine, const std::string& cluster,
                                           const std::string& account) {
  const std::shared_ptr<const View> view = engine.view();
  const ClusterView* const known = view->cluster(cluster);
  if (known == nullptr) return {};
  std::set<std::string> found;
  add_named(engine, *view, *known, account, &found);
  if (found.empty()) add_used(engine, known->id, account, &found);
  std::vector<std::string> out;
  for (const std::string& ns : found) {
    if (known->mode_of(ns) != Mode::kEnforce) continue;
    if (out.size() == limits::kMaxBudgetNamespaces) break;
    out.push_back(ns);
  }
  return out;
}

BudgetNotices::BudgetNotices(std::string cluster, EventRecorder& recorder, Read read, Put put)
    : cluster_(std::move(cluster)),
      recorder_(recorder),
      read_(std::move(read)),
      put_(std::move(put)) {}

void BudgetNotices::tell(BudgetNotice notice) {
  // The follower may be about to answer about the first one.
  if (waiting_.size() >= limits::kMaxBudgetNotices) waiting_.erase(waiting_.begin() + 1);
  waiting_.push_back(std::move(notice));
  turn();
}

void BudgetNotices::turn() {
  if (asking_ || waiting_.empty()) return;
  asking_ = read_([this, put = put_, cluster = cluster_,
                   account = waiting_.front().account](const Engine& engine) {
    put([this, namespaces = budget_namespaces(engine, cluster, account)] {
      asking_ = false;
      record(waiting_.front(), namespaces);
      waiting_.pop_front();
    });
  });
}

void BudgetNotices::record(const BudgetNotice& notice, const std::vector<std::string>& namespaces) {
  const char* const reason = notice.percent >= 100 ? "BudgetSpent" : "BudgetNearlySpent";
  for (const std::string& ns : namespaces) {
    recorder_.tell({"v1", "Namespace", ns, ns, "", reason, "Count", note_of(notice), true});
  }
}

}  // namespace subak
