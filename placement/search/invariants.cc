// Recomputes everything that a search updates incrementally, and compares.
#include <algorithm>
#include <cassert>

#include "placement/gpus/eligibility.h"
#include "placement/search/search_impl.h"

namespace subak {
namespace {

void check_alike(const Fleet::Impl& impl, const Filter& f, std::size_t open) {
  std::size_t nodes = 0;
  for (std::uint32_t place = 0; place < f.live.size(); ++place) {
    const std::uint32_t number = f.live[place];
    const Filter::Alike& alike = f.alike[number];
    assert(alike.place == place && !alike.nodes.empty());
    nodes += alike.nodes.size();
    for (const NodeIndex i : alike.nodes) {
      const NodeState& n = *impl.nodes[i];
      const bool joined = impl.domains[n.domain]->members.size() > 1;
      assert(f.free[i] >= 0 && f.alike_of[i] == number);
      assert(state_of_alike(number) == n.state && joined_alike(number) == joined);
    }
  }
  assert(f.drained || nodes == open);
}

void check_filter(const Fleet::Impl& impl, const Filter& f) {
  std::vector<std::int64_t> histogram(f.histogram.size()), wholes(f.wholes.size());
  std::size_t open = 0, matching = 0;
  for (NodeIndex i = 0; i < impl.nodes.size(); ++i) {
    if (!impl.nodes[i]) continue;
    const NodeState& n = *impl.nodes[i];
    const bool matches = n.present && n.cluster == f.cluster && eligibility::matches(f.pod, n.spec);
    const bool usable = matches && n.open_for(f.tolerates_cordon);
    assert(f.matches[i] == matches);
    assert(!f.tainted[i] || (!matches && !n.spec.taints.empty()));
    assert(f.free[i] == (usable ? free_count(f, n.spec, f.drained ? n.works : n.room) : -1));
    assert(!f.drained || f.held[i] == n.load.allocated);
    matching += matches ? 1 : 0;
    assert(f.domain_of[i] == n.domain);
    if (f.free[i] < 0) continue;
    ++open;
    ++histogram[static_cast<std::size_t>(f.free[i])];
    assert(f.all[i] == free_count(f, n.spec, n.empty));
    if (f.free[i] >= f.all[i]) ++wholes[static_cast<std::size_t>(f.free[i])];
  }
  check_alike(impl, f, open);
  assert(open == f.open_nodes && matching == f.matching);
  assert(histogram == f.histogram && wholes == f.wholes);
  for (DomainIndex d = 1; d < impl.domains.size(); ++d) {
    std::int64_t sum = 0, cpu = 0, most = -1;
    for (const NodeIndex m : impl.domains[d]->members) {
      if (f.free[m] < 0) continue;
      const MilliGpu milli = impl.states[impl.nodes[m]->state].free;
      sum += f.drained ? f.held[m] : f.counts ? f.free[m] : milli;
      cpu += f.drained ? 0 : cpu_left(impl.nodes[m]->room);
      most = std::max(most, f.free[m]);
    }
    assert(f.domains[d].key.weight == sum && f.domains[d].most == most);
    assert(f.domains[d].key.cpu_milli == cpu);
    if (!f.counts || most < 0) continue;
    assert(f.buckets[static_cast<std::size_t>(most)].contains(f.domains[d].key));
  }
}

}  // namespace

void Search::check_invariants() {
  for (const auto& [key, filter] : impl_->filters) {
    if (filter->position == 0) continue;
    catch_up(*filter, impl_->state);
    check_filter(impl_->state, *filter);
    if (!filter->when_drained) continue;
    catch_up_drained(*filter, impl_->state);
    check_filter(impl_->state, *filter->when_drained);
  }
}

}  // namespace subak
