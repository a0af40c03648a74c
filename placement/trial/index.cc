#include "placement/trial/index.h"

#include <algorithm>
#include <bit>

#include "core/limits.h"
#include "core/must.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/scene.h"
#include "placement/gpus/eligibility.h"

namespace subak {
namespace {

void count(std::vector<std::int64_t>& histogram, std::int64_t value, std::int64_t by) {
  const auto i = static_cast<std::size_t>(value);
  if (i >= histogram.size()) histogram.resize(i + 1);
  histogram[i] += by;
}

void set_histogram(Filter& f, NodeIndex node, std::int64_t by) {
  const std::int64_t value = f.free[node];
  if (value < 0) return;
  count(f.histogram, value, by);
  if (value >= f.all[node]) count(f.wholes, value, by);
  f.open_nodes += static_cast<std::size_t>(by);
}

std::int64_t times(const std::vector<std::int64_t>& histogram, std::int64_t each) {
  must(each > 0, "pods of some GPUs are counted");
  std::int64_t sum = 0;
  for (auto b = static_cast<std::size_t>(each); b < histogram.size(); ++b) {
    sum += histogram[b] * (static_cast<std::int64_t>(b) / each);
  }
  return sum;
}

void update_domain(Filter& f, const Fleet::Impl& impl, DomainIndex index) {
  if (index == kNoArea) return;
  if (index >= f.domains.size()) f.domains.resize(impl.domains.size());
  Filter::Domain now;
  now.key.domain = index;
  const auto& members = impl.domains[index]->members;
  now.key.low = members.empty() ? 0 : members.front();
  for (const NodeIndex m : members) {
    const std::int64_t free = m < f.free.size() ? f.free[m] : -1;
    if (free < 0) continue;
    now.key.weight += f.drained  ? f.held[m]
                      : f.counts ? free
                                 : impl.states[impl.nodes[m]->state].free;
    if (!f.drained) now.key.cpu_milli += cpu_left(impl.nodes[m]->room);
    now.most = std::max(now.most, free);
  }
  const auto matches = [&](NodeIndex m) { return m < f.matches.size() && f.matches[m]; };
  now.joined = members.size() > 1 && std::any_of(members.begin(), members.end(), matches);
  Filter::Domain& old = f.domains[index];
  if (now.joined && !old.joined) f.joined.insert(index);
  if (old.joined && !now.joined) f.joined.erase(index);
  old.joined = now.joined;
  if (old.most == now.most && old.key == now.key) return;
  if (f.counts && old.most >= 0) {
    must(f.buckets[static_cast<std::size_t>(old.most)].erase(old.key) == 1,
         "a domain is found by its key");
  }
  if (f.counts && now.most >= 0) {
    const auto b = static_cast<std::size_t>(now.most);
    if (b >= f.buckets.size()) f.buckets.resize(b + 1);
    f.buckets[b].insert(now.key);
  }
  old = now;
}

void put_among_alike(Filter& f, const Fleet::Impl& impl, NodeIndex i) {
  const NodeState& n = *impl.nodes[i];
  const bool joined = n.domain != kNoArea && impl.domains[n.domain]->members.size() > 1;
  const std::uint32_t now = f.free[i] < 0 ? kNotAlike : alike_number(n.state, joined);
  std::uint32_t& was = f.alike_of[i];
  if (was == now) return;
  if (was != kNotAlike) {
    Filter::Alike& left = f.alike[was];
    left.nodes.erase(i);
    if (left.nodes.empty()) {
      must(f.live[left.place] == was, "a live state is in its place");
      f.alike[f.live.back()].place = left.place;
      f.live[left.place] = f.live.back();
      f.live.pop_back();
    }
  }
  if (now != kNotAlike) {
    if (now >= f.alike.size()) f.alike.resize(now + 1);
    Filter::Alike& entered = f.alike[now];
    if (entered.nodes.empty()) {
      entered.place = static_cast<std::uint32_t>(f.live.size());
      f.live.push_back(now);
    }
    entered.nodes.insert(i);
  }
  was = now;
}

void update_node(Filter& f, const Fleet::Impl& impl, NodeIndex i) {
  const NodeState& n = *impl.nodes[i];
  if (n.static_position >= f.position) {
    set_histogram(f, i, -1);
    f.matching -= f.matches[i] ? 1 : 0;
    const bool here = n.present && n.cluster == f.cluster;
    const bool tolerated = eligibility::tolerates_all(f.pod.tolerations, n.spec.taints);
    const bool wanted = here && eligibility::matches_but_taints(f.pod, n.spec);
    f.matches[i] = wanted && tolerated;
    f.tainted[i] = wanted && !tolerated;
    f.matching += f.matches[i] ? 1 : 0;
    f.all[i] = f.matches[i] ? all_count(f, n.spec) : 0;
    set_histogram(f, i, 1);
  }
  const bool open = f.matches[i] && n.open_for(f.tolerates_cordon);
  const std::int64_t value = open ? free_count(f, n.spec, f.drained ? n.works : n.room) : -1;
  if (f.drained) f.held[i] = n.load.allocated;
  if (value != f.free[i]) {
    set_histogram(f, i, -1);
    f.free[i] = value;
    set_histogram(f, i, 1);
  }
  if (!f.drained) put_among_alike(f, impl, i);
  if (f.domain_of[i] != n.domain) {
    const DomainIndex left = f.domain_of[i];
    f.domain_of[i] = n.domain;
    update_domain(f, impl, left);
  }
}

}  // namespace

std::int64_t cpu_left(const Room& room) {
  return std::clamp<std::int64_t>(room.cpu_milli, 0, limits::kMaxCpuMilli);
}

std::int64_t free_count(const Filter& f, const NodeSpec& spec, const Room& room) {
  if (f.pod.kind == GpuKind::kWhole) return std::popcount(room.whole);
  if (f.pod.kind != GpuKind::kMig) return 0;
  const int m = mig_index(spec, f.pod.profile);
  return m < 0 ? 0 : room.mig_free[static_cast<std::size_t>(m)];
}

std::int64_t all_count(const Filter& f, const NodeSpec& spec) {
  if (f.pod.kind == GpuKind::kWhole) return spec.replicas > 1 ? 0 : uncut_gpus(spec);
  if (f.pod.kind != GpuKind::kMig) return 0;
  const int m = mig_index(spec, f.pod.profile);
  return m < 0 ? 0 : spec.mig[static_cast<std::size_t>(m)].count;
}

void catch_up(Filter& f, const Fleet::Impl& impl) {
  must(f.position <= impl.changes.end(), "a filter is not ahead of its fleet");
  if (f.position == impl.changes.end()) return;
  f.free.resize(impl.nodes.size(), -1);
  f.all.resize(impl.nodes.size());
  if (f.drained) f.held.resize(impl.nodes.size());
  f.matches.resize(impl.nodes.size());
  f.tainted.resize(impl.nodes.size());
  f.domain_of.resize(impl.nodes.size(), kNoArea);
  f.alike_of.resize(impl.nodes.size(), kNotAlike);
  if (f.position < impl.changes.begin()) {
    for (NodeIndex i = 0; i < impl.nodes.size(); ++i) {
      if (impl.nodes[i]) update_node(f, impl, i);
    }
    for (DomainIndex d = 1; d < impl.domains.size(); ++d) update_domain(f, impl, d);
  } else {
    for (std::uint64_t p = f.position; p < impl.changes.end(); ++p) {
      const NodeIndex i = impl.changes[p];
      update_node(f, impl, i);
      update_domain(f, impl, f.domain_of[i]);
    }
  }
  if (f.domains.size() < impl.domains.size()) f.domains.resize(impl.domains.size());
  f.position = impl.changes.end();
  must(f.open_nodes <= f.matching, "an open node matches");
}

void catch_up_drained(Filter& f, const Fleet::Impl& impl) {
  must(!f.drained, "a drained filter belongs to one that is not");
  if (!f.when_drained) {
    f.when_drained = std::make_unique<Filter>();
    Filter& drained = *f.when_drained;
    drained.cluster = f.cluster;
    drained.pod = f.pod;
    drained.tolerates_cordon = f.tolerates_cordon;
    drained.counts = f.counts;
    drained.drained = true;
  }
  catch_up(*f.when_drained, impl);
}

Patch::Patch(const Filter& f, const Scene& scene) {
  must(f.counts, "only filters that count have patches");
  const auto add = [&](NodeIndex i) {
    const NodeState& n = scene.node(i);
    const bool open = scene.all_open ? f.matches[i] : f.free[i] >= 0;
    nodes.push_back({i, open ? free_count(f, n.spec, scene.room(i)) : -1, scene.load(i).allocated});
    if (n.domain != kNoArea) domains.emplace_back().key.domain = n.domain;
  };
  if (scene.all_open && f.matching > f.open_nodes) {
    for (NodeIndex i = 0; i < f.free.size(); ++i) {
      const bool other = scene.overlay != nullptr && scene.overlay->find(i) != nullptr;
      if (other || (f.matches[i] && f.free[i] < 0)) add(i);
    }
  } else if (scene.overlay != nullptr) {
    for (const Overlay::Node& n : scene.overlay->nodes) add(n.node);
  }
  const auto by_index = [](const Filter::Domain& a, const Filter::Domain& b) {
    return a.key.domain < b.key.domain;
  };
  std::sort(domains.begin(), domains.end(), by_index);
  const auto same = [](const Filter::Domain& a, const Filter::Domain& b) {
    return a.key.domain == b.key.domain;
  };
  domains.erase(std::unique(domains.begin(), domains.end(), same), domains.end());
  for (Filter::Domain& d : domains) {
    const auto& members = scene.fleet.domains[d.key.domain]->members;
    must(!members.empty(), "a patched domain has the patched node");
    d.key.low = members.front();
    for (const NodeIndex m : members) {
      const Node* other = find(m);
      const std::int64_t free = other == nullptr ? f.free[m] : other->free;
      if (free < 0) continue;
      const MilliGpu held = !f.drained ? 0 : other == nullptr ? f.held[m] : other->held;
      d.key.weight += f.drained ? held : free;
      if (!f.drained) d.key.cpu_milli += cpu_left(scene.room(m));
      d.most = std::max(d.most, free);
    }
  }
}

std::vector<Filter::Domain> Patch::in_order(CpuAsk ask) const {
  std::vector<Filter::Domain> order = domains;
  std::sort(order.begin(), order.end(), [&](const Filter::Domain& a, const Filter::Domain& b) {
    return ask.before(a.key, b.key);
  });
  return order;
}

const Patch::Node* Patch::find(NodeIndex node) const {
  const auto it = std::lower_bound(nodes.begin(), nodes.end(), node,
                                   [](const Node& n, NodeIndex i) { return n.node < i; });
  return it != nodes.end() && it->node == node ? &*it : nullptr;
}

const Filter::Domain* Patch::find_domain(DomainIndex domain) const {
  const auto it =
      std::lower_bound(domains.begin(), domains.end(), domain,
                       [](const Filter::Domain& d, DomainIndex i) { return d.key.domain < i; });
  return it != domains.end() && it->key.domain == domain ? &*it : nullptr;
}

std::int64_t Index::most_free() const {
  std::int64_t most = static_cast<std::int64_t>(filter_->buckets.size()) - 1;
  if (patch_ == nullptr) return most;
  for (const Filter::Domain& d : patch_->domains) most = std::max(most, d.most);
  return most;
}

std::int64_t Index::times_free(std::int64_t each) const {
  std::int64_t sum = times(filter_->histogram, each);
  if (patch_ == nullptr) return sum;
  const auto of = [each](std::int64_t free) { return free < 0 ? 0 : free / each; };
  for (const Patch::Node& n : patch_->nodes) sum += of(n.free) - of(filter_->free[n.node]);
  must(sum >= 0, "pods that fit are no fewer than none");
  return sum;
}

std::int64_t Index::times_on_fragments(std::int64_t each) const {
  std::int64_t sum = times(filter_->histogram, each) - times(filter_->wholes, each);
  if (patch_ == nullptr) return sum;
  for (const Patch::Node& n : patch_->nodes) {
    const auto of = [&](std::int64_t free) {
      return free < 0 || free >= filter_->all[n.node] ? 0 : free / each;
    };
    sum += of(n.free) - of(filter_->free[n.node]);
  }
  must(sum >= 0, "pods that fit are no fewer than none");
  return sum;
}

}  // namespace subak
