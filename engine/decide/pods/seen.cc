// Decisions about reports on a whole cluster: its namespaces, and the time up to which its events
// are known.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/decide/said_time.h"

namespace subak::decide {

namespace {

// The account that names the namespace, else the account that its label names.
AccountId namespace_account(const State& s, ClusterId id, const std::string& ns) {
  const state::Cluster& cluster = s.clusters().at(id);
  if (const AccountId names = s.tree().names().find_namespace(cluster.name, ns)) return names;
  const NamespaceLabel* const label = cluster.labels->find(ns);
  const AccountId named = label == nullptr ? AccountId() : s.tree().find(label->account);
  return named && !s.tree().node(named).spec.user ? named : AccountId();
}

}  // namespace

AccountId account_of(const Decision& d, ClusterId cluster, const std::string& ns,
                     const std::string& said) {
  const AccountId of_ns = namespace_account(d.s, cluster, ns);
  if (!of_ns) return kUnassigned;
  must(!d.s.tree().node(of_ns).spec.user, "a namespace belongs to an account, not to a user");
  const AccountId named = said.empty() ? AccountId() : d.s.tree().find(said);
  const bool counts = named && !d.s.tree().node(named).spec.user;
  return counts && is_below(d.s.tree(), named, of_ns) ? named : of_ns;
}

void decide(Decision& d, const in::SeenUntil& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (cluster->owned || !cluster->synced) {
    return d.refuse(
        {ErrorCode::kPrecondition, "seen_until", i.cluster,
         cluster->owned ? "the cluster's nodes were imported; begin a list to replace them"
                        : "want it after list_complete: what a list names may be older"},
        i.cluster);
  }
  const TimeMs at = our_time(d, i.at_ms);
  if (at < cluster->seen_until_ms + limits::kSeenUntilEveryMs) return;
  d.emit(fact::ClusterSeen{cluster->id, cluster->uid, at});
  must(cluster->seen_until_ms == at, "the events of the cluster are known until then");
}

void decide(Decision& d, const in::NamespaceSeen& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (i.ns.empty()) {
    return d.refuse({ErrorCode::kInvalid, "ns", i.ns, "want the namespace's name"}, i.cluster);
  }
  if (cluster->owned) {
    return d.refuse({ErrorCode::kPrecondition, "namespace_seen", i.ns,
                     "the cluster's nodes were imported; begin a list to replace them"},
                    i.ns);
  }
  const NamespaceLabel* const label = cluster->labels->find(i.ns);
  if (label == nullptr && cluster->labels->size() >= limits::kMaxLabelledNamespaces &&
      !i.account.empty()) {
    return d.refuse({ErrorCode::kExhausted, "namespaces", i.ns,
                     "want at most " + std::to_string(limits::kMaxLabelledNamespaces) +
                         " namespaces of a cluster with the label; let accounts name them"},
                    i.ns);
  }
  d.tell(note::NamespaceListed{cluster->id, i.ns});
  if (i.account == (label == nullptr ? std::string() : label->account)) return;
  d.emit(fact::NamespaceLabelled{cluster->id, i.ns, i.account});
  must((cluster->labels->find(i.ns) == nullptr) == i.account.empty(), "the label is as reported");
  assign_jobs(d, cluster->id, i.ns);
}

void decide(Decision& d, const in::GangGone& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (i.owner.empty()) {
    return d.refuse({ErrorCode::kInvalid, "owner", i.owner, "want the owner's uid"}, i.cluster);
  }
  std::vector<JobId> over;
  for (const auto& [until, id] : d.s.jobs().times().deadlines()) {
    const state::Job& job = d.s.jobs().at(id);
    if (id.cluster() != cluster->id || job.state != JobState::kIncomplete) continue;
    const std::string owner = job.pod_origin ? job.pod_origin->owner : std::string();
    const bool its = owner == i.owner || owner.starts_with(i.owner + "+");
    if (its && job.pods_live() == 0) over.push_back(id);
  }
  for (const JobId id : over) {
    must(d.s.jobs().at(id).pods_live() == 0, "no pod of a gang that is gone is left");
    end_wait(d, d.s.jobs().at(id));
  }
}

// A namespace that the list has not named has no label, or is deleted.
void forget_namespaces(Decision& d, ClusterId id, const std::set<std::string>& listed) {
  for (const NamespaceLabel* label : d.s.clusters().at(id).labels->values()) {
    if (!listed.contains(label->ns)) d.emit(fact::NamespaceLabelled{id, label->ns, ""});
  }
}

}  // namespace subak::decide
