// Places a run of equal pods over as few domains, then as few nodes, as possible. It takes complete
// domains and nodes from the largest down, and puts the rest where it fits tightest.
#include "placement/ways/spread.h"

#include <algorithm>
#include <utility>

#include "placement/ways/ways.h"

namespace subak {
namespace {

// Fills `caps` with the nodes of the area that have room for pods of the run. Returns for how many
// pods they have room.
std::int64_t find_caps(GangAttempt& a, const Bounds& bounds, const Run& run, Area area,
                       std::vector<Cap>& caps) {
  const Query& q = a.query();
  caps.clear();
  std::int64_t sum = 0;
  const auto consider = [&](NodeIndex i) {
    const std::int64_t c = a.cap(bounds, run, i, kAllGpus, run.count);
    if (c <= 0) return false;
    sum += c;
    caps.push_back({i, q.node(i).domain, c, q.weight(run.index, i)});
    return q.scene.all_open && bounds.spare == 0 && sum >= run.count;
  };
  if (!q.indexed(run, area)) {
    q.each_node(area, consider);
    return sum;
  }
  run.index.visit(run.pods->shape->gpus, 0, {}, [&](const DomainKey& d) {
    for (const NodeIndex m : q.members(d.domain)) {
      if (run.index.free(m) >= run.pods->shape->gpus) consider(m);
    }
    return false;
  });
  return sum;
}

// Returns how many of the pods go to whole nodes if as few whole nodes as possible are used.
std::uint32_t pods_on_wholes(std::uint32_t pods, const std::vector<Cap>& fragments,
                             const std::vector<Cap>& wholes) {
  std::int64_t missing = pods;
  for (const Cap& c : fragments) missing -= c.pods;
  std::vector<std::int64_t> most;
  most.reserve(wholes.size());
  for (const Cap& c : wholes) most.push_back(c.pods);
  std::sort(most.rbegin(), most.rend());
  std::int64_t filled = 0;
  for (const std::int64_t c : most) filled += filled < missing ? c : 0;
  must(filled >= missing, "whole nodes hold what fragments do not");
  return static_cast<std::uint32_t>(std::min<std::int64_t>(filled, pods));
}

// Uses as few nodes without holds as possible, and fills those; the rest goes to nodes with holds.
// `caps`: of both kinds.
bool spread_wholes_first(GangAttempt& a, const Bounds& bounds, const Run& run,
                         std::vector<Cap>& caps) {
  const auto broken = [&](const Cap& c) { return a.query().fragment(run.index, c.node); };
  const auto whole = std::stable_partition(caps.begin(), caps.end(), broken);
  std::vector<Cap>& wholes = a.memory().wholes;
  wholes.assign(whole, caps.end());
  caps.erase(whole, caps.end());
  Run first = run, rest = run;
  first.count = pods_on_wholes(run.count, caps, wholes);
  drop_first(rest, first.count);
  const std::size_t mark = a.trial().mark();
  if (spread_caps(a, bounds, first, wholes) && spread_caps(a, bounds, rest, caps)) return true;
  a.trial().undo_to(mark);
  return false;
}

// True if each of the domain's nodes has room for as many pods as its Cap says.
bool hold_true(GangAttempt& a, const Bounds& bounds, const Run& run, const std::vector<Cap>& caps,
               const CapDomain& domain) {
  const auto begin = caps.begin() + static_cast<std::ptrdiff_t>(domain.begin);
  const auto end = caps.begin() + static_cast<std::ptrdiff_t>(domain.end);
  return std::all_of(begin, end, [&](const Cap& c) {
    return a.cap(bounds, run, c.node, kAllGpus, c.pods) == c.pods;
  });
}

// Fills `domains` with the domains of `caps`, the most pods first. Groups `caps` by domain. Inside
// a domain, nodes for the most pods come first, then the tightest nodes.
void group_by_domain(const Query& q, const Run& run, std::vector<Cap>& caps,
                     std::vector<CapDomain>& domains) {
  // Nodes that are domains by themselves come in this order.
  const auto before = [](const Cap& a, const Cap& b) {
    if (a.domain != b.domain) return a.domain < b.domain;
    if (a.pods != b.pods) return a.pods > b.pods;
    return a.weight != b.weight ? a.weight < b.weight : a.node < b.node;
  };
  if (!std::is_sorted(caps.begin(), caps.end(), before)) {
    std::sort(caps.begin(), caps.end(), before);
  }
  domains.clear();
  for (std::size_t i = 0; i < caps.size(); ++i) {
    if (i == 0 || caps[i].domain != caps[i - 1].domain) {
      domains.push_back({q.domain_key(run.index, caps[i].domain), 0, i, i});
    }
    domains.back().pods += caps[i].pods;
    domains.back().end = i + 1;
  }
  must(domains.empty() || domains.back().end == caps.size(), "each node is in one domain");
  const auto larger = [](const CapDomain& a, const CapDomain& b) {
    return a.pods != b.pods ? a.pods > b.pods : a.key < b.key;
  };
  // Each domain takes at least one pod, so no more domains are needed than there are pods.
  const std::size_t most = std::min<std::size_t>(domains.size(), run.count);
  if (most < domains.size() / 8) {
    const auto end = domains.begin() + static_cast<std::ptrdiff_t>(most);
    std::partial_sort(domains.begin(), end, domains.end(), larger);
  } else {
    std::sort(domains.begin(), domains.end(), larger);
  }
}

}  // namespace

bool spread(GangAttempt& a, const Bounds& bounds, const Run& run, Area area) {
  must(run.count > 0, "some pods are spread");
  const Query& q = a.query();
  if (area == nullptr) {
    if (spread_drained(a, bounds, run)) return true;
    if (const auto decided = spread_alike(a, bounds, run)) return *decided;
  }
  std::vector<Cap>& caps = a.memory().caps;
  if (find_caps(a, bounds, run, area, caps) < run.count) return false;
  const auto broken = [&](const Cap& c) { return q.fragment(run.index, c.node); };
  const bool all_free =
      q.scene.nothing_held && (bounds.spare == 0 || !run.index.counts() || q.scene.is_empty());
  const bool alike = all_free || std::none_of(caps.begin(), caps.end(), broken);
  const bool ok =
      alike ? spread_caps(a, bounds, run, caps) : spread_wholes_first(a, bounds, run, caps);
  if (ok) sort_ranks(a, run);
  return ok;
}

bool spread_caps(GangAttempt& a, const Bounds& bounds, const Run& run, std::vector<Cap>& caps,
                 Caps sure) {
  std::vector<CapDomain>& domains = a.memory().domains;
  group_by_domain(a.query(), run, caps, domains);
  Run left = run;
  const std::size_t mark = a.trial().mark();
  for (std::size_t next = 0; left.count > 0; ++next) {
    must(next < domains.size(), "a spread has room for all its pods");
    std::size_t chosen = next;
    // The order of the domains that have room for the rest: first those with a single node that has
    // room for it, then the tightest.
    const auto order = [&](const CapDomain& d) {
      return std::pair(caps[d.begin].pods < left.count, d.key);
    };
    const bool enough = domains[next].pods >= left.count;
    for (std::size_t i = next; enough && i < domains.size(); ++i) {
      if (domains[i].pods < left.count) continue;
      if (order(domains[i]) < order(domains[chosen])) chosen = i;
    }
    const bool fits = sure == Caps::kExact || hold_true(a, bounds, run, caps, domains[chosen]);
    if (!fits || !fill_domain(a, bounds, left, caps, domains[chosen])) {
      a.trial().undo_to(mark);
      return false;
    }
  }
  must(a.trial().mark() == mark + run.count, "a spread places all its pods");
  return true;
}

bool fill_domain(GangAttempt& a, const Bounds& bounds, Run& left, const std::vector<Cap>& caps,
                 const CapDomain& domain) {
  must(domain.begin <= domain.end && domain.end <= caps.size(), "a domain's nodes have caps");
  std::size_t next = domain.begin;
  while (left.count > 0 && next < domain.end) {
    std::size_t chosen = next;
    for (std::size_t i = next; i < domain.end && caps[i].pods >= left.count; ++i) {
      const auto tightness = [&](const Cap& c) { return std::pair(c.weight, c.node); };
      if (tightness(caps[i]) < tightness(caps[chosen])) chosen = i;
    }
    const auto take =
        static_cast<std::uint32_t>(std::min<std::int64_t>(caps[chosen].pods, left.count));
    const Run here{left.pods, left.index, left.rank, take};
    if (!a.place(bounds, here, caps[chosen].node, kAllGpus)) return false;
    drop_first(left, take);
    ++next;
  }
  return true;
}

void sort_ranks(GangAttempt& a, const Run& run) {
  a.trial().sort_slots(run, [&](NodeIndex i) { return a.query().where(i); });
}

}  // namespace subak
