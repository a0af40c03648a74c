#include "placement/fleet/whole_domains.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "placement/fleet/compute_domains.h"

namespace subak {
namespace {

std::vector<DomainIndex> first_of(const std::set<WholeKey>& domains, std::uint32_t most) {
  std::vector<DomainIndex> first;
  for (const WholeKey& key : domains) {
    if (first.size() == most) break;
    first.push_back(key.domain);
  }
  return first;
}

}  // namespace

Group measured(const Fleet::Impl& fleet, DomainIndex domain) {
  const Group& g = *fleet.domains[domain];
  Group out;
  g.each_wired([&](NodeIndex m) {
    const NodeState& n = *fleet.nodes[m];
    if (n.home() == domain) out.held += n.load.allocated;
  });
  std::size_t nodes = 0;
  for (const NodeIndex m : g.members) {
    const NodeState& n = *fleet.nodes[m];
    if (!out.product && n.spec.gpus > 0) out.product = n.product;
    const int gpus = n.open() && n.home() == domain ? std::popcount(n.works.whole) : 0;
    out.whole.working += gpus;
    nodes += gpus > 0 ? 1 : 0;
  }
  out.computing =
      computing_in(fleet, domain, [&](NodeIndex m) -> const Load& { return fleet.nodes[m]->load; });
  if (nodes <= 1) out.whole.working = 0;
  if (nodes > 1) out.whole = {out.whole.working, g.members.front(), domain};
  return out;
}

std::vector<DomainIndex> reserved_domains(const Fleet::Impl& fleet,
                                          const std::vector<DomainIndex>& emptied) {
  std::map<std::pair<ClusterId, ProductId>, std::set<WholeKey>> more;
  for (const DomainIndex d : emptied) {
    const Group& g = *fleet.domains[d];
    if (g.whole.working > 0) more[{g.cluster, g.product}].insert(g.whole);
  }
  std::vector<DomainIndex> left;
  for (const auto& [kind, domains] : fleet.whole) {
    std::set<WholeKey> first = std::move(more[kind]);
    for (const DomainIndex d : domains.left) first.insert(fleet.domains[d]->whole);
    const std::vector<DomainIndex> chosen = first_of(first, fleet.rules.keep_whole);
    left.insert(left.end(), chosen.begin(), chosen.end());
  }
  std::sort(left.begin(), left.end());
  return left;
}

void Fleet::Impl::leave_to_gangs(WholeDomains& of) {
  std::vector<DomainIndex> now = first_of(of.empty, rules.keep_whole);
  if (now == of.left) return;
  std::vector<DomainIndex> touched = of.left;
  touched.insert(touched.end(), now.begin(), now.end());
  for (const DomainIndex d : of.left) domains[d]->left = false;
  for (const DomainIndex d : now) domains[d]->left = true;
  of.left = std::move(now);
  // Failed searches look at changed nodes again.
  for (const DomainIndex d : touched) domains[d]->each_wired([&](NodeIndex m) { changed(m); });
  ++freed;
}

void Fleet::Impl::survey(DomainIndex d) {
  if (d == kNoArea) return;
  Group& g = *domains[d];
  const auto own = [&] { return whole.find({g.cluster, g.product}); };
  const auto before = own();
  if (before != whole.end()) before->second.empty.erase(g.whole);
  const Group now = measured(*this, d);
  g.held = now.held;
  g.product = now.product;
  g.computing = now.computing;
  g.whole = now.whole;
  if (rules.keep_whole == 0) return;
  if (g.whole.working > 0) {
    WholeDomains& of = whole[{g.cluster, g.product}];
    if (g.held == 0) of.empty.insert(g.whole);
  }
  if (before != whole.end()) leave_to_gangs(before->second);
  if (own() != before && own() != whole.end()) leave_to_gangs(own()->second);
}

void Fleet::Impl::note_held(const NodeState& n, MilliGpu change) {
  if (n.home() == kNoArea || change == 0) return;
  Group& g = *domains[n.home()];
  const bool was_empty = g.held == 0;
  g.held += change;
  const bool empty = g.held == 0;
  if (rules.keep_whole == 0 || g.whole.working == 0 || empty == was_empty) return;
  WholeDomains& of = whole.at({g.cluster, g.product});
  if (empty) {
    of.empty.insert(g.whole);
  } else {
    of.empty.erase(g.whole);
  }
  if (empty || g.left) leave_to_gangs(of);
}

void Fleet::set_domain_rules(const DomainRules& rules) {
  if (impl_->rules == rules) return;
  const bool gangs = impl_->rules.clique_gangs != rules.clique_gangs;
  impl_->rules = rules;
  for (auto& [kind, domains] : impl_->whole) {
    domains.empty.clear();
    impl_->leave_to_gangs(domains);
  }
  impl_->whole.clear();
  for (DomainIndex d = 1; d < impl_->domains.size(); ++d) impl_->survey(d);
  for (NodeIndex i = 0; gangs && i < impl_->nodes.size(); ++i) {
    if (impl_->nodes[i]) impl_->changed(i);
  }
  ++impl_->freed;
}

MilliGpu Fleet::reserved_domains_milligpu(ClusterId cluster) const {
  MilliGpu idle = 0;
  for (const auto& [kind, domains] : impl_->whole) {
    if (kind.first != cluster) continue;
    for (const DomainIndex d : domains.left) {
      for (const NodeIndex m : impl_->domains[d]->members) idle += impl_->nodes[m]->levels.idle;
    }
  }
  return idle;
}

}  // namespace subak
