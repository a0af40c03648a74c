#include "engine/state/nodes.h"

#include <algorithm>
#include <set>

#include "core/must.h"

namespace subak::state {

NodeId Nodes::find(ClusterId cluster, std::string_view name) const {
  const auto it = by_name_.find({cluster, std::string(name)});
  return it == by_name_.end() ? NodeId() : it->second;
}

void Nodes::set(ClusterId cluster, const std::string& name, NodeId id) {
  must(static_cast<bool>(id), "a node has a number");
  const auto [it, added] = by_name_.try_emplace({cluster, name}, id);
  must(it->second == id, "a node keeps its number");
  last_ = std::max(last_, id);
  ++version_;
}

void Nodes::remove(ClusterId cluster, const std::string& name) {
  must(by_name_.erase({cluster, name}) == 1, "the node that goes was there");
  ++version_;
}

void Nodes::begin_bills(TimeMs now) { billed_until_ = now - now % kDayMs; }

void Nodes::billed(TimeMs as_of) {
  billed_until_ = std::max(billed_until_, as_of - as_of % kDayMs);
}

void Nodes::check() const {
  std::set<NodeId> ids;
  for (const auto& [name, id] : by_name_) {
    must(ids.insert(id).second, "no two nodes have one number");
    must(id <= last_, "no node has a number beyond the last");
  }
}

}  // namespace subak::state
