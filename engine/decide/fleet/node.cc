// Decisions about nodes, and about the lists of an edge.
#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/names.h"
#include "engine/decide/claims.h"
#include "engine/decide/decide.h"
#include "engine/decide/said_time.h"
#include "engine/state/snapshot.h"
#include "placement/fleet/queries.h"
#include "placement/gpus/mig_cut.h"
#include "placement/search/pod_room.h"

namespace subak::decide {
namespace {

Error node_error(const NodeSpec& spec, std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, "node " + spec.name + ": " + std::move(field), std::move(got),
          std::move(want)};
}

// Checks the rules that depend on several fields. The table of model/bounds/ has the range of each
// field.
std::optional<Error> check_node(const NodeSpec& spec) {
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
  if (spec.contradicts && spec.unfit.empty()) {
    return node_error(spec, "unfit", "", "want what contradicts what, where contradicts is set");
  }
  if (spec.gpus_unknown && spec.unfit.empty()) {
    return node_error(spec, "unfit", "", "want why, where gpus_unknown is set");
  }
  if (mig_cut(spec.product, spec.mig, spec.mig_gpus) == MigCut::kTooMany) {
    return node_error(
        spec, "mig", mig_slices_text(spec.mig),
        "want what can be cut from its cards (" + std::to_string(spec.mig_gpus) + ", by mig_gpus)");
  }
  return std::nullopt;
}

// Checks the limits of the whole fleet: the numbers of nodes, ids and products after the change.
std::optional<Error> check_room(Decision& d, const state::Cluster& cluster,
                                std::span<const NodeSpec> specs) {
  std::size_t fresh = 0;
  std::set<std::string_view> products;
  for (const NodeSpec& spec : specs) {
    fresh += d.s.nodes().find(cluster.id, spec.name) ? 0 : 1;
    products.insert(spec.product);
  }
  const auto exhausted = [&](std::size_t most, const char* what) {
    return Error{ErrorCode::kExhausted, "nodes", std::to_string(fresh) + " new",
                 "want at most " + std::to_string(most) + what};
  };
  if (fresh > 0 && d.s.nodes().size() + fresh > limits::kMaxNodes) {
    return exhausted(limits::kMaxNodes, " nodes in all");
  }
  if (fresh > 0 && d.s.nodes().last().value + fresh > limits::kMaxNodeIds) {
    return exhausted(limits::kMaxNodeIds, " nodes that were ever seen");
  }
  return check_products(d.s.fleet(), products);
}

// A missing clique label does not mean missing links: DRA drivers remove the label while they
// restart. So the node stays in its clique for limits::kCliqueKeptMs. After that, the clique is
// recorded as the node's former clique.
void keep_clique(NodeSpec& spec, const NodeSpec* old, TimeMs now) {
  spec.former_clique.clear();
  spec.clique_lost_ms = 0;
  if (!spec.clique.empty() || old == nullptr) return;
  if (old->clique.empty()) {
    spec.former_clique = old->former_clique;
    return;
  }
  const TimeMs lost_ms = old->clique_lost_ms != 0 ? old->clique_lost_ms : std::max<TimeMs>(now, 1);
  must(lost_ms <= std::max<TimeMs>(now, 1), "a clique was lost by now");
  if (now < lost_ms + limits::kCliqueKeptMs) {
    spec.clique = old->clique;
    spec.clique_lost_ms = lost_ms;
  } else {
    spec.former_clique = old->clique;
  }
  must(spec.clique.empty() != spec.former_clique.empty(), "a node is in its clique or has left it");
}

// While the device plugin does not run, the kubelet reports no GPUs, although pods on the GPUs run.
// So a node whose report states no GPUs has its former GPUs for limits::kGpusUnknownMs. After that,
// it is a node without GPUs, which is fit for non-GPU pods.
void take_former_gpus(NodeSpec& spec, const NodeSpec* old, TimeMs now) {
  spec.gpus_unknown_ms = 0;
  spec.former_gpus = false;
  if (!spec.gpus_unknown) return;
  const bool is_new = old != nullptr && old->gpus > 0 && !old->gpus_unknown;
  const TimeMs since_ms = is_new           ? std::max<TimeMs>(now, 1)
                          : old != nullptr ? old->gpus_unknown_ms
                                           : 0;
  must(since_ms <= std::max<TimeMs>(now, 1), "GPUs are unknown since a time before now");
  if (since_ms == 0 || now >= since_ms + limits::kGpusUnknownMs) {
    if (spec.gpus == 0) spec.unfit.clear();
    return;
  }
  spec.gpus_unknown_ms = since_ms;
  if (spec.gpus > 0) return;
  spec.former_gpus = true;
  spec.product = old->product;
  spec.gpus = old->gpus;
  spec.unhealthy_gpus = old->unhealthy_gpus;
  spec.replicas = old->replicas;
  spec.mig_gpus = old->mig_gpus;
  spec.mig = old->mig;
  spec.gpus_per_domain = old->gpus_per_domain;
}

// Returns the parts of a node that can affect a decision. It leaves out the label into which
// feature discovery writes the time, and taints that never block, because autoscalers write the
// time into such taints.
NodeSpec without_churn(NodeSpec spec) {
  std::erase_if(spec.labels, [](const Label& l) { return l.key == names::kLabelTimestamp; });
  std::erase_if(spec.taints, [](const Taint& t) { return t.effect == "PreferNoSchedule"; });
  return spec;
}

// The drain of a node: drained now or planned, and its end.
struct Drain {
  bool drained = false;
  state::DrainTimes times;
  friend bool operator==(const Drain&, const Drain&) = default;
};

Drain drain_of(const Decision& d, NodeId id) {
  return {d.s.fleet().drained(id), d.s.nodes().drain_times(id)};
}

void say(Decision& d, NodeId id, ClusterId cluster, NodeSpec spec, const Drain& drain,
         const EditStamp& edit = {}) {
  d.emit(fact::NodeSet{id, cluster, std::move(spec), drain.drained, edit, drain.times.from_ms,
                       drain.times.until_ms});
  must(drain_of(d, id) == drain, "the drain is as the edit says");
  forgive_refusals(d, id);
}

// Updates the drain of a node.
void say_drain(Decision& d, NodeId id, const Drain& drain, const EditStamp& edit = {}) {
  say(d, id, d.s.fleet().cluster_of(id), *d.s.fleet().node(id), drain, edit);
}

void set_node(Decision& d, const state::Cluster& cluster, NodeSpec spec, const EditStamp& edit) {
  spec = without_churn(std::move(spec));
  NodeId id = d.s.nodes().find(cluster.id, spec.name);
  const NodeSpec* old = id ? d.s.fleet().node(id) : nullptr;
  // Pods that still run on a node whose GPUs are gone are charged for its product.
  if (old != nullptr && spec.product.empty()) spec.product = old->product;
  keep_clique(spec, old, d.s.now());
  take_former_gpus(spec, old, d.s.now());
  set_rejections(d, id, spec);
  if (old != nullptr && *old == spec) return;
  const Drain drain = id ? drain_of(d, id) : Drain();
  const bool fresh = !id;
  if (fresh) id = NodeId(d.s.nodes().last().value + 1);
  const std::string name = spec.name;
  end_claims_on(d, id);
  say(d, id, cluster.id, std::move(spec), drain, edit);
  must(d.s.nodes().find(cluster.id, name) == id, "a node is found by its name");
  sum_non_gpu_pods(d, id);
  fresh ? decide_early(d, cluster.id, name) : evict_overcommit(d, id);
}

std::optional<Error> check_times(const Decision& d, const in::DrainNode& i) {
  if (i.from_ms == 0 && i.until_ms == 0) return std::nullopt;
  if (!i.drained) {
    return Error{ErrorCode::kInvalid, "from_ms", std::to_string(i.from_ms),
                 "want none: what ends ends now"};
  }
  const TimeMs from_ms = std::max(i.from_ms, d.s.now());
  if (i.until_ms == 0 || i.until_ms > from_ms) return std::nullopt;
  return Error{ErrorCode::kInvalid, "until", format_time(i.until_ms),
               "want a time after " + format_time(from_ms) + ", when the drain begins"};
}

// Adds a warning about the jobs that may still run when the drain begins. The drain asks no pod to
// end.
void warn_who_stays(Decision& d, NodeId node, TimeMs from_ms) {
  std::set<JobId> jobs;
  for (const state::PodPlace& place : d.s.allocations().on(node)) {
    if (d.s.jobs().at(place.job).run().end_ms > from_ms) jobs.insert(place.job);
  }
  if (jobs.empty()) return;
  std::string names;
  std::size_t shown = 0;
  for (const JobId job : jobs) {
    if (++shown > limits::kMaxBlockers) break;
    names += (names.empty() ? "" : ", ") + text::job_id_text(job);
  }
  if (shown > limits::kMaxBlockers) names += " and others";
  d.out.reply.warnings.push_back("by their time limits these may be on " +
                                 d.s.fleet().node(node)->name + " when the drain begins: " + names);
}

// Handles one pod of a node that is gone: ends a bound pod, and releases the hold of an unbound
// pod.
void lose_node(Decision& d, const state::PodPlace& place, NodeId node, TimeMs at, Cause cause) {
  must(cause != Cause::kNone && at <= d.s.now(), "a node that went has gone for a cause");
  const state::Pod& pod = d.s.jobs().at(place.job).pods[place.rank];
  if (!pod.holds_slot() || pod.slot.node != node) return;  // released together with its gang
  pod.is_bound() ? end_pod(d, place.job, place.rank, at, cause)
                 : lose_place(d, place.job, place.rank, cause);
}

// Returns the newest hold on the node that does not fit beside the other holds. Only holds of pods
// with a closed gate count, because such pods cannot be on their way.
std::optional<state::PodPlace> newest_excess(const Decision& d, NodeId node) {
  std::optional<state::PodPlace> newest;
  TimeMs since_ms = 0;
  for (const state::PodPlace& place : d.s.allocations().on(node)) {
    const state::Job& job = d.s.jobs().at(place.job);
    const state::Pod& pod = job.pods[place.rank];
    const bool closed = pod.state == PodState::kHeld && is_closed(pod.gate);
    if (!closed || job.state != JobState::kStarting) continue;
    if (newest && pod.since_ms < since_ms) continue;
    if (has_room_there(d.s.fleet(), {pod.shape, pod.shape_rank, pod.slot, place.job})) continue;
    newest = place;
    since_ms = pod.since_ms;
  }
  return newest;
}

}  // namespace

