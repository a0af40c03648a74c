// The fleet's state, shared by the .cc files that implement its verbs. Private to placement.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/fleet.h"
#include "placement/index.h"
#include "placement/load.h"
#include "placement/room.h"

namespace subak {

struct NodeState {
  bool present = false;
  bool drained = false;
  ClusterId cluster;
  NodeSpec spec;
  ProductId product;
  DomainIndex domain = kNoArea;  // its clique, or a domain of its own
  std::uint32_t rack = kNoArea;
  DomainIndex own_domain = kNoArea;  // kept for when it is in no clique or rack
  std::uint32_t own_rack = kNoArea;
  std::uint32_t totals = 0;

  Load load;
  MilliGpu stranded = 0;  // of the configuration

  Room room;   // left now
  Room empty;  // if nothing were held and everything healthy
  NodeLevels levels;
  NodeBooks books;
  TimeMs as_of = 0;
  bool dated = false;  // as_of is set
  JobId earmark;
  std::uint64_t static_position = 0;  // in the change log, of the last change of its description

  bool open() const { return present && spec.ready && !spec.unschedulable && !drained; }
  // Cordoned nodes take pods that tolerate the cordon.
  bool open_for(bool tolerates_cordon) const {
    return present && spec.ready && !drained && (!spec.unschedulable || tolerates_cordon);
  }
};

// An NVLink domain of several nodes (a clique), or one node that is in none; also a rack.
struct Group {
  ClusterId cluster;
  std::string name;                // clique or rack; empty: a domain of one node
  std::vector<NodeIndex> members;  // ascending
  std::uint32_t kept = 0;          // exclusive holds on the whole group
};

// One PodGroup of a shape, ready for use.
struct Pods {
  const PodShape* shape = nullptr;
  std::uint32_t first = 0, count = 0;  // ranks
  Filter* filter = nullptr;            // made at the first search
};

struct Shape {
  ClusterId cluster;
  GangRequest request;
  std::vector<Pods> pods;
  bool compiled = false;
  // The last search failed at this position of the change log: only nodes that changed since can
  // help.
  bool failed = false;
  std::uint64_t failed_at = 0;
  // fits_empty_fleet() and least_milligpu() as of these static versions.
  std::uint64_t fits_version = 0, least_version = 0;
  bool fits_empty = false;
  MilliGpu least = 0;
};

struct Fleet::Impl {
  std::vector<std::unique_ptr<NodeState>> nodes;  // by NodeId::value
  std::vector<std::unique_ptr<Group>> domains;    // [0] unused
  std::vector<std::unique_ptr<Group>> racks;      // [0] unused
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> cliques_by_name, racks_by_name;
  std::int64_t split_nodes = 0;  // nodes with several inner NVLink domains

  std::vector<std::string> products;  // by ProductId::value; [0] = any
  std::map<std::string, ProductId, std::less<>> products_by_name;
  std::vector<ProductTotals> totals;  // [0] unused
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> totals_by_key;

  std::vector<std::unique_ptr<Shape>> shapes;                      // by ShapeId::value; [0] unused
  std::unordered_multimap<std::uint64_t, ShapeId> shapes_by_hash;  // looked up, never walked
  std::map<std::string, std::unique_ptr<Filter>> filters;

  // Nodes whose room or description changed, oldest first; entry i is position log_base + i.
  std::vector<NodeIndex> log;
  std::uint64_t log_base = 1;
  std::uint64_t static_version = 1;
  std::uint64_t freed = 0;
  std::vector<NodeIndex> earmarked;

  // Scratch of searches: copies of rooms that a gang has begun to fill.
  struct Filled {
    NodeIndex node = 0;
    Room room;
  };
  std::vector<Filled> filled;
  std::size_t filled_count = 0;
  std::vector<std::uint32_t> filled_at;  // by node, index + 1; 0 = none

  // nodes.cc
  NodeState& at(NodeId id) { return *nodes[id.value]; }
  const NodeState& at(NodeId id) const { return *nodes[id.value]; }
  NodeState* find(NodeId id) const;
  NodeState& ensure(NodeId id);
  void accrue(NodeState& node, TimeMs now);
  // Recomputes what is left on the node after any change of it, and tells the filters.
  void refresh(NodeId id);
  void changed(NodeIndex node);
  void changed_statically(NodeIndex node);
  std::uint64_t log_end() const { return log_base + log.size(); }
  void move_to_groups(NodeId id, bool present);
  Room room_of(NodeId id, bool ignore_kept) const;

  // shapes.cc
  Shape& shape(ShapeId id) { return *shapes[id.value]; }
  const Shape& shape(ShapeId id) const { return *shapes[id.value]; }
  const Pods& pods_of(const Shape& shape, std::uint32_t rank) const;
  void compile(Shape& shape);

  // index.cc
  void catch_up(Filter& filter);
  std::int64_t index_value(const Filter& filter, NodeIndex node) const;

  // finder_areas.cc: where an nvlink-exclusive gang's domain ends, seen from one of its nodes.
  enum class Level : std::uint8_t { kInner, kNode, kClique };
  Level exclusive_level(const Shape& shape, std::uint32_t rank, const NodeState& node) const;
};

// The milli-GPU levels of a node; books.cc.
NodeLevels levels_of(const NodeState& node, MilliGpu unhealthy_free);
// Replaces `span` of one level by another, in integrals that already hold it.
void correct(NodeBooks& books, const NodeLevels& was, const NodeLevels& is, DurationMs span);

}  // namespace subak
