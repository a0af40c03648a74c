// Decisions about clusters, nodes, lists, policy and the fact version.
#include <algorithm>

#include "core/duration.h"
#include "core/limits.h"
#include "engine/impl.h"

namespace subak {
namespace {

bool is_cluster_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Error no_cluster(const std::string& name) {
  if (name.empty()) {
    return {ErrorCode::kInvalid, "cluster", "", "want a cluster name: there is not exactly one"};
  }
  return {ErrorCode::kNotFound, "cluster", name, "there is no such cluster"};
}

Error node_error(const NodeSpec& spec, std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, "node " + spec.name + ": " + std::move(field), std::move(got),
          std::move(want)};
}

}  // namespace

void Turn::on(const in::SetCluster& i) {
  if (!is_cluster_name(i.name)) {
    return refuse({ErrorCode::kInvalid, "cluster", i.name,
                   "want 1 to 63 characters of a-z, 0-9 and '-', no '-' at the ends"},
                  i.name);
  }
  const Cluster* old = s_.find_cluster(i.name);
  if (old == nullptr && i.must_exist) return refuse(no_cluster(i.name), i.name);
  if (old == nullptr && s_.clusters.size() >= limits::kMaxClusters) {
    return refuse({ErrorCode::kExhausted, "cluster", i.name,
                   "want at most " + std::to_string(limits::kMaxClusters) + " clusters"},
                  i.name);
  }
  std::vector<NamespaceMode> namespaces = i.namespaces;
  std::sort(namespaces.begin(), namespaces.end(),
            [](const auto& a, const auto& b) { return a.ns < b.ns; });
  if (old && old->mode == i.mode && old->namespaces == namespaces) return;
  const ClusterId id = old ? old->id : s_.next_cluster();
  if (!id) {
    return refuse({ErrorCode::kExhausted, "cluster", i.name,
                   "all " + std::to_string(UINT16_MAX) + " numbers of clusters are used"},
                  i.name);
  }
  if (i.validate_only) return;
  emit(fact::ClusterSet{id, i.name, i.mode, std::move(namespaces), stamp(i.reason)});
  adopt_running(s_.clusters.at(id));
  if (old == nullptr && !i.replaces.empty()) replace_unused(i.replaces, i.name);
}

// The cluster that a service without any begins with is in the way of one with a name: it goes,
// unless something was ever there.
void Turn::replace_unused(const std::string& name, const std::string& by) {
  const Cluster* unused = s_.find_cluster(name);
  if (unused == nullptr || s_.fact_version < 2 || unused->synced || unused->owned ||
      unused->next_job != 1 || !s_.fleet.nodes(unused->id).empty()) {
    return;
  }
  remove_cluster(unused->id, {input_.actor, "never used; " + by + " takes its place", ""});
}

void Turn::remove_cluster(ClusterId id, const EditStamp& edit) {
  for (NodeId node : s_.fleet.nodes(id)) remove_node(node);
  emit(fact::ClusterRemoved{id, edit});
}

void Turn::on(const in::DeleteCluster& i) {
  const Cluster* cluster = i.name.empty() ? nullptr : s_.find_cluster(i.name);
  if (cluster == nullptr) return refuse(no_cluster(i.name), i.name);
  if (s_.fact_version < 2) {
    return refuse({ErrorCode::kPrecondition, "store", std::to_string(s_.fact_version),
                   "want fact version 2: subak admin finalize"},
                  i.name);
  }
  std::size_t live = 0;
  JobId first;
  for (JobId id : s_.job_ids()) {
    if (id.cluster() != cluster->id || s_.find_job(id)->state == JobState::kDone) continue;
    if (live++ == 0) first = id;
  }
  if (live > 0) {
    return refuse({ErrorCode::kPrecondition, "cluster", i.name,
                   "want a cluster without jobs: it has " + std::to_string(live) +
                       ", the first is " + text::job_id_text(first)},
                  i.name);
  }
  if (!i.validate_only) remove_cluster(cluster->id, stamp(i.reason));
}

