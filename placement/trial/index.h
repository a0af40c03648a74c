// For one kind of pod: which nodes it may use, and in which order a search should try them. The
// order is best fit: of the nodes with enough free GPUs, the one with the fewest comes first. So
// large groups of free GPUs stay whole. A search (placement/search/search.h) reads this file's
// classes instead of every node of the fleet.
//
// Terms:
//   - A *hold* is the GPUs and slices that a pod takes on a node.
//   - A node *matches* a pod if its description suits the pod: cluster, GPU kind, product,
//     selectors, affinity and taints.
//   - A node is *open* for a pod if it matches and takes such pods now. It is ready, fit and not
//     drained, and the pod tolerates its cordon, if any. An open node may be full.
//   - Open nodes are *alike* if their free GPUs are in the same state, so a search judges only one.
//   - A *snapshot* (class `FleetView`) is the live fleet, or the fleet after hypothetical releases.
//
// Classes:
//   - `Filter` has the nodes for one kind of pod in the live fleet. Pods with equal conditions on
//     nodes share one filter. catch_up() reads the nodes that changed since its last call, so an
//     unused filter costs nothing.
//   - `Patch` has the differences between a filter and one snapshot.
//   - `Index` combines both. A search reads it to get the nodes of one snapshot.
//
// Example: a filter for pods with whole GPUs says that 3 GPUs of node 7 are free. In a snapshot in
// which a job with 5 GPUs on that node has ended, the patch says 8. So Index::free(7) is 8.
//
// Units: whole GPUs or slices, and milli-GPU where a comment says so. Errors: none.
// Threads: a filter, its patches and its indexes belong to the thread of their Search. Private to
// placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/block_set.h"
#include "core/ids.h"
#include "model/request.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/gpu_state.h"
#include "placement/gpus/load.h"
#include "placement/gpus/room.h"

namespace subak {

// The best-fit key of an NVLink domain: least weight first, then the order of CpuAsk, then the
// lowest node in the domain. The weight is the free amount, in GPUs or slices if the filter counts
// these, else in milli-GPU. In a snapshot without holds (FleetView::drained()), it is the milli-GPU
// held in the live fleet: a job would wait until they are free.
struct DomainKey {
  // The weight. The least is the best.
  std::int64_t weight = 0;
  // The free CPU on its open nodes (cpu_left()). 0 in a snapshot without holds.
  std::int64_t cpu_milli = 0;
  // The lowest node of the domain, then the domain itself.
  NodeIndex low = 0;
  DomainIndex domain = 0;
  friend auto operator<=>(const DomainKey&, const DomainKey&) = default;
};

// Returns the free CPU of a node for its key. A node that declares no CPU counts as having more
// than any other node.
std::int64_t cpu_left(const Room& room);

// How much CPU a search wants, and the order of domains that follows. It orders domains of equal
// weight by their free CPU, so that pods with much CPU do not leave GPUs without CPU. Domains with
// enough CPU come first: `milli / units` for each of their free GPUs. The *short* domains follow.
// In both groups, the domain with the least CPU comes first.
// Example: a pod wants 1 GPU and 8 CPUs. Three domains have 4 free GPUs each, and 20, 32 and 60
// free CPUs. The order is 32, 60, 20, because 20 CPUs are less than 4 x 8.
struct CpuAsk {
  // The wanted CPU in thousandths. 0: domains with the least CPU come first.
  std::int64_t milli = 0;
  // The number of GPUs or slices that together want this CPU.
  std::int64_t units = 1;

