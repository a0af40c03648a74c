#include "engine/state/nodes.h"

#include <algorithm>
#include <set>

#include "core/must.h"

namespace subak::state {

NodeId Nodes::find(ClusterId cluster, std::string_view name) const {
  const auto it = by_name_.find({cluster, std::string(name)});
  return it == by_name_.end() ? NodeId() : it->second;
}

TimeMs Nodes::seen_since(NodeId id) const {
  const auto it = seen_since_.find(id);
  must(it != seen_since_.end(), "the node is there");
  return it->second;
}

void Nodes::set(ClusterId cluster, const std::string& name, NodeId id, TimeMs now) {
  must(static_cast<bool>(id) && !name.empty(), "a node has a number and a name");
  const auto [it, added] = by_name_.try_emplace({cluster, name}, id);
  must(it->second == id, "a node keeps its number");
  must(!added || !seen_since_.contains(id), "no two nodes have one number");
  seen_since_.try_emplace(id, now);
  last_ = std::max(last_, id);
  ++version_;
}

void Nodes::remove(ClusterId cluster, const std::string& name) {
  const auto it = by_name_.find({cluster, name});
  must(it != by_name_.end(), "the node that goes was there");
  must(seen_since_.erase(it->second) == 1, "a node has been seen");
  by_name_.erase(it);
  ++version_;
}

void Nodes::begin_bills(TimeMs now) {
  must(by_name_.empty(), "bills begin with the first node");
  billed_until_ = now - now % kDayMs;
}

void Nodes::billed(TimeMs as_of) {
  billed_until_ = std::max(billed_until_, as_of - as_of % kDayMs);
}

void Nodes::restore_last(NodeId last) {
  must(last >= last_, "numbers of nodes are not used again");
  last_ = last;
}

void Nodes::check() const {
  std::set<NodeId> ids;
  for (const auto& [name, id] : by_name_) {
    must(ids.insert(id).second, "no two nodes have one number");
    must(id <= last_, "no node has a number beyond the last");
    must(seen_since_.contains(id), "a node has been seen");
  }
  must(seen_since_.size() == by_name_.size(), "nothing else has");
}

}  // namespace subak::state
