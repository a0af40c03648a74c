// What is remembered of nodes that turned pods away: for which pods, how often in a row, until
// when. That a search leaves such a node out is the fleet's part (Fleet::bar).
//
// Threads: none; State owns it. Only state/ changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/fact.h"
#include "placement/request.h"

namespace subak::state {

class Bars {
 public:
  using Sink = std::function<void(fact::Body)>;

  // --- reads -------------------------------------------------------------------------------------
  // Of such pods on this node; nullptr: nothing. Valid until the next fact.
  const fact::NodeBarred* find(NodeId node, const PodShape& shape) const;
  // By node.
  const std::map<NodeId, std::vector<fact::NodeBarred>>& all() const { return by_node_; }
  std::size_t size() const { return ends_.size(); }
  // When the next bar or memory ends; none if there is none.
  std::optional<TimeMs> next_end() const;
  // Those whose time is over at `now`, by node. O(all) if there are any.
  std::vector<fact::NodeBarred> ended(TimeMs now) const;
  // The one whose time is over first. There is one.
  fact::NodeBarred first() const;

  // --- facts -------------------------------------------------------------------------------------
  // Remembers, or with f.times 0 forgets; what is forgotten was remembered (asserted).
  void apply(const fact::NodeBarred& f);
  // The node is gone: nothing is remembered of it.
  void drop_node(NodeId node);

  // All of them as facts, by node.
  void keep(const Sink& sink) const;
  // Asserts that the times agree with what is remembered.
  void check() const;

 private:
  void forget_end(TimeMs end);

  std::map<NodeId, std::vector<fact::NodeBarred>> by_node_;  // no node without any
  std::multiset<TimeMs> ends_;
};

}  // namespace subak::state
