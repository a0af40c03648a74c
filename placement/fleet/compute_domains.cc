#include "placement/fleet/compute_domains.h"

#include <algorithm>
#include <utility>

#include "core/must.h"
#include "placement/fleet/queries.h"

namespace subak {
namespace {

void sort_once(std::vector<JobId>& jobs) {
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
}

void add_computing(const Fleet::Impl& fleet, const Load& load, std::vector<JobId>& jobs) {
  for (const Hold& h : load.holds) {
    if (uses_compute_domain(fleet, h)) jobs.push_back(h.owner);
  }
}

}  // namespace

std::vector<JobId> computing_in(const Fleet::Impl& fleet, DomainIndex domain,
                                const std::function<const Load&(NodeIndex)>& load_of) {
  std::vector<JobId> jobs;
  fleet.domains[domain]->each_wired([&](NodeIndex m) {
    if (fleet.nodes[m]->home() == domain) add_computing(fleet, load_of(m), jobs);
  });
  sort_once(jobs);
  return jobs;
}

std::vector<JobId> computing_beside(const Scene& scene, NodeIndex node, JobId owner) {
  const DomainIndex home = scene.node(node).home();
  if (home == kNoArea || scene.is_empty()) return {};
  std::vector<JobId> jobs;
  if (!scene.nothing_held) jobs = scene.computing(home);
  scene.fleet.domains[home]->each_wired([&](NodeIndex m) {
    const JobId keeper = scene.owner_of(m);
    if (!keeper || keeper == owner || scene.node(m).home() != home) return;
    if (scene.reserved->uses_compute_domain(NodeId(m))) jobs.push_back(keeper);
    if (scene.nothing_held) add_computing(scene.fleet, scene.load(m), jobs);
  });
  sort_once(jobs);
  std::erase(jobs, owner);
  return jobs;
}

bool is_computed(const Scene& scene, NodeIndex node, JobId owner) {
  const std::size_t beside = computing_beside(scene, node, owner).size();
  const std::uint32_t most = scene.fleet.whole.rules().clique_gangs;
  if (beside == 0) return false;
  if (most > 0 && beside >= most) return true;
  const std::vector<Hold>& holds = scene.load(node).holds;
  return !scene.nothing_held && std::any_of(holds.begin(), holds.end(), [&](const Hold& h) {
    return h.owner != owner && uses_compute_domain(scene.fleet, h);
  });
}

void Fleet::Impl::note_computing(const NodeState& n) {
  if (n.home() == kNoArea) return;
  std::vector<JobId> now =
      computing_in(*this, n.home(), [this](NodeIndex m) -> const Load& { return nodes[m]->load; });
  const std::vector<JobId>& before = domains[n.home()]->computing;
  if (now == before) return;
  const bool fewer = now.size() < before.size();
  domains.set_computing(n.home(), std::move(now));
  if (fewer) wired_changed(n.home());  // failed searches look at these nodes again
}

std::vector<JobId> computing_beside(const Fleet& fleet, NodeId node) {
  const DomainIndex home = wired_domain(fleet, node);
  if (home == kNoArea) return {};
  const std::vector<JobId>& jobs = fleet.impl().domains[home]->computing;
  must(std::is_sorted(jobs.begin(), jobs.end()), "gangs of a domain ascend");
  return jobs;
}

}  // namespace subak
