// Decisions about clusters: name, enforce, delete.
#include <algorithm>

#include "core/limits.h"
#include "core/must.h"
#include "core/text.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

bool is_cluster_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

void remove_cluster(Decision& d, ClusterId id, const EditStamp& edit) {
  for (NodeId node : d.s.fleet().nodes(id)) remove_node(d, node, d.s.now());
  must(d.s.fleet().nodes(id).empty(), "a cluster that is removed has no nodes left");
  d.emit(fact::ClusterRemoved{id, edit});
}

// Removes the cluster that a new service starts with when another one is created. A cluster that
// ever had a list, a node or a job stays.
void replace_unused(Decision& d, const std::string& name, const std::string& by) {
  const state::Cluster* unused = d.s.clusters().find(name);
  if (unused == nullptr || unused->synced || unused->owned || unused->next_job != 1 ||
      !d.s.fleet().nodes(unused->id).empty()) {
    return;
  }
  remove_cluster(d, unused->id, {d.input.actor, "never used; " + by + " takes its place", ""});
  must(d.s.clusters().find(name) == nullptr, "a cluster that was replaced is gone");
}

// Adopts the running pods of namespaces that are enforced now: they become jobs of their accounts,
// and continue to run.
void adopt_running(Decision& d, const state::Cluster& cluster) {
  for (JobId id : d.s.jobs().table().ids()) {
    const state::Job& job = *d.s.jobs().find(id);
    if (id.cluster() != cluster.id || job.origin != JobOrigin::kForeign ||
        job.state != JobState::kRunning || job.leaf == kUnassigned) {
      continue;
    }
    if (cluster.mode_of(job.name.substr(0, job.name.find('/'))) != Mode::kEnforce) continue;
    for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
      if (job.pods[rank].is_bound())
        charge(d, job, rank, d.s.now(), UsageState::kForeign, job.leaf);
    }
    d.emit(fact::JobAdopted{id});
    must(job.origin == JobOrigin::kAdopted, "an adopted job is its account's");
  }
}

}  // namespace

Error no_cluster(const std::string& name) {
  if (name.empty()) {
    return {ErrorCode::kInvalid, "cluster", "", "want a cluster name: there is not exactly one"};
  }
  return {ErrorCode::kNotFound, "cluster", name, "there is no such cluster"};
}

namespace {

// The namespaces with a mode of their own after the edit, by name. `old` may be null.
std::vector<NamespaceMode> modes_after(const in::SetCluster& i, const state::Cluster* old) {
  std::vector<NamespaceMode> modes;
  if (i.merge && old != nullptr) modes = old->namespaces;
  std::erase_if(modes, [&](const NamespaceMode& m) {
    return std::any_of(i.namespaces.begin(), i.namespaces.end(),
                       [&](const NamespaceMode& now) { return now.ns == m.ns; });
  });
  modes.insert(modes.end(), i.namespaces.begin(), i.namespaces.end());
  std::erase_if(modes, [&](const NamespaceMode& m) {
    return std::find(i.as_cluster.begin(), i.as_cluster.end(), m.ns) != i.as_cluster.end();
  });
  std::sort(modes.begin(), modes.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
  return modes;
}

}  // namespace

void decide(Decision& d, const in::SetCluster& i) {
  if (!is_cluster_name(i.name)) {
    return d.refuse({ErrorCode::kInvalid, "cluster", i.name,
                     "want 1 to 63 characters of a-z, 0-9 and '-', no '-' at the ends"},
                    i.name);
  }
  const state::Cluster* old = d.s.clusters().find(i.name);
  if (old == nullptr && i.must_exist) return d.refuse(no_cluster(i.name), i.name);
  if (old == nullptr && d.s.clusters().all().size() >= limits::kMaxClusters) {
    return d.refuse({ErrorCode::kExhausted, "cluster", i.name,
                     "want at most " + std::to_string(limits::kMaxClusters) + " clusters"},
                    i.name);
  }
  std::vector<NamespaceMode> namespaces = modes_after(i, old);
  if (namespaces.size() > limits::kMaxNamespaceModes) {
    return d.refuse({ErrorCode::kExhausted, "namespaces", std::to_string(namespaces.size()),
                     "want at most " + std::to_string(limits::kMaxNamespaceModes) +
                         " namespaces with a mode of their own"},
                    i.name);
  }
  const Mode mode = i.merge && i.same_mode && old != nullptr ? old->mode : i.mode;
  d.out.reply.modes = ClusterModes{mode, namespaces};
  if (old && old->mode == mode && old->namespaces == namespaces) return;
  const ClusterId id = old ? old->id : d.s.clusters().next_id();
  if (!id) {
    return d.refuse({ErrorCode::kExhausted, "cluster", i.name,
                     "all " + std::to_string(UINT16_MAX) + " numbers of clusters are used"},
                    i.name);
  }
  if (i.validate_only) return;
  d.emit(fact::ClusterSet{id, i.name, mode, std::move(namespaces), d.stamp(i.reason)});
  must(d.s.clusters().find(i.name) == &d.s.clusters().at(id), "a cluster is found by its name");
  adopt_running(d, d.s.clusters().at(id));
  if (old == nullptr && !i.replaces.empty()) replace_unused(d, i.replaces, i.name);
}

void decide(Decision& d, const in::DeleteCluster& i) {
  const state::Cluster* cluster = i.name.empty() ? nullptr : d.s.clusters().find(i.name);
  if (cluster == nullptr) return d.refuse(no_cluster(i.name), i.name);
  std::size_t live = 0;
  JobId first;
  for (JobId id : d.s.jobs().table().ids()) {
    if (id.cluster() != cluster->id || d.s.jobs().find(id)->state == JobState::kDone) continue;
    if (live++ == 0) first = id;
  }
  if (live > 0) {
    return d.refuse({ErrorCode::kPrecondition, "cluster", i.name,
                     "want a cluster without jobs: it has " + std::to_string(live) +
                         ", the first is " + text::job_id_text(first)},
                    i.name);
  }
  if (i.validate_only) return;
  remove_cluster(d, cluster->id, d.stamp(i.reason));
  must(d.s.clusters().find(i.name) == nullptr, "a deleted cluster is gone");
}

}  // namespace subak::decide