  // Returns the CPU for `weight` GPUs or slices at this rate, rounded up.
  std::int64_t fair(std::int64_t weight) const { return (weight * milli + units - 1) / units; }
  // A strict order of all keys, since equal keys are ordered by the domain's index.
  bool before(const DomainKey& a, const DomainKey& b) const {
    if (a.weight != b.weight) return a.weight < b.weight;
    const bool a_short = a.cpu_milli < fair(a.weight), b_short = b.cpu_milli < fair(b.weight);
    return a_short != b_short ? b_short : a < b;
  }
};

struct Scene;

// An alike number stands for all open nodes of a filter that are alike. Their GPUs have the same
// state (GpuStates), and either all or none of them share their domain with other nodes. The number
// is 2 x state, plus 1 if they share it. kNotAlike: the node is not open.
inline constexpr std::uint32_t kNotAlike = 0;
inline std::uint32_t alike_number(StateIndex state, bool joined) {
  return 2 * state + (joined ? 1 : 0);
}
// Return the two parts of an alike number: the state, and whether other nodes are in the domain.
inline StateIndex state_of_alike(std::uint32_t number) { return number / 2; }
inline bool joined_alike(std::uint32_t number) { return number % 2 != 0; }

// The nodes for one kind of pod in the live fleet. Only catch_up() writes the fields that depend on
// nodes.
struct Filter {
  // The filter's key in the cache of its Search.
  std::string key;
  // How many Pods of cached shapes use the filter.
  std::size_t users = 0;
  // The cluster of the pods. Nodes of other clusters do not match.
  ClusterId cluster;
  // The pod, with only the fields that decide whether a node matches.
  PodShape pod;
  // True: cordoned nodes are open for these pods.
  bool tolerates_cordon = false;
  // True for kWhole and kMig: free amounts are counted in whole GPUs or slices.
  bool counts = false;
  // True: the filter describes the fleet without holds, so every healthy GPU and every slice counts
  // as free. Only a filter that counts free amounts can be so.
  bool drained = false;

  // For each node: -1 if it does not match or is not open, else its free whole GPUs or slices. 0
  // for an open node if `counts` is not set.
  std::vector<std::int64_t> free;
  // For each node: the value that `free` would have without holds and with all GPUs working; 0 if
  // the node does not match.
  std::vector<std::int64_t> all;
  // If `drained` is set: for each node, the milli-GPU held on it in the live fleet. Else empty.
  std::vector<MilliGpu> held;
  // For each node, whether its description matches. The node may be closed or broken.
  std::vector<bool> matches;
  // For each node, whether its taints alone keep it from matching.
  std::vector<bool> tainted;
  // For each node, its NVLink domain.
  std::vector<DomainIndex> domain_of;
  // The number of nodes that match.
  std::size_t matching = 0;

  // The figures of one NVLink domain, over its open nodes.
  struct Domain {
    DomainKey key;
    // The largest free amount on one of its nodes. -1: it has no such node.
    std::int64_t most = -1;
    // True: the domain has several nodes, and at least one of them matches. Not set in a patch.
    bool joined = false;
  };
  // The domains, by DomainIndex.
  std::vector<Domain> domains;
  // The indexes of joined domains.
  std::set<DomainIndex> joined;
  // buckets[n]: the domains whose nodes have at most n free GPUs or slices each, and one node has
  // n. Each bucket is in best-fit order. Empty unless `counts` is set.
  std::vector<BlockSet<DomainKey>> buckets;
  // histogram[n]: how many open nodes have n free GPUs or slices. wholes[n]: how many of these have
  // all their GPUs or slices free.
  std::vector<std::int64_t> histogram;
  std::vector<std::int64_t> wholes;
  // The number of nodes that match and are open.
  std::size_t open_nodes = 0;

  // The open nodes with one alike_number(), in the live fleet. Not used if `drained` is set.
  struct Alike {
    BlockSet<NodeIndex> nodes;
    // The index of the number in `live`.
    std::uint32_t place = 0;
  };
  // The nodes of each alike_number().
  std::vector<Alike> alike;
  // The alike numbers that have nodes, in no order.
  std::vector<std::uint32_t> live;
  // The alike number of each node. kNotAlike: the node has none.
  std::vector<std::uint32_t> alike_of;
  // The filter has read the change log up to this position.
  std::uint64_t position = 0;