// What runs in namespaces that are now enforced becomes the running work of its account, untouched.
void Turn::adopt_running(const Cluster& cluster) {
  for (JobId id : s_.job_ids()) {
    const Job& job = *s_.find_job(id);
    if (id.cluster() != cluster.id || job.origin != JobOrigin::kForeign ||
        job.state != JobState::kRunning || job.leaf == kUnassigned) {
      continue;
    }
    if (cluster.mode_of(job.name.substr(0, job.name.find('/'))) != Mode::kEnforce) continue;
    for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
      if (job.pods[rank].is_bound()) charge(job, rank, s_.now, UsageState::kForeign, job.leaf);
    }
    fact::JobMoved moved;
    moved.id = id;
    moved.to = JobState::kRunning;
    moved.adopted = true;
    emit(std::move(moved));
  }
}

// Ranges are the table's (engine/bounds.h); here what depends on another field.
std::optional<Error> Turn::check_node(const NodeSpec& spec) {
  if (spec.name.empty()) return node_error(spec, "name", "", "is required");
  if (spec.gpus > 0 && spec.product.empty()) {
    return node_error(spec, "product", "", "want the GPU product of a node with GPUs");
  }
  if (spec.mig_gpus > spec.gpus) {
    return node_error(spec, "mig_gpus", std::to_string(spec.mig_gpus), "want 0 to gpus");
  }
  if (spec.unhealthy_gpus > spec.gpus) {
    return node_error(spec, "unhealthy_gpus", std::to_string(spec.unhealthy_gpus),
                      "want 0 to gpus");
  }
  return std::nullopt;
}

// What only the whole fleet can tell: how many nodes, ids and products there would be.
std::optional<Error> Turn::check_room(const Cluster& cluster,
                                      std::span<const NodeSpec> specs) const {
  std::size_t fresh = 0;
  std::set<std::string_view> products;
  for (const NodeSpec& spec : specs) {
    fresh += s_.find_node(cluster.id, spec.name) ? 0 : 1;
    products.insert(spec.product);
  }
  const auto exhausted = [&](std::size_t most, const char* what) {
    return Error{ErrorCode::kExhausted, "nodes", std::to_string(fresh) + " new",
                 "want at most " + std::to_string(most) + what};
  };
  if (fresh > 0 && s_.node_ids.size() + fresh > limits::kMaxNodes) {
    return exhausted(limits::kMaxNodes, " nodes in all");
  }
  if (fresh > 0 && s_.last_node.value + fresh > limits::kMaxNodeIds) {
    return exhausted(limits::kMaxNodeIds, " nodes that were ever seen");
  }
  return s_.check_products(products);
}

void Turn::set_node(Cluster& cluster, const NodeSpec& spec, const EditStamp& edit) {
  NodeId id = s_.find_node(cluster.id, spec.name);
  const NodeSpec* old = id ? s_.fleet.node(id) : nullptr;
  if (old != nullptr && *old == spec) return;
  const bool drained = id && s_.fleet.drained(id);
  if (!id) id = NodeId(s_.last_node.value + 1);
  emit(fact::NodeSet{id, cluster.id, spec, drained, edit});
}

// Pods that hold something there lost it; then the node itself goes, with its closing bill.
void Turn::remove_node(NodeId id) {
  const auto held = s_.on_node.find(id);
  if (held != s_.on_node.end()) {
    const std::set<std::pair<JobId, std::uint32_t>> pods = held->second;
    for (const auto& [job_id, rank] : pods) {
      const Job& job = *s_.find_job(job_id);
      if (!job.pods[rank].holds_slot()) continue;  // given back together with its gang
      if (job.state == JobState::kReserved && !job.from_pods() && !job.cancelling &&
          std::none_of(job.pods.begin(), job.pods.end(),
                       [](const Pod& p) { return p.is_bound() || p.state == PodState::kGone; })) {
        for (std::uint32_t r = 0; r < job.pods.size(); ++r) {
          charge(job, r, s_.now, UsageState::kHeldUnbound, kPlatform);
        }
        emit(fact::HoldReleased{job_id, job.attempt, "node_gone"});
      } else if (job.from_pods() && job.pods[rank].state == PodState::kHeld) {
        release_lost(job, id);
      } else {
        end_pod(job_id, rank, s_.now, Outcome::kLost);
      }
    }
  }
  emit(s_.billed(id, s_.now));
  emit(fact::NodeRemoved{id});
}

