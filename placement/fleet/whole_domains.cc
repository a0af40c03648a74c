#include "placement/fleet/whole_domains.h"

#include <algorithm>
#include <bit>

#include "core/must.h"
#include "placement/fleet/compute_domains.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/queries.h"

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

std::vector<DomainIndex> WholeDomains::set_rules(const DomainRules& rules, Domains& domains) {
  std::vector<DomainIndex> were_left;
  for (const auto& [kind, choice] : kinds_) {
    were_left.insert(were_left.end(), choice.left.begin(), choice.left.end());
  }
  for (const DomainIndex d : were_left) domains.set_left(d, false);
  kinds_.clear();
  rules_ = rules;
  return were_left;
}

void WholeDomains::add(const Group& g) {
  must(g.whole.working > 0 && g.held == 0, "a domain that can be left to gangs is empty and works");
  kinds_[kind_of(g)].empty.insert(g.whole);
}

std::vector<DomainIndex> WholeDomains::choose(Kind kind, Domains& domains) {
  const auto it = kinds_.find(kind);
  if (it == kinds_.end()) return {};
  Choice& of = it->second;
  std::vector<DomainIndex> now = first_of(of.empty, rules_.keep_whole);
  must(now.size() <= rules_.keep_whole, "no more domains are left to gangs than the rule says");
  if (now == of.left) return {};
  std::vector<DomainIndex> touched = of.left;
  touched.insert(touched.end(), now.begin(), now.end());
  for (const DomainIndex d : of.left) domains.set_left(d, false);
  for (const DomainIndex d : now) domains.set_left(d, true);
  of.left = std::move(now);
  return touched;
}

std::vector<DomainIndex> WholeDomains::left(ClusterId cluster) const {
  std::vector<DomainIndex> out;
  for (const auto& [kind, choice] : kinds_) {
    if (kind.first == cluster) out.insert(out.end(), choice.left.begin(), choice.left.end());
  }
  return out;
}

std::vector<DomainIndex> WholeDomains::left_if_empty(const std::vector<DomainIndex>& emptied,
                                                     const Domains& domains) const {
  std::map<Kind, std::set<WholeKey>> more;
  for (const DomainIndex d : emptied) {
    const Group& g = *domains[d];
    if (g.whole.working > 0) more[kind_of(g)].insert(g.whole);
  }
  std::vector<DomainIndex> left;
  for (const auto& [kind, choice] : kinds_) {
    std::set<WholeKey> first = std::move(more[kind]);
    for (const DomainIndex d : choice.left) first.insert(domains[d]->whole);
    const std::vector<DomainIndex> chosen = first_of(first, rules_.keep_whole);
    must(chosen.size() >= choice.left.size(), "emptied domains leave no fewer to gangs");
    left.insert(left.end(), chosen.begin(), chosen.end());
  }
  std::sort(left.begin(), left.end());
  return left;
}

void WholeDomains::check(const Domains& domains) const {
  std::map<Kind, std::set<WholeKey>> empty;
  for (DomainIndex d = 1; d < domains.size(); ++d) {
    const Group& g = *domains[d];
    if (g.whole.working > 0 && g.held == 0 && rules_.keep_whole > 0) {
      must(g.whole.domain == d, "a domain's key is its own");
      empty[kind_of(g)].insert(g.whole);
    } else {
      must(!g.left, "only empty domains that work are left to gangs");
    }
  }
  for (const auto& [kind, keys] : empty) {
    std::uint32_t before = 0;
    for (const WholeKey& key : keys) {
      must(domains[key.domain]->left == (before++ < rules_.keep_whole),
           "the first empty domains are left to gangs");
    }
  }
  for (const auto& [kind, choice] : kinds_) {
    const auto it = empty.find(kind);
    const std::size_t keys = it == empty.end() ? 0 : it->second.size();
    must(choice.empty.size() == keys, "each empty domain is known");
  }
}

DomainFigures measured(const Fleet::Impl& fleet, DomainIndex domain) {
  const Group& g = *fleet.domains[domain];
  DomainFigures out;
  g.each_wired([&](NodeIndex m) {
    const NodeState& n = *fleet.nodes[m];
    if (n.home() == domain) out.held += n.load.allocated;
  });
  must(out.held >= 0, "a domain holds no less than nothing");
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

void Fleet::Impl::leave_to_gangs(WholeDomains::Kind kind) {
  const std::vector<DomainIndex> touched = whole.choose(kind, domains);
  if (touched.empty()) return;
  // Failed searches look at changed nodes again.
  for (const DomainIndex d : touched) wired_changed(d);
  freed.add();
}

void Fleet::Impl::survey(DomainIndex d) {
  if (d == kNoArea) return;
  const Group& g = *domains[d];
  const WholeDomains::Kind before = WholeDomains::kind_of(g);
  const bool was_chosen = whole.has(before);
  if (was_chosen) whole.remove(g);
  domains.set_figures(d, measured(*this, d));
  if (whole.rules().keep_whole == 0) return;
  const WholeDomains::Kind now = WholeDomains::kind_of(g);
  if (g.whole.working > 0) {
    whole.make(now);
    if (g.held == 0) whole.add(g);
  }
  if (was_chosen) leave_to_gangs(before);
  if (now != before || !was_chosen) leave_to_gangs(now);
}

void Fleet::Impl::note_held(const NodeState& n, MilliGpu change) {
  if (n.home() == kNoArea || change == 0) return;
  const bool turned = domains.add_held(n.home(), change);
  const Group& g = *domains[n.home()];
  if (whole.rules().keep_whole == 0 || g.whole.working == 0 || !turned) return;
  const bool empty = g.held == 0;
  must(whole.has(WholeDomains::kind_of(g)), "the kind of a domain that works is known");
  if (empty) {
    whole.add(g);
  } else {
    whole.remove(g);
  }
  if (empty || g.left) leave_to_gangs(WholeDomains::kind_of(g));
}

void Fleet::set_domain_rules(const DomainRules& rules) {
  if (impl_->whole.rules() == rules) return;
  const bool gangs = impl_->whole.rules().clique_gangs != rules.clique_gangs;
  const std::vector<DomainIndex> were_left = impl_->whole.set_rules(rules, impl_->domains);
  for (const DomainIndex d : were_left) impl_->wired_changed(d);
  for (DomainIndex d = 1; d < impl_->domains.size(); ++d) impl_->survey(d);
  for (NodeIndex i = 0; gangs && i < impl_->nodes.size(); ++i) {
    if (impl_->nodes[i]) impl_->changed(i);
  }
  impl_->freed.add();
}

MilliGpu reserved_domains_milligpu(const Fleet& fleet, ClusterId cluster) {
  const Fleet::Impl& impl = fleet.impl();
  MilliGpu idle = 0;
  for (const DomainIndex d : impl.whole.left(cluster)) {
    for (const NodeIndex m : impl.domains[d]->members) idle += impl.nodes[m]->levels.idle;
  }
  must(idle >= 0, "nothing that is missing is idle");
  return idle;
}

}  // namespace subak