void renew_fitness(Decision& d, NodeId node, const EditStamp& edit) {
  NodeSpec spec = *d.s.fleet().node(node);
  if (spec.rejects) spec.unfit = spec.reported_unfit;
  set_rejections(d, node, spec);
  end_claims_on(d, node);
  say(d, node, d.s.fleet().cluster_of(node), std::move(spec), drain_of(d, node), edit);
}

void evict_overcommit(Decision& d, NodeId node) {
  if (!d.s.clusters().at(d.s.fleet().cluster_of(node)).synced) return;
  while (over_allocated(d.s.fleet(), node)) {
    const std::optional<state::PodPlace> newest = newest_excess(d, node);
    if (!newest) return;
    const std::size_t before = d.s.allocations().on(node).size();
    lose_place(d, newest->job, newest->rank, Cause::kUnschedulable);
    must(d.s.allocations().on(node).size() < before, "a hold on the node is released");
  }
}

void end_cliques(Decision& d) {
  const auto is_due = [&d](const auto& lost) {
    return lost && lost->first + limits::kCliqueKeptMs <= d.s.now();
  };
  for (auto lost = d.s.nodes().first_lost_clique(); is_due(lost);
       lost = d.s.nodes().first_lost_clique()) {
    const NodeId id = lost->second;
    NodeSpec spec = *d.s.fleet().node(id);
    spec.former_clique = std::exchange(spec.clique, "");
    spec.clique_lost_ms = 0;
    must(!spec.former_clique.empty(), "a node that left a clique had one");
    end_claims_on(d, id);
    say(d, id, d.s.fleet().cluster_of(id), std::move(spec), drain_of(d, id));
  }
}