// Pods on their way to a node that is gone give back what they held there and stay known: they
// still are in the cluster, and once their gates are open nothing sends them elsewhere. They are
// evicted if something makes them anew; else they wait for a person.
void Turn::release_lost(const Job& job, NodeId node) {
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    const Pod& pod = job.pods[rank];
    if (pod.state != PodState::kHeld || pod.slot.node != node) continue;
    charge(job, rank, s_.now, UsageState::kHeldUnbound, kPlatform);
    fact::PodAdded again;
    again.job = job.id;
    again.rank = rank;
    again.uid = pod.uid;
    again.name = pod.name;
    again.shape = s_.pod_shape(pod);
    again.controlled = pod.controlled;
    emit(fact::PodGone{job.id, rank, s_.now, Outcome::kNone});
    emit(std::move(again));
  }
  if (job.cancelling) return;
  fact::JobMoved moved;
  moved.id = job.id;
  moved.from = moved.to = job.state;
  moved.edit = {"", "node_gone", ""};
  if (may_evict(job)) {
    moved.outcome = Outcome::kEvicted;
    moved.cancelling = true;
    emit(std::move(moved));
    if (const auto effect = s_.effect_of(job)) out_.effects.push_back(*effect);
  } else if (job.pods_holding() == 0) {
    for (const JobState to : {JobState::kQueued, JobState::kHeld}) {
      moved.from = job.state;
      moved.to = to;
      emit(moved);
    }
  }
}

void Turn::on(const in::ImportNodes& i) {
  Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) return refuse(no_cluster(i.cluster), i.cluster);
  std::set<std::string> names;
  for (const NodeSpec& spec : i.nodes) {
    if (auto error = check_node(spec)) return refuse(*error, i.cluster);
    if (!names.insert(spec.name).second) {
      return refuse(node_error(spec, "name", spec.name, "is there twice"), i.cluster);
    }
  }
  if (auto error = check_room(*cluster, i.nodes)) return refuse(*error, i.cluster);
  if (i.validate_only) return;
  emit(fact::ClusterSet{cluster->id, cluster->name, cluster->mode, cluster->namespaces,
                        stamp(i.reason.empty() ? "import of nodes" : i.reason)});
  for (const NodeSpec& spec : i.nodes) set_node(*cluster, spec, {});
  for (NodeId id : s_.fleet.nodes(cluster->id)) {
    if (names.count(s_.fleet.node(id)->name) == 0) remove_node(id);
  }
  if (!cluster->synced || !cluster->owned) emit(fact::ClusterSynced{cluster->id, true, true});
}

void Turn::on(const in::DrainNode& i) {
  const Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) return refuse(no_cluster(i.cluster), i.cluster);
  const NodeId id = s_.find_node(cluster->id, i.node);
  if (!id) {
    return refuse({ErrorCode::kNotFound, "node", i.node, "there is no such node in the cluster"},
                  i.node);
  }
  if (s_.fleet.drained(id) == i.drained) return;
  emit(fact::NodeSet{id, cluster->id, *s_.fleet.node(id), i.drained, stamp(i.reason)});
}

void Turn::on(const in::SetPolicy& i) {
  const Policy& p = i.policy;
  auto bad = [&](const char* field, DurationMs got, const char* want) {
    refuse({ErrorCode::kInvalid, field, std::to_string(got) + "ms", want}, "policy");
  };
  if (p == s_.policy) return;
  if (p.half_life_ms < 0 || (p.half_life_ms > 0 && p.half_life_ms < kMinuteMs)) {
    return bad("half_life", p.half_life_ms, "want at least 1m, or 0 for no decay");
  }
  if (p.hold_ms < kSecondMs) return bad("hold", p.hold_ms, "want at least 1s");
  if (p.patience_ms < 0) return bad("patience", p.patience_ms, "want >= 0; 0 = never");
  if (p.tick_ms < kSecondMs) return bad("tick", p.tick_ms, "want at least 1s");
  const AccountNode& root = s_.tree.node(kRootAccount);
  if (p.half_life_ms != s_.policy.half_life_ms &&
      (root.alloc() != 0 || s_.tree.usage_undecayed(kRootAccount, s_.now) != GpuTime())) {
    return refuse({ErrorCode::kPrecondition, "half_life", std::to_string(p.half_life_ms) + "ms",
                   "it cannot change once there is usage (" +
                       std::to_string(s_.policy.half_life_ms) + "ms is in force)"},
                  "policy");
  }
  if (p.order == OrderPolicy::kUsageTick && root.alloc() != 0) {
    return refuse({ErrorCode::kPrecondition, "order", "usage-tick",
                   "this baseline counts from an empty fleet: set it before anything runs"},
                  "policy");
  }
  emit(fact::PolicySet{p, stamp("")});
}