  // The filter of the same pods in a fleet without holds. nullptr until it is first used.
  std::unique_ptr<Filter> when_drained;
};

// Brings the filter up to date. Afterwards `position` is the end of the change log. O(changes since
// the last call), or O(nodes) if the log no longer has these changes. The filter does not refer to
// the fleet.
void catch_up(Filter& filter, const Fleet::Impl& fleet);
// Does the same for `filter.when_drained`, the filter of these pods without holds. Makes that
// filter if there is none. `filter` must not be drained itself.
void catch_up_drained(Filter& filter, const Fleet::Impl& fleet);
// Return the value of Filter::free (for an open node whose room is `room`) and the value of
// Filter::all. Values are whole GPUs or slices; 0 for a filter that does not count.
std::int64_t free_count(const Filter& filter, const NodeSpec& spec, const Room& room);
std::int64_t all_count(const Filter& filter, const NodeSpec& spec);

// The free amounts from `from` to below `to`.
struct FreeRange {
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
};

// Iterates over the domains of one bucket (Filter::buckets) by weight, from the weight `least` on.
// Domains of one weight come in the order of CpuAsk. The iteration leaves out domains with less CPU
// than CpuAsk::milli, because they cannot serve the pods. The bucket must not change meanwhile.
class InOrder {
 public:
  InOrder(const BlockSet<DomainKey>& of, std::int64_t least, CpuAsk ask) : of_(&of), ask_(ask) {
    if (enter(least)) settle();
  }
  // True at the end: there is no domain to read, and next() must not be called.
  bool at_end() const { return at_ == of_->end(); }
  const DomainKey& operator*() const { return *at_; }
  void next() {
    ++at_;
    settle();
  }

 private:
  bool in_group() const { return !at_end() && at_->weight == weight_; }
  // Moves to the domains of the least weight that is not below `least`. If there are none, it moves
  // to the end and returns false.
  bool enter(std::int64_t least) {
    at_ = of_->lower_bound({least, 0, 0, 0});
    if (at_end()) return false;
    weight_ = at_->weight;
    short_ = false;
    if (ask_.milli > 0) at_ = of_->lower_bound({weight_, ask_.fair(weight_), 0, 0});
    return true;
  }
  // Moves to the next domain that is not left out, or to the end.
  void settle() {
    while (!in_group() || (short_ && at_->cpu_milli >= ask_.fair(weight_))) {
      if (!short_ && ask_.milli > 0) {
        short_ = true;
        at_ = of_->lower_bound({weight_, ask_.milli, 0, 0});
      } else if (!enter(weight_ + 1)) {
        return;
      }
    }
  }