void end_unknown_gpus(Decision& d) {
  const auto is_due = [&d](const auto& unknown) {
    return unknown && unknown->first + limits::kGpusUnknownMs <= d.s.now();
  };
  for (auto unknown = d.s.nodes().first_unknown(); is_due(unknown);
       unknown = d.s.nodes().first_unknown()) {
    const NodeId id = unknown->second;
    NodeSpec spec = *d.s.fleet().node(id);
    must(spec.gpus_unknown && spec.gpus_unknown_ms != 0, "the GPUs of the node were unknown");
    spec.gpus_unknown_ms = 0;
    if (std::exchange(spec.former_gpus, false)) {
      spec.mig.clear();
      spec.gpus = spec.unhealthy_gpus = spec.replicas = spec.mig_gpus = 0;
      spec.unfit.clear();
      set_rejections(d, id, spec);
    }
    end_claims_on(d, id);
    say(d, id, d.s.fleet().cluster_of(id), std::move(spec), drain_of(d, id));
    sum_non_gpu_pods(d, id);
    evict_overcommit(d, id);
  }
}

void remove_node(Decision& d, NodeId id, TimeMs at) {
  const auto held = d.s.allocations().on(id);
  const Cause cause = d.s.fleet().drained(id) ? Cause::kNodeDrained : Cause::kNodeLost;
  for (const state::PodPlace& place : std::vector(held.begin(), held.end())) {
    lose_node(d, place, id, at, cause);
  }
  must(d.s.allocations().on(id).empty(), "nothing is held on a node that is removed");
  end_claims_on(d, id);
  d.emit(state::billed(d.s, id, d.s.now()));
  d.emit(fact::NodeRemoved{id});
  must(d.s.fleet().node(id) == nullptr, "a removed node is gone");
}