void Turn::on(const in::Finalize& i) {
  if (i.version < s_.fact_version || i.version > kFactVersion) {
    return refuse({ErrorCode::kInvalid, "version", std::to_string(i.version),
                   "want " + std::to_string(s_.fact_version) + " (in force) to " +
                       std::to_string(kFactVersion) + " (the newest that this program knows)"},
                  "store");
  }
  out_.reply.revision = i.version;
  if (i.version == s_.fact_version || i.validate_only) return;
  emit(fact::Finalized{i.version, stamp(i.reason)});
}

void Turn::on(const in::AcceptClock& i) {
  constexpr std::uint32_t kFirstVersion = 2;  // that has clock_accepted
  constexpr char kSubject[] = "clock";
  if (i.believed) {
    return refuse({ErrorCode::kPrecondition, "clock", format_time(i.wall_ms),
                   "it is believed: there is nothing to accept"},
                  kSubject);
  }
  if (s_.fact_version < kFirstVersion) {
    return refuse({ErrorCode::kPrecondition, "fact_version", std::to_string(s_.fact_version),
                   "want 2 to note it: finalize first"},
                  kSubject);
  }
  out_.reply.revision = i.wall_ms;
  if (!i.validate_only) emit(fact::ClockAccepted{s_.now, i.wall_ms, stamp(i.reason)});
}

void Turn::on(const in::ListBegin& i) {
  const Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) return refuse(no_cluster(i.cluster), i.cluster);
  s_.lists[cluster->id] = ListMarks();
  if (cluster->synced || cluster->owned) emit(fact::ClusterSynced{cluster->id, false, false});
}

void Turn::on(const in::ListComplete& i) {
  const Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) return refuse(no_cluster(i.cluster), i.cluster);
  const auto list = s_.lists.find(cluster->id);
  if (list == s_.lists.end()) {
    return refuse({ErrorCode::kPrecondition, "list_complete", i.cluster, "no list was begun"},
                  i.cluster);
  }
  const ListMarks marks = std::move(list->second);
  s_.lists.erase(list);
  for (JobId id : s_.job_ids()) {
    if (id.cluster() != cluster->id) continue;
    const std::size_t pods = s_.find_job(id)->pods.size();
    for (std::uint32_t rank = 0; rank < pods; ++rank) {
      const Job* job = s_.find_job(id);
      if (job == nullptr || job->state == JobState::kDone) break;
      const Pod& pod = job->pods[rank];
      const bool known_outside = !pod.uid.empty() || pod.is_bound();
      if (pod.state == PodState::kGone || !known_outside || marks.pods.count({id, rank}) > 0)
        continue;
      end_pod(id, rank, s_.now, Outcome::kLost);
    }
  }
  for (NodeId id : s_.fleet.nodes(cluster->id)) {
    if (marks.nodes.count(id) == 0) remove_node(id);
  }
  emit(fact::ClusterSynced{cluster->id, true, false});
}

void Turn::on(const in::NodeSeen& i) {
  Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) return refuse(no_cluster(i.cluster), i.cluster);
  if (auto error = check_node(i.node)) return refuse(*error, i.node.name);
  if (cluster->owned) {
    return refuse({ErrorCode::kPrecondition, "node_seen", i.node.name,
                   "the cluster's nodes were imported; begin a list to replace them"},
                  i.node.name);
  }
  if (auto error = check_room(*cluster, {&i.node, 1})) return refuse(*error, i.node.name);
  set_node(*cluster, i.node, {});
  const auto list = s_.lists.find(cluster->id);
  if (list != s_.lists.end()) list->second.nodes.insert(s_.find_node(cluster->id, i.node.name));
}

void Turn::on(const in::NodeGone& i) {
  const Cluster* cluster = s_.find_cluster(i.cluster);
  if (cluster == nullptr) return refuse(no_cluster(i.cluster), i.cluster);
  if (cluster->owned) {
    return refuse(
        {ErrorCode::kPrecondition, "node_gone", i.node, "the cluster's nodes were imported"},
        i.node);
  }
  if (const NodeId id = s_.find_node(cluster->id, i.node)) remove_node(id);
}

}  // namespace subak
