// The nodes of a state by name, the times of their drains, and the midnight up to which NodeBilled
// facts exist. A drain means that Subak places no new pods on the node. A NodeBilled fact records
// how a node's GPU time was used up to a midnight. The fleet (placement/fleet) has the resources
// and holds of the nodes.
//
// Threads: one at a time. State owns the object. Only code in state/ changes the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/ids.h"
#include "core/quantity.h"

namespace subak::state {

// The times of a drain that begins or ends by itself (fact::NodeSet).
struct DrainTimes {
  // When the drain begins. 0: the drain has begun, or there is no drain.
  TimeMs from_ms = 0;
  // When the drain ends by itself. 0: no end is set.
  TimeMs until_ms = 0;
  friend bool operator==(const DrainTimes&, const DrainTimes&) = default;
};

// Nodes with one due time each.
class NodeTimes {
 public:
  using ByTime = std::set<std::pair<TimeMs, NodeId>>;

  // Sets the due time of a node, and replaces its earlier time. 0: the node has no due time.
  void set(NodeId id, TimeMs at);
  // Returns the due time of a node. 0: the node has no due time.
  TimeMs of(NodeId id) const;
  // The nodes with a due time, sorted by this time.
  const ByTime& all() const { return by_time_; }
  // Returns the earliest time, and its node. nullopt: no node has a time.
  std::optional<std::pair<TimeMs, NodeId>> first() const;

 private:
  std::map<NodeId, TimeMs> times_;
  ByTime by_time_;
};

// All nodes.
class Nodes {
 public:
  using ByName = std::map<std::pair<ClusterId, std::string>, NodeId>;

  // Returns the node; none if no node of the cluster has this name.
  NodeId find(ClusterId cluster, std::string_view name) const;
  // The present nodes, by cluster and name.
  const ByName& all() const { return by_name_; }
  // The number of present nodes, of all clusters.
  std::size_t size() const { return by_name_.size(); }
  // The highest node id that was ever used. Ids are not reused.
  NodeId last() const { return last_; }
  // The last UTC midnight up to which NodeBilled facts exist.
  TimeMs billed_until() const { return billed_until_; }
  // Returns the time since which the node is known. The node's books, its measured GPU time, begin
  // then. The node must exist (asserted).
  TimeMs seen_since(NodeId id) const;
  // Returns the node that lost its clique label first (NodeSpec::clique_lost_ms), and when it lost
  // the label.
  std::optional<std::pair<TimeMs, NodeId>> first_lost_clique() const {
    return lost_cliques_.first();
  }
  // Returns the node whose GPUs are unknown for the longest time, and since when
  // (NodeSpec::gpus_unknown_ms).
  std::optional<std::pair<TimeMs, NodeId>> first_unknown() const { return unknown_.first(); }
  // Grows with each change or removal of a node.
  std::uint64_t version() const { return version_; }
  // Returns the times of the node's drain if the drain is planned or ends by itself. For all other
  // nodes, both times are 0.
  DrainTimes drain_times(NodeId id) const;
  // Returns the planned drains, sorted by their begin.
  const NodeTimes::ByTime& planned_drains() const { return planned_.all(); }
  // A number that changes with each change of a planned drain.
  std::uint64_t planned_version() const { return planned_version_; }
  // Returns the next time at which a drain begins or ends by itself. nullopt: no drain begins or
  // ends by itself.
  std::optional<std::pair<TimeMs, NodeId>> next_drain() const;

  // Adds a node, or updates one. The id of an existing node must stay the same (asserted), and so
  // does the time since which it is known. `clique_lost_ms` and `gpus_unknown_ms` are the values of
  // NodeSpec.
  void set(ClusterId cluster, const std::string& name, NodeId id, TimeMs since,
           TimeMs clique_lost_ms = 0, TimeMs gpus_unknown_ms = 0);
  // Sets when the node's drain begins and ends. The node must exist (asserted). For a node that is
  // already drained, `times.from_ms` is 0.
  void set_drain(NodeId id, const DrainTimes& times);
  // Removes a node, which must exist (asserted).
  void remove(ClusterId cluster, const std::string& name);
  // Says that NodeBilled facts are due from the day of `now` on. Call begin_bills() before the
  // first node is set (asserted).
  void begin_bills(TimeMs now);
  // Records that NodeBilled facts exist up to `as_of`, which never goes back.
  void billed(TimeMs as_of);
  // Restores the highest node id from a checkpoint. Call restore_last() before the nodes of the
  // checkpoint are set.
  void restore_last(NodeId last);

  // Asserts that no two names have the same id.
  void check() const;

 private:
  ByName by_name_;
  std::map<NodeId, TimeMs> seen_since_;
  // The nodes with a planned drain, and the begin of the drain.
  NodeTimes planned_;
  // The ends of planned drains, for the nodes whose planned drain has an end.
  std::map<NodeId, TimeMs> planned_ends_;
  // The nodes whose drain has begun and ends by itself, by the end of the drain.
  NodeTimes drain_ends_;
  std::uint64_t planned_version_ = 1;
  // The nodes that lost their clique label, by NodeSpec::clique_lost_ms.
  NodeTimes lost_cliques_;
  // The nodes whose GPUs are unknown, by NodeSpec::gpus_unknown_ms.
  NodeTimes unknown_;
  NodeId last_;
  TimeMs billed_until_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace subak::state
