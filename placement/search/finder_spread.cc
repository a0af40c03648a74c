// Places a run of equal pods over as few domains, then as few nodes, as possible. It takes complete
// domains and nodes from the largest down, and puts the rest where it fits tightest.
#include <algorithm>
#include <cassert>

#include "placement/search/finder.h"

namespace subak {

// Without holds nearly every node could serve. To avoid looking at all of them, it uses the index's
// upper bounds until it chooses a domain. If less fits there, the result is undecided.
bool Finder::spread_drained(const Run& run) {
  const std::int64_t each = run.pods->shape->gpus;
  if (!run.index.drained() || each <= 0) return false;
  if (run.index.nodes_apart()) return spread_apart(run) && sort_ranks(run);
  std::vector<Cap>& caps = spread_.caps;
  caps.clear();
  std::int64_t sum = 0;
  for (NodeIndex i = 0; run.index.knows(i); ++i) {
    const std::int64_t most = std::min<std::int64_t>(run.index.free(i) / each, run.count);
    if (most <= 0 || !eligible(run.index, i)) continue;
    sum += most;
    caps.push_back({i, run.index.domain_of(i), most, run.index.held(i)});
  }
  if (sum < run.count) return false;
  caps_are_bounds_ = true;
  const bool ok = spread_caps(run, caps);
  caps_are_bounds_ = false;
  return ok && sort_ranks(run);
}

// The same if each node is a domain by itself. The index has the nodes in the order of
// spread_caps(), so it looks only at those that it takes.
bool Finder::spread_apart(const Run& run) {
  const std::int64_t each = run.pods->shape->gpus;
  const std::size_t mark = placed_.size();
  Run left = run;
  std::vector<NodeIndex> used;
  bool sure = true;
  const auto take = [&](NodeIndex i) {
    if (!eligible(run.index, i)) return false;
    const std::int64_t most = std::min<std::int64_t>(run.index.free(i) / each, run.count);
    const auto pods = static_cast<std::uint32_t>(std::min<std::int64_t>(most, left.count));
    sure = cap(run, i, kAllGpus, most) == most &&
           place({left.pods, left.index, left.rank, pods}, i, kAllGpus);
    if (!sure) return false;
    used.push_back(i);
    left.rank += pods;
    left.count -= pods;
    return true;
  };
  const auto last_one = [&](const DomainKey& d) {
    return !std::binary_search(used.begin(), used.end(), d.low) && (take(d.low) || !sure);
  };
  std::int64_t level = std::min<std::int64_t>(run.index.most_free() / each, run.count);
  for (; sure && left.count > 0 && level > 0; --level) {
    const auto largest = [&](const DomainKey& d) {
      take(d.low);
      return !sure || left.count <= level;
    };
    if (level < left.count) run.index.visit({level * each, (level + 1) * each}, 0, {}, largest);
    // From here on one node is enough: it takes the tightest of those.
    if (sure && left.count > 0 && level >= left.count) {
      std::sort(used.begin(), used.end());
      run.index.visit({.from = left.count * each}, 0, {}, last_one);
      level = left.count;  // all others take less
    }
  }
  if (sure && left.count == 0) return true;
  undo_to(mark);
  return false;
}

bool Finder::hold_true(const Run& run, const std::vector<Cap>& caps, const CapDomain& domain) {
  const auto begin = caps.begin() + static_cast<std::ptrdiff_t>(domain.begin);
  const auto end = caps.begin() + static_cast<std::ptrdiff_t>(domain.end);
  return std::all_of(begin, end,
                     [&](const Cap& c) { return cap(run, c.node, kAllGpus, c.pods) == c.pods; });
}

bool Finder::spread(const Run& run, Area area) {
  if (area == nullptr) {
    if (spread_drained(run)) return true;
    if (const auto decided = spread_alike(run)) return *decided;
  }
  std::vector<Cap>& caps = spread_.caps;
  caps.clear();
  std::int64_t sum = 0;
  const auto consider = [&](NodeIndex i) {
    const std::int64_t c = cap(run, i, kAllGpus, run.count);
    if (c <= 0) return false;
    sum += c;
    caps.push_back({i, node(i).domain, c, weight(run.index, i)});
    return scene_.all_open && spare_ == 0 && sum >= run.count;
  };
  if (indexed(run, area)) {
    run.index.visit(run.pods->shape->gpus, 0, {}, [&](const DomainKey& d) {
      for (const NodeIndex m : members(d.domain)) {
        if (run.index.free(m) >= run.pods->shape->gpus) consider(m);
      }
      return false;
    });
  } else {
    each_node(area, consider);
  }
  if (sum < run.count) return false;
  const auto broken = [&](const Cap& c) { return fragment(run.index, c.node); };
  const bool all_free =
      scene_.nothing_held && (spare_ == 0 || !run.index.counts() || scene_.is_empty());
  const bool alike = all_free || std::none_of(caps.begin(), caps.end(), broken);
  if (alike) return spread_caps(run, caps) && sort_ranks(run);
  // Use as few nodes without holds as possible, and fill those; the rest goes to nodes with holds.
  const auto whole = std::stable_partition(caps.begin(), caps.end(), broken);
  std::vector<Cap>& wholes = spread_.wholes;
  wholes.assign(whole, caps.end());
  caps.erase(whole, caps.end());
  Run first = run, rest = run;
  first.count = pods_on_wholes(run.count, caps, wholes);
  rest.rank += first.count;
  rest.count -= first.count;
  const std::size_t mark = placed_.size();
  if (spread_caps(first, wholes) && spread_caps(rest, caps)) return sort_ranks(run);
  undo_to(mark);
  return false;
}

// Returns how many of the pods fill the fewest necessary whole nodes.
std::uint32_t Finder::pods_on_wholes(std::uint32_t pods, const std::vector<Cap>& fragments,
                                     const std::vector<Cap>& wholes) {
  std::int64_t missing = pods;
  for (const Cap& c : fragments) missing -= c.pods;
  std::vector<std::int64_t> most;
  most.reserve(wholes.size());
  for (const Cap& c : wholes) most.push_back(c.pods);
  std::sort(most.rbegin(), most.rend());
  std::int64_t filled = 0;
  for (const std::int64_t c : most) filled += filled < missing ? c : 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(filled, pods));
}