  const BlockSet<DomainKey>* of_;
  CpuAsk ask_;
  BlockSet<DomainKey>::const_iterator at_;
  std::int64_t weight_ = 0;
  // True: the iteration has reached the domains with too little CPU for all their GPUs.
  bool short_ = false;
};

// Calls fn(DomainKey) for domains in the order of `ask`, until fn returns true. It visits each
// domain whose largest free amount on one node is in `range` and whose weight is at least `least`.
// It leaves out domains with less CPU than CpuAsk::milli. Returns true if fn returned true. fn must
// not change the filter. O(buckets) for each domain visited.
template <class F>
bool visit_domains(const Filter& filter, FreeRange range, std::int64_t least, CpuAsk ask, F&& fn) {
  std::vector<InOrder> cursors;
  const auto size = static_cast<std::int64_t>(filter.buckets.size());
  const std::int64_t end = std::min(range.to, size);
  for (auto b = static_cast<std::size_t>(std::clamp<std::int64_t>(range.from, 0, size));
       static_cast<std::int64_t>(b) < end; ++b) {
    if (filter.buckets[b].empty()) continue;
    const InOrder cursor(filter.buckets[b], least, ask);
    if (!cursor.at_end()) cursors.push_back(cursor);
  }
  while (!cursors.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < cursors.size(); ++i) {
      if (ask.before(*cursors[i], *cursors[best])) best = i;
    }
    if (fn(*cursors[best])) return true;
    cursors[best].next();
    if (cursors[best].at_end()) cursors.erase(cursors.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return false;
}

// The differences between a filter and a snapshot: the nodes that the snapshot changes, and nodes
// that are open only there. Only a filter that counts free amounts has patches.
struct Patch {
  // One node that differs.
  struct Node {
    NodeIndex node = 0;
    // The value of Filter::free in the snapshot.
    std::int64_t free = 0;
    // The value of Filter::held in the snapshot, if the filter is drained.
    MilliGpu held = 0;
  };
  // The nodes that differ, ascending.
  std::vector<Node> nodes;
  // All domains with one of these nodes, ascending by index.
  std::vector<Filter::Domain> domains;

  // The filter must be up to date with the scene's fleet. The patch does not refer to the filter.
  Patch(const Filter& filter, const Scene& scene);
  // Return the snapshot's entry for the node or domain; nullptr if the filter's entry is valid.
  const Node* find(NodeIndex node) const;
  const Filter::Domain* find_domain(DomainIndex domain) const;
  // Returns all domains of the patch, in the order of `ask`.
  std::vector<Filter::Domain> in_order(CpuAsk ask) const;
};

// The nodes for one kind of pod in one snapshot: the filter of the live fleet, and a patch where
// the snapshot differs. Holds do not decide whether a node matches, so matches() reads the filter
// alone. An index is cheap to copy.
class Index {
 public:
  // Makes an index without a filter. Assign another index to it before use.
  Index() = default;
  // `patch` and `backed_off` (ascending) may be nullptr; all must outlive the index.
  Index(const Filter& filter, const Patch* patch, const std::vector<NodeIndex>* backed_off)
      : filter_(&filter), patch_(patch), backed_off_(backed_off) {}

  // True if free amounts are whole GPUs or slices. Else they are 0, and a search looks at the rooms
  // of nodes.
  bool counts() const { return filter_->counts; }
  // True if the filter has seen the node. All functions below that take a node require that.
  bool knows(NodeIndex i) const { return i < filter_->free.size(); }
  // True if the description of the node matches. The node may be closed or broken.
  bool matches(NodeIndex i) const { return filter_->matches[i]; }
  // True if the node rejected these pods.
  bool is_backed_off(NodeIndex i) const {
    return backed_off_ != nullptr &&
           std::binary_search(backed_off_->begin(), backed_off_->end(), i);
  }
  // open() is true if the node matches and takes pods now. The node may be full, and may have
  // rejected these pods. open_nodes() returns how many such nodes there are. Both are about the
  // live fleet: in a snapshot in which all nodes are open (Scene::all_open), use matches() instead.
  bool open(NodeIndex i) const { return filter_->free[i] >= 0; }
  std::size_t open_nodes() const { return filter_->open_nodes; }
  // The value of Filter::free: whole GPUs or slices, or -1.
  std::int64_t free(NodeIndex i) const {
    const Patch::Node* other = patch_ == nullptr ? nullptr : patch_->find(i);
    return other == nullptr ? filter_->free[i] : other->free;
  }
  // The node's NVLink domain.
  DomainIndex domain_of(NodeIndex i) const { return filter_->domain_of[i]; }
  // True if the index is of a snapshot without holds.
  bool drained() const { return filter_->drained; }
  // If drained() is true: the amount held on the node, in milli-GPU.
  MilliGpu held(NodeIndex i) const {
    const Patch::Node* other = patch_ == nullptr ? nullptr : patch_->find(i);
    return other == nullptr ? filter_->held[i] : other->held;
  }
  // The domain's best-fit key, by the sum over its open nodes.
  const DomainKey& domain_key(DomainIndex d) const {
    const Filter::Domain* other = patch_ == nullptr ? nullptr : patch_->find_domain(d);
    return (other == nullptr ? filter_->domains[d] : *other).key;
  }
  // True if the pods that this index is for ask for GPUs or MIG slices.
  bool of_gpus() const { return filter_->pod.kind != GpuKind::kNone; }
  // True if the node is partly free. Only for an index with counts().
  bool fragment(NodeIndex i) const { return free(i) < filter_->all[i]; }
  // Returns the sum over all nodes of floor(free / each), for `each` > 0. It is an upper bound of
  // the pods that fit. Example: 3 and 5 free GPUs, and `each` = 2: the result is 1 + 2 = 3.
  // times_on_fragments() counts only partly free nodes. Only for an index with counts(). O(GPUs of
  // a node + patch).
  std::int64_t times_free(std::int64_t each) const;
  std::int64_t times_on_fragments(std::int64_t each) const;
  // True if the pods of both indexes may use the same nodes.
  bool same_filter(const Index& other) const { return filter_ == other.filter_; }

  // The domains with several nodes, at least one of which matches.
  const std::set<DomainIndex>& joined() const { return filter_->joined; }
  // Open nodes of the live fleet by alike number, without the differences of the snapshot. live()
  // returns the numbers that have nodes, in no order, so no answer may depend on the order. alike()
  // returns the nodes of one number. numbers() is above every number.
  const std::vector<std::uint32_t>& live() const { return filter_->live; }
  const BlockSet<NodeIndex>& alike(std::uint32_t number) const {
    return filter_->alike[number].nodes;
  }
  std::uint32_t numbers() const { return static_cast<std::uint32_t>(filter_->alike.size()); }
  // The alike number of a node; kNotAlike if the node is not open.
  std::uint32_t alike_of(NodeIndex i) const { return filter_->alike_of[i]; }
  // The amount that best fit minimises, for a node in this state.
  std::int64_t weight(const GpuState& s) const {
    return counts() ? free_count(*filter_, s.spec, s.room) : s.free;
  }
  // The value of Filter::all for a node in this state.
  std::int64_t all(const GpuState& s) const { return all_count(*filter_, s.spec); }
  // True if a node in this state is partly free.
  bool fragment(const GpuState& s) const { return counts() ? weight(s) < all(s) : s.used; }
  // True if some node rejected these pods.
  bool any_backed_off() const { return backed_off_ != nullptr; }

  // True if each domain with a matching node is a single node.
  bool nodes_apart() const { return filter_->joined.empty(); }
  // Returns an upper bound of the amount that is free on one node.
  std::int64_t most_free() const;

  // Calls fn(DomainKey) for domains in the order of `ask`, until fn returns true. It visits each
  // domain that has a node with at least `node_min` free, and that may have at least `domain_min`
  // free in total. It may leave out domains with less CPU than CpuAsk::milli.
  template <class F>
  bool visit(std::int64_t node_min, std::int64_t domain_min, CpuAsk ask, F&& fn) const {
    return visit({.from = node_min}, drained() ? 0 : domain_min, ask, fn);
  }
  // Does the same for domains whose largest free amount on one node is in `range`.
  template <class F>
  bool visit(FreeRange range, std::int64_t least, CpuAsk ask, F&& fn) const {
    if (drained()) ask = {};  // a job waits for the amount held, not for CPU
    if (patch_ == nullptr) return visit_domains(*filter_, range, least, ask, fn);
    const std::vector<Filter::Domain> order = patch_->in_order(ask);
    auto next = order.begin();
    const auto patched_before = [&](const DomainKey* key) {
      for (; next != order.end() && (key == nullptr || ask.before(next->key, *key)); ++next) {
        const bool in = next->most >= range.from && next->most < range.to;
        const bool asked = next->most >= 0 && in && next->key.weight >= least;
        if (asked && fn(next->key)) return true;
      }
      return false;
    };
    const bool found = visit_domains(*filter_, range, least, ask, [&](const DomainKey& key) {
      if (patched_before(&key)) return true;
      return patch_->find_domain(key.domain) == nullptr && fn(key);
    });
    return found || patched_before(nullptr);
  }

 private:
  const Filter* filter_ = nullptr;
  const Patch* patch_ = nullptr;
  const std::vector<NodeIndex>* backed_off_ = nullptr;
};

}  // namespace subak