std::optional<Error> check_session(const Decision& d) {
  const std::string* const name = observed_cluster(d.input.body);
  if (name == nullptr || d.input.session == kAnySession) return std::nullopt;
  const state::Cluster* cluster = d.s.clusters().find(*name);
  if (cluster == nullptr) return std::nullopt;  // its decision refuses it
  const std::uint64_t said = d.input.session == kNoSession ? 0 : d.input.session;
  const std::string got = said == 0 ? "none" : std::to_string(said);
  if (std::holds_alternative<in::ListBegin>(d.input.body)) {
    if (said > cluster->session) return std::nullopt;
    return Error{ErrorCode::kConflict, "session", got,
                 "want a newer one than " + std::to_string(cluster->session) +
                     ", which has begun a list of this cluster since"};
  }
  const std::uint64_t now = cluster->owned ? 0 : cluster->session;
  if (said == now) return std::nullopt;
  return Error{ErrorCode::kConflict, "session", got,
               now == 0
                   ? "want none: the cluster's nodes were imported; begin a list to replace them"
                   : "want " + std::to_string(now) +
                         ", the newest of this cluster: another edge follows it; begin a list "
                         "to take over"};
}

void decide(Decision& d, const in::ImportNodes& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  std::set<std::string> names;
  for (const NodeSpec& spec : i.nodes) {
    if (auto error = check_node(spec)) return d.refuse(*error, i.cluster);
    if (!names.insert(spec.name).second) {
      return d.refuse(node_error(spec, "name", spec.name, "is there twice"), i.cluster);
    }
  }
  if (auto error = check_room(d, *cluster, i.nodes)) return d.refuse(*error, i.cluster);
  if (i.validate_only) return;
  d.emit(fact::ClusterSet{cluster->id, cluster->name, cluster->mode, cluster->namespaces,
                          d.stamp(i.reason.empty() ? "import of nodes" : i.reason)});
  for (const NodeSpec& spec : i.nodes) set_node(d, *cluster, spec, {});
  for (NodeId id : d.s.fleet().nodes(cluster->id)) {
    if (names.count(d.s.fleet().node(id)->name) == 0) remove_node(d, id, d.s.now());
  }
  if (!cluster->synced || !cluster->owned) {
    d.emit(fact::ClusterSynced{cluster->id, true, true, cluster->session, 0});
  }
  if (!cluster->uid.empty()) d.emit(fact::ClusterSeen{cluster->id, "", cluster->seen_until_ms});
  forget_namespaces(d, cluster->id, {});
}