bool Finder::spread_caps(const Run& run, std::vector<Cap>& caps) {
  // Group by domain; within one, most pods first, then the tightest node. Nodes that are domains by
  // themselves come in this order.
  const auto before = [](const Cap& a, const Cap& b) {
    if (a.domain != b.domain) return a.domain < b.domain;
    if (a.pods != b.pods) return a.pods > b.pods;
    return a.weight != b.weight ? a.weight < b.weight : a.node < b.node;
  };
  if (!std::is_sorted(caps.begin(), caps.end(), before)) {
    std::sort(caps.begin(), caps.end(), before);
  }
  std::vector<CapDomain>& domains = spread_.domains;
  domains.clear();
  for (std::size_t i = 0; i < caps.size(); ++i) {
    if (i == 0 || caps[i].domain != caps[i - 1].domain) {
      domains.push_back({domain_key(run.index, caps[i].domain), 0, i, i});
    }
    domains.back().pods += caps[i].pods;
    domains.back().end = i + 1;
  }
  const auto larger = [](const CapDomain& a, const CapDomain& b) {
    return a.pods != b.pods ? a.pods > b.pods : a.key < b.key;
  };
  // Each takes at least one pod, so it needs no more of the largest than there are pods.
  const std::size_t most = std::min<std::size_t>(domains.size(), run.count);
  if (most < domains.size() / 8) {
    const auto end = domains.begin() + static_cast<std::ptrdiff_t>(most);
    std::partial_sort(domains.begin(), end, domains.end(), larger);
  } else {
    std::sort(domains.begin(), domains.end(), larger);
  }
  Run left = run;
  const std::size_t mark = placed_.size();
  for (std::size_t next = 0; left.count > 0; ++next) {
    assert(next < domains.size());
    std::size_t chosen = next;
    // From here on one domain is enough: it prefers one with a single node that is enough, and then
    // the tightest.
    const auto order = [&](const CapDomain& d) {
      return std::pair(caps[d.begin].pods < left.count, d.key);
    };
    const bool enough = domains[next].pods >= left.count;
    for (std::size_t i = next; enough && i < domains.size(); ++i) {
      if (domains[i].pods < left.count) continue;
      if (order(domains[i]) < order(domains[chosen])) chosen = i;
    }
    const bool sure = !caps_are_bounds_ || hold_true(run, caps, domains[chosen]);
    if (!sure || !fill_domain(left, caps, domains[chosen])) {
      undo_to(mark);
      return false;
    }
  }
  return true;
}

bool Finder::fill_domain(Run& left, std::vector<Cap>& caps, const CapDomain& domain) {
  std::size_t next = domain.begin;
  while (left.count > 0 && next < domain.end) {
    std::size_t chosen = next;
    for (std::size_t i = next; i < domain.end && caps[i].pods >= left.count; ++i) {
      const auto tightness = [&](const Cap& c) { return std::pair(c.weight, c.node); };
      if (tightness(caps[i]) < tightness(caps[chosen])) chosen = i;
    }
    const auto take =
        static_cast<std::uint32_t>(std::min<std::int64_t>(caps[chosen].pods, left.count));
    if (!place({left.pods, left.index, left.rank, take}, caps[chosen].node, kAllGpus)) return false;
    left.rank += take;
    left.count -= take;
    ++next;
  }
  return true;
}

// Puts neighbouring ranks on neighbouring nodes.
bool Finder::sort_ranks(const Run& run) {
  const auto first = slots_.begin() + static_cast<std::ptrdiff_t>(run.rank);
  std::stable_sort(first, first + static_cast<std::ptrdiff_t>(run.count),
                   [&](const PodSlot& a, const PodSlot& b) {
                     return where(a.node.value) < where(b.node.value);
                   });
  return true;
}

}  // namespace subak
