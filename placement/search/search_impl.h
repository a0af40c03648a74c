// The caches of a Search. Private to placement.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "placement/fleet/fleet_impl.h"
#include "placement/search/index.h"
#include "placement/search/search.h"

namespace subak {

// The cached results for one shape.
struct Sought {
  // Of the shape; the entry is void if the number belongs to another shape now.
  std::uint64_t serial = 0;
  std::vector<Filter*> filters;  // one for each of the shape's Pods, made at the first question
  // The last search in the live fleet failed at this position of the change log, and not because of
  // reserved nodes. Only nodes that changed since can make it succeed.
  bool failed = false;
  std::uint64_t failed_at = 0;
  // fits_empty_fleet() as of this static version.
  std::uint64_t fits_version = 0;
  bool fits_empty = false;
};

// Rooms that a gang fills on trial. One trial at a time.
class Trial {
 public:
  void begin(std::size_t nodes) {
    assert(count_ == 0 && "one trial at a time");
    if (at_.size() < nodes) at_.resize(nodes);
  }
  void end() {
    for (std::size_t i = 0; i < count_; ++i) at_[rooms_[i].node] = 0;
    count_ = 0;
  }
  // How many nodes were touched, and which. A node is touched once.
  std::size_t touched() const { return count_; }
  NodeIndex touched_node(std::size_t k) const { return rooms_[k].node; }
  bool among_first(NodeIndex i, std::size_t touched) const {
    return at_[i] != 0 && at_[i] <= touched;
  }
  // The node's room on trial; nullptr if the gang has not touched the node.
  const Room* find(NodeIndex i) const { return at_[i] == 0 ? nullptr : &rooms_[at_[i] - 1].room; }
  // The same, begun from `room` if the gang has not touched the node.
  Room& fill(NodeIndex i, const Room& room) {
    std::uint32_t& at = at_[i];
    if (at == 0) {
      if (count_ == rooms_.size()) rooms_.emplace_back();
      rooms_[count_].node = i;
      rooms_[count_].room = room;
      at = static_cast<std::uint32_t>(++count_);
    }
    return rooms_[at - 1].room;
  }

 private:
  struct Filled {
    NodeIndex node = 0;
    Room room;
  };
  std::vector<Filled> rooms_;  // the first count_; the rest keeps its memory for the next trial
  std::size_t count_ = 0;
  std::vector<std::uint32_t> at_;  // by node, index + 1; 0 = none
};

// Best fit as a number sequence: the least is the best. Ends in a node or domain index.
using FitKey = std::array<std::int64_t, 5>;

// How many pods of a run fit on a node; and in a domain, with its nodes [begin, end).
struct Cap {
  NodeIndex node = 0;
  DomainIndex domain = 0;
  std::int64_t pods = 0;
  std::int64_t weight = 0;
};
struct CapDomain {
  FitKey key{};
  std::int64_t pods = 0;
  std::size_t begin = 0, end = 0;
};

// Memory for one spread at a time. It is as long as the fleet, so it is reused for the next.
struct Spread {
  std::vector<Cap> caps, wholes;
  std::vector<CapDomain> domains;
};

struct Search::Impl {
  Impl(const Fleet& of, AlikeNodes alike)
      : fleet(of), state(of.impl()), by_state(alike == AlikeNodes::kJudgedOnce) {}

  const Fleet& fleet;
  const Fleet::Impl& state;
  const bool by_state;                                     // nodes that are alike are judged once
  std::map<std::string, std::unique_ptr<Filter>> filters;  // by what they read; none without users
  std::vector<Sought> sought;                              // by ShapeId::value
  Trial trial;
  Spread spread;
  std::uint64_t gone_seen = 0;    // of the fleet's forgotten shapes
  std::int64_t largest_gpus = 0;  // of one node
  std::uint64_t largest_version = 0;

  // Drops the entries of shapes that the fleet has dropped.
  void forget();
  void forget(Sought& sought);
  // Returns the cached results for the shape; valid until the next shape is queried. ask() also
  // brings its filters up to date.
  Sought& at(ShapeId shape);
  Sought& ask(ShapeId shape);
  Filter* filter_of(const Shape& shape, const PodShape& pod);
};

}  // namespace subak