void decide(Decision& d, const in::DrainNode& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  const NodeId id = d.s.nodes().find(cluster->id, i.node);
  if (!id) {
    return d.refuse({ErrorCode::kNotFound, "node", i.node, "there is no such node in the cluster"},
                    i.node);
  }
  if (auto error = check_times(d, i)) return d.refuse(*error, i.node);
  const TimeMs from_ms = i.from_ms > d.s.now() ? i.from_ms : 0;
  const Drain drain{i.drained && from_ms == 0, {from_ms, i.until_ms}};
  if (!i.drained) forgive_rejections(d, id, d.stamp(i.reason));
  if (drain_of(d, id) == drain) return;
  say_drain(d, id, drain, d.stamp(i.reason));
  must(drain_of(d, id) == drain, "a node has the drain that was asked for");
  if (from_ms != 0) warn_who_stays(d, id, from_ms);
}

void begin_and_end_drains(Decision& d) {
  for (auto next = d.s.nodes().next_drain(); next && next->first <= d.s.now();
       next = d.s.nodes().next_drain()) {
    const NodeId id = next->second;
    const state::DrainTimes times = d.s.nodes().drain_times(id);
    const bool begins = times.from_ms != 0;
    must((begins ? times.from_ms : times.until_ms) <= d.s.now(), "a drain begins or ends in time");
    say_drain(d, id, {begins, {0, begins ? times.until_ms : 0}});
  }
}

void decide(Decision& d, const in::ListBegin& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (!i.uid.empty() && !cluster->uid.empty() && i.uid != cluster->uid) {
    return d.refuse({ErrorCode::kPrecondition, "uid", i.uid,
                     "want " + cluster->uid +
                         ": another cluster has this name; import nodes to take over the name"},
                    i.cluster);
  }
  d.tell(note::ListBegun{cluster->id, i.known_as, d.s.now(), cluster->seen_until_ms});
  const bool numbered = d.input.session != kAnySession && d.input.session != kNoSession;
  const std::uint64_t session = numbered ? d.input.session : cluster->session + 1;
  const TimeMs since = cluster->since_ms != 0 ? cluster->since_ms : d.s.now();
  must(
      session > cluster->session || d.input.session == kAnySession || d.input.session == kNoSession,
      "a list has a newer session");
  d.emit(fact::ClusterSynced{cluster->id, false, false, session, since});
  must(!cluster->synced && cluster->session == session, "a list is being read");
  if (!i.uid.empty() && cluster->uid.empty()) {
    d.emit(fact::ClusterSeen{cluster->id, i.uid, cluster->seen_until_ms});
  }
}

