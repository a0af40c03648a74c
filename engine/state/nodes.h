// The nodes by name, when they are drained, and the days up to which their capacity is billed. What a
// node has, and who holds what on it, is the fleet's.
//
// Threads: none; State owns it. Only state/ changes it.
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

// Of a drain that begins or ends by itself; see fact::NodeSet.
struct DrainTimes {
  TimeMs from_ms = 0;   // it has not begun; 0: it has, or there is none
  TimeMs until_ms = 0;  // 0: nobody said
  friend bool operator==(const DrainTimes&, const DrainTimes&) = default;
};

// Nodes of which something is due at a time, at most one each.
class NodeTimes {
 public:
  using ByTime = std::set<std::pair<TimeMs, NodeId>>;

  void set(NodeId id, TimeMs at);  // 0: nothing
  TimeMs of(NodeId id) const;
  const ByTime& all() const { return by_time_; }
  std::optional<std::pair<TimeMs, NodeId>> first() const;

 private:
  std::map<NodeId, TimeMs> times_;
  ByTime by_time_;
};

class Nodes {
 public:
  using ByName = std::map<std::pair<ClusterId, std::string>, NodeId>;

  NodeId find(ClusterId cluster, std::string_view name) const;  // none if there is no such node
  const ByName& all() const { return by_name_; }
  std::size_t size() const { return by_name_.size(); }
  // The highest number that was ever given. Numbers are not used again.
  NodeId last() const { return last_; }
  // The last UTC midnight up to which node_billed facts exist.
  TimeMs billed_until() const { return billed_until_; }
  // Since when we know the node: what happened on it before is not in its books. The node is there (asserted).
  TimeMs seen_since(NodeId id) const;
  // Of the nodes whose clique label is gone (NodeSpec::clique_lost_ms) the one that lost it first, and when.
  std::optional<std::pair<TimeMs, NodeId>> first_lost_clique() const {
    return lost_cliques_.first();
  }
  // Grows with each node that is set or removed.
  std::uint64_t version() const { return version_; }
  // Of a drain that is planned, or that ends by itself; none: {}.
  DrainTimes drain_times(NodeId id) const;
  // Drains that have not begun, by when they do.
  const NodeTimes::ByTime& planned_drains() const { return planned_.all(); }
  // Differs after each change of those.
  std::uint64_t planned_version() const { return planned_version_; }
  // The next drain that begins or ends by itself. None: no such.
  std::optional<std::pair<TimeMs, NodeId>> next_drain() const;

  // A node is seen, perhaps again; it keeps its number (asserted), and since when it is known.
  // `clique_lost_ms`: its NodeSpec's.
  void set(ClusterId cluster, const std::string& name, NodeId id, TimeMs since,
           TimeMs clique_lost_ms = 0);
  // When the node, which is there (asserted), is drained. One that is drained has no beginning.
  void set_drain(NodeId id, const DrainTimes& times);
  // The node is there (asserted).
  void remove(ClusterId cluster, const std::string& name);
  // Days are billed from the one of `now` on: before, there was no node.
  void begin_bills(TimeMs now);
  // A node_billed fact exists up to then. Never goes back.
  void billed(TimeMs as_of);
  // From a checkpoint, before its nodes.
  void restore_last(NodeId last);

  // Asserts that no two names have one number.
  void check() const;

 private:
  ByName by_name_;
  std::map<NodeId, TimeMs> seen_since_;
  NodeTimes planned_;                      // drains that have not begun, by when they do
  std::map<NodeId, TimeMs> planned_ends_;  // of these, those that end by themselves
  NodeTimes drain_ends_;                   // drains that have begun, by when they end
  std::uint64_t planned_version_ = 1;
  NodeTimes lost_cliques_;
  NodeId last_;
  TimeMs billed_until_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace subak::state
