#include "server/edge/provisioning/demand.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/content_hash.h"
#include "core/edge_limits.h"
#include "core/text.h"

namespace subak {
namespace {

const NodePool* pool_of(const Engine& engine, const Growth& growth, const Growth::Job& job) {
  const std::vector<NodePool>& pools = engine.policy().queue.node_pools;
  const NodePool* first = nullptr;
  for (const Growth::Part& part : job.parts) {
    const auto at = std::find_if(pools.begin(), pools.end(), [&](const NodePool& pool) {
      return pool.name == growth.pools[part.pool].name;
    });
    if (at == pools.end() || at->provisioning_class.empty()) continue;
    if (first == nullptr || &*at < first) first = &*at;
  }
  return first;
}

bool needs_more(const Growth& growth, const std::string& pool) {
  return std::any_of(growth.pools.begin(), growth.pools.end(),
                     [&](const Growth::Pool& one) { return one.name == pool && one.wanted > 0; });
}

// Fills in the pods, the namespace and the digest. False: the job can have no request.
bool read_pods(const JobRow& job, NodeDemand& out) {
  std::vector<const PodShape*> shapes;
  std::size_t rank = 0;
  for (const PodGroup& group : job.request.groups) {
    const auto same = std::find_if(shapes.begin(), shapes.end(),
                                   [&](const PodShape* shape) { return *shape == group.shape; });
    const auto at = static_cast<std::size_t>(same - shapes.begin());
    if (same == shapes.end()) {
      if (shapes.size() == kMaxPodSets) return false;
      shapes.push_back(&group.shape);
      out.pods.emplace_back();
    }
    out.pods[at].count += group.count;
    for (std::uint32_t i = 0; i < group.count; ++i, ++rank) {
      if (rank >= job.pods.size() || job.pods[rank].uid.empty()) continue;
      if (!out.pods[at].uid.empty()) continue;
      const std::string& name = job.pods[rank].name;
      out.pods[at].uid = job.pods[rank].uid;
      out.ns = name.substr(0, name.find('/'));
    }
    if (out.pods[at].uid.empty()) return false;
  }
  std::string content = out.class_name;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    content += "\n" + std::to_string(out.pods[i].count) + " " + to_text(*shapes[i]);
  out.digest = std::to_string(content_hash(content));
  return !shapes.empty();
}

}  // namespace

DemandPage read_demand(const Engine& engine, const ForecastStarts& starts,
                       const std::string& cluster, const std::set<JobId>& requested) {
  DemandPage page;
  const std::shared_ptr<const View> view = engine.view();
  const ClusterView* const known = view->cluster(cluster);
  if (starts.growth == nullptr || known == nullptr) return page;
  page.known = true;
  const std::vector<NodePool>& pools = engine.policy().queue.node_pools;
  const bool any_class = std::any_of(pools.begin(), pools.end(), [](const NodePool& pool) {
    return !pool.provisioning_class.empty();
  });
  for (const JobId id : requested) {
    if (!any_class) break;
    const std::optional<JobRow> job = engine.job(id, false);
    if (!job) continue;
    const bool waits = job->state == JobState::kQueued || job->state == JobState::kStarting;
    if (waits && id.cluster() == known->id) page.unbound.insert(id);
  }
  const Growth& growth = *starts.growth;
  for (const bool of_requested : {true, false}) {
    for (const Growth::Job& grows : growth.jobs) {
      if (page.jobs.size() == limits::kMaxProvisioningRequests) break;
      if (grows.job.cluster() != known->id) continue;
      if (requested.contains(grows.job) != of_requested) continue;
      const NodePool* const pool = pool_of(engine, growth, grows);
      const std::optional<JobRow> job = pool ? engine.job(grows.job, true) : std::nullopt;
      if (!job || job->state != JobState::kQueued) continue;
      NodeDemand demand;
      demand.job = grows.job;
      demand.pool = pool->name;
      demand.class_name = pool->provisioning_class;
      demand.needs_more = needs_more(growth, pool->name);
      if (!read_pods(*job, demand) || known->mode_of(demand.ns) != Mode::kEnforce) continue;
      page.jobs.push_back(std::move(demand));
    }
  }
  std::sort(page.jobs.begin(), page.jobs.end(),
            [](const NodeDemand& a, const NodeDemand& b) { return a.job < b.job; });
  return page;
}

}  // namespace subak