namespace {

// Returns the pods of the job that the list did not name, from the highest rank down. In this
// order, no pod that is gone takes a free rank.
std::vector<PodRef> unlisted(const state::Job& job, const state::ListMarks& marks) {
  std::vector<PodRef> pods;
  for (auto rank = static_cast<std::uint32_t>(job.pods.size()); rank-- > 0;) {
    const state::Pod& pod = job.pods[rank];
    const bool known_outside = pod.is_live() && (!pod.uid.empty() || pod.is_bound());
    if (known_outside && !marks.pods.contains({job.id, rank})) {
      pods.push_back({pod.uid, job.id, rank, job.attempt});
    }
  }
  return pods;
}

}  // namespace

void decide(Decision& d, const in::ListComplete& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  const state::ListMarks* const list = d.observed.lists().find(cluster->id);
  if (list == nullptr) {
    return d.refuse({ErrorCode::kPrecondition, "list_complete", i.cluster, "no list was begun"},
                    i.cluster);
  }
  const state::ListMarks marks = *list;
  // Pods that the list does not name have ended while no edge watched. The time of the last report
  // before the list counts as the end of these pods.
  const TimeMs ended = marks.heard_before_ms == 0 ? d.s.now() : marks.heard_before_ms;
  must(ended <= d.s.now(), "a cluster was heard by now");
  d.tell(note::ListEnded{cluster->id});
  forget_namespaces(d, cluster->id, marks.namespaces);
  for (JobId id : d.s.jobs().table().ids()) {
    if (id.cluster() != cluster->id) continue;
    for (const PodRef& pod : unlisted(d.s.jobs().at(id), marks)) {
      const auto place = d.s.jobs().find(cluster->id, pod);
      // The pod may have joined another job, and the list may have named it there.
      const bool here = place && place->job == id;
      const bool lives = here && d.s.jobs().at(id).pods[place->rank].is_live();
      if (lives) end_pod(d, place->job, place->rank, ended, Cause::kVanished);
    }
    if (!marks.parked.contains(id)) unpark(d, id);
  }
  for (NodeId id : d.s.fleet().nodes(cluster->id)) {
    if (marks.nodes.count(id) == 0) remove_node(d, id, ended);
  }
  d.emit(fact::ClusterSynced{cluster->id, true, false, cluster->session, 0});
  must(cluster->synced && d.observed.lists().find(cluster->id) == nullptr, "the list is complete");
  for (NodeId id : d.s.fleet().nodes(cluster->id)) evict_overcommit(d, id);
  const bool says_until = cluster->seen_until_ms != 0 && cluster->seen_until_ms < marks.begun_ms;
  if (says_until) d.emit(fact::ClusterSeen{cluster->id, cluster->uid, marks.begun_ms});
  for (NodeId id : d.s.fleet().nodes(cluster->id)) sum_non_gpu_pods(d, id);
}

void decide(Decision& d, const in::NodeSeen& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (auto error = check_node(i.node)) return d.refuse(*error, i.node.name);
  if (cluster->owned) {
    return d.refuse({ErrorCode::kPrecondition, "node_seen", i.node.name,
                     "the cluster's nodes were imported; begin a list to replace them"},
                    i.node.name);
  }
  if (auto error = check_room(d, *cluster, {&i.node, 1})) return d.refuse(*error, i.node.name);
  set_node(d, *cluster, i.node, {});
  must(static_cast<bool>(d.s.nodes().find(cluster->id, i.node.name)),
       "a node that was seen is known");
  d.tell(note::NodeListed{cluster->id, d.s.nodes().find(cluster->id, i.node.name)});
}

void decide(Decision& d, const in::NodeGone& i) {
  const state::Cluster* cluster = d.s.clusters().find(i.cluster);
  if (cluster == nullptr) return d.refuse(no_cluster(i.cluster), i.cluster);
  if (cluster->owned) {
    return d.refuse(
        {ErrorCode::kPrecondition, "node_gone", i.node, "the cluster's nodes were imported"},
        i.node);
  }
  const TimeMs at = our_time(d, i.at_ms);
  if (const NodeId id = d.s.nodes().find(cluster->id, i.node)) remove_node(d, id, at);
}

}  // namespace subak::decide
