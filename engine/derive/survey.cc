// Computes figures for metrics that no index has.
#include "engine/derive/survey.h"

#include <algorithm>
#include <set>

#include "core/limits.h"
#include "core/must.h"
#include "engine/derive/claims.h"
#include "engine/derive/order.h"
#include "engine/derive/reasons.h"
#include "placement/fleet/queries.h"
#include "placement/fleet/views.h"

namespace subak::derive {
namespace {

using Mix = std::vector<std::pair<ShapeId, double>>;  // a shape and the number of its pods

// Keeps the most common shapes. Ties break by hash, so the result does not depend on shape numbers.
void keep_most_usual(const Fleet& fleet, Mix& mix) {
  std::sort(mix.begin(), mix.end(), [&](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second
                                : fleet.shapes().hash(a.first) < fleet.shapes().hash(b.first);
  });
  if (mix.size() > limits::kSurveyShapes) mix.resize(limits::kSurveyShapes);
  must(mix.empty() || mix.front().second >= mix.back().second, "the most common shape comes first");
}

void survey_queue(const State& s, const Places& places, Survey& out) {
  out.head = queue_order(s, s.now(), limits::kSurveyQueue);
  must(out.head.size() <= limits::kSurveyQueue, "the head of the queue is bounded");
  for (std::size_t i = 0; i < std::min(out.head.size(), limits::kSurveyExplained); ++i) {
    std::set<ReasonToken> tokens;
    for (const Reason& reason : reasons_of(s, places, s.jobs().at(out.head[i]), i + 1)) {
      tokens.insert(reason.token);
    }
    for (const ReasonToken token : tokens) ++out.reasons[token];
  }
}

// The rejections of an unfit node are not counted further, so no node has more than
// limits::kMaxRejections.
std::map<NodeId, std::size_t> rejections(const State& s, ClusterId cluster) {
  std::map<NodeId, std::size_t> out;
  for (const auto& [node, backoffs] : s.node_backoff().all()) {
    const fact::NodeBackedOff* const all = s.node_backoff().of_any_pod(node);
    if (all == nullptr || s.fleet().cluster_of(node) != cluster) continue;
    const auto count = std::count_if(all->recent.begin(), all->recent.end(), [&](const auto& one) {
      return one.at_ms + limits::kRejectionsMs > s.now();
    });
    if (count > 0) out[node] = static_cast<std::size_t>(count);
  }
  return out;
}

}  // namespace

MilliGpu reserved_idle(const State& s, ClusterId cluster) {
  MilliGpu idle = 0;
  for (const state::Reservation& r : s.clusters().at(cluster).reservations) {
    for (const NodeId node : r.nodes) idle += s.fleet().levels(node).idle;
  }
  must(idle >= 0, "no node has less than nothing idle");
  return idle;
}

MigPlan mig_plan(const State& s, ClusterId cluster) {
  MigDemand waiting;
  for (const auto& [shape, jobs] : s.jobs().ready().census().by_shape) {
    if (s.fleet().cluster_of(shape) != cluster) continue;
    for (const PodGroup& group : s.fleet().request(shape).groups) {
      const std::int64_t gpus = static_cast<std::int64_t>(jobs) *
                                static_cast<std::int64_t>(group.count) * group.shape.gpus;
      if (group.shape.kind == GpuKind::kMig) waiting.slices[group.shape.profile] += gpus;
      if (group.shape.kind == GpuKind::kWhole) waiting.gpus += gpus;
    }
  }
  std::set<NodeId> reserved;
  for (const state::Reservation& r : s.clusters().at(cluster).reservations) {
    reserved.insert(r.nodes.begin(), r.nodes.end());
  }
  return subak::mig_plan(s.fleet(), cluster, waiting, reserved);
}

Survey survey(const State& s, const Places& places) {
  Survey out;
  survey_queue(s, places, out);
  if (places.growth != nullptr) out.pools = places.growth->pools;
  out.claims = s.claims().all().size();
  out.claim_due_ms = first_due(s);
  const ReadyQueue::Census waiting = s.jobs().ready().census();
  for (const auto& [leaf, submit_ms] : waiting.oldest) {
    for (AccountId id = leaf; id; id = s.tree().node(id).parent) {
      const auto [at, added] = out.oldest_submit.try_emplace(id, submit_ms);
      if (!added) at->second = std::min(at->second, submit_ms);
    }
  }
  std::map<ShapeId, double> pods;
  for (const auto& [shape, count] : waiting.by_shape) {
    pods[shape] += static_cast<double>(count) * s.fleet().request(shape).pods();
  }
  std::map<ClusterId, MilliGpu> foreign;
  s.allocations().each_node([&](NodeId /*node*/, std::span<const state::PodPlace> held) {
    for (const auto& [id, rank] : held) {
      const state::Job& job = s.jobs().at(id);
      if (job.origin == JobOrigin::kForeign) foreign[id.cluster()] += job.pods[rank].slot.milligpu;
      if (job.shape) pods[job.shape] += 1;
    }
  });
  std::map<ClusterId, Mix> mixes;
  for (const auto& [shape, count] : pods)
    mixes[s.fleet().cluster_of(shape)].push_back({shape, count});
  for (const auto& [id, cluster] : s.clusters().all()) {
    Mix& mix = mixes[id];
    keep_most_usual(s.fleet(), mix);
    out.clusters.push_back({id, foreign[id], places.search.fragmentation(mix), reserved_idle(s, id),
                            reserved_domains_milligpu(s.fleet(), id), rejections(s, id),
                            non_gpu_use(s.fleet(), id)});
  }
  return out;
}

}  // namespace subak::derive
