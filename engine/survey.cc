// Figures for metrics that no incremental structure holds.
#include <algorithm>
#include <set>

#include "core/limits.h"
#include "engine/impl.h"

namespace subak {
namespace {

using Mix = std::vector<std::pair<ShapeId, double>>;  // a shape, and how many pods have it

void keep_most_usual(Mix& mix) {
  std::sort(mix.begin(), mix.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (mix.size() > limits::kSurveyShapes) mix.resize(limits::kSurveyShapes);
}

}  // namespace

void Engine::Impl::survey_queue(Survey& out) const {
  out.head =
      ready.order(tree, policy.order, TargetShareRule(), tick.get(), now, limits::kSurveyQueue);
  for (std::size_t i = 0; i < std::min(out.head.size(), limits::kSurveyExplained); ++i) {
    std::set<ReasonToken> tokens;
    for (const Reason& reason : reasons_of(*find_job(out.head[i]), i + 1)) {
      tokens.insert(reason.token);
    }
    for (const ReasonToken token : tokens) ++out.reasons[token];
  }
}

Survey Engine::survey() const {
  const Impl& s = *impl_;
  Survey out;
  s.survey_queue(out);
  const ReadyQueue::Census waiting = s.ready.census();
  for (const auto& [leaf, submit_ms] : waiting.oldest) {
    for (AccountId id = leaf; id; id = s.tree.node(id).parent) {
      const auto [at, added] = out.oldest_submit.try_emplace(id, submit_ms);
      if (!added) at->second = std::min(at->second, submit_ms);
    }
  }
  std::map<ShapeId, double> pods;
  for (const auto& [shape, count] : waiting.by_shape) {
    pods[shape] += static_cast<double>(count) * s.fleet.request(shape).pods();
  }
  std::map<ClusterId, MilliGpu> foreign;
  for (const auto& [node, held] : s.on_node) {
    for (const auto& [id, rank] : held) {
      const Job& job = *s.find_job(id);
      if (job.origin == JobOrigin::kForeign) foreign[id.cluster()] += job.pods[rank].slot.milligpu;
      if (job.shape) pods[job.shape] += 1;
    }
  }
  std::map<ClusterId, Mix> mixes;
  for (const auto& [shape, count] : pods)
    mixes[s.fleet.cluster_of(shape)].push_back({shape, count});
  for (const auto& [id, cluster] : s.clusters) {
    Mix& mix = mixes[id];
    keep_most_usual(mix);
    out.clusters.push_back({id, foreign[id], s.search.fragmentation(mix)});
  }
  return out;
}

}  // namespace subak
