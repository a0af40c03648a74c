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

std::optional<std::pair<TimeMs, NodeId>> Nodes::first_lost_clique() const {
  return by_loss_.empty() ? std::nullopt : std::optional(*by_loss_.begin());
}

void Nodes::lose_clique(NodeId id, TimeMs lost_ms) {
  if (const auto known = lost_cliques_.find(id); known != lost_cliques_.end()) {
    by_loss_.erase({known->second, id});
    lost_cliques_.erase(known);
  }
  if (lost_ms == 0) return;
  lost_cliques_.emplace(id, lost_ms);
  by_loss_.insert({lost_ms, id});
}

void Nodes::set(ClusterId cluster, const std::string& name, NodeId id, TimeMs now,
                TimeMs clique_lost_ms) {
  must(static_cast<bool>(id) && !name.empty(), "a node has a number and a name");
  const auto [it, added] = by_name_.try_emplace({cluster, name}, id);
  must(it->second == id, "a node keeps its number");
  must(!added || !seen_since_.contains(id), "no two nodes have one number");
  seen_since_.try_emplace(id, now);
  last_ = std::max(last_, id);
  lose_clique(id, clique_lost_ms);
  ++version_;
}

DrainTimes Nodes::drain_times(NodeId id) const {
  const auto it = drains_.find(id);
  return it == drains_.end() ? DrainTimes() : it->second;
}

std::optional<std::pair<TimeMs, NodeId>> Nodes::next_drain() const {
  if (planned_.empty() && drain_ends_.empty()) return std::nullopt;
  if (planned_.empty()) return *drain_ends_.begin();
  if (drain_ends_.empty()) return *planned_.begin();
  return std::min(*planned_.begin(), *drain_ends_.begin());
}

void Nodes::set_drain(NodeId id, const DrainTimes& times) {
  must(seen_since_.contains(id), "a node that is drained is there");
  const DrainTimes before = drain_times(id);
  if (before == times) return;
  planned_version_ += before.from_ms != 0 || times.from_ms != 0 ? 1 : 0;
  planned_.erase({before.from_ms, id});
  drain_ends_.erase({before.until_ms, id});
  if (times.from_ms != 0) {
    planned_.insert({times.from_ms, id});
  } else if (times.until_ms != 0) {
    drain_ends_.insert({times.until_ms, id});
  }
  if (times == DrainTimes()) {
    drains_.erase(id);
  } else {
    drains_[id] = times;
  }
}

void Nodes::remove(ClusterId cluster, const std::string& name) {
  const auto it = by_name_.find({cluster, name});
  must(it != by_name_.end(), "the node that goes was there");
  set_drain(it->second, {});
  must(seen_since_.erase(it->second) == 1, "a node has been seen");
  lose_clique(it->second, 0);
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
  must(planned_.size() + drain_ends_.size() == drains_.size(), "a drain begins or ends, once");
  for (const auto& [id, times] : drains_) {
    must(seen_since_.contains(id), "a node that is drained is there");
    must(times.from_ms != 0 ? planned_.contains({times.from_ms, id})
                            : drain_ends_.contains({times.until_ms, id}),
         "a drain is found by its time");
    must(times.until_ms == 0 || times.from_ms < times.until_ms, "a drain ends after it begins");
  }
  must(by_loss_.size() == lost_cliques_.size(), "each lost clique is there once");
  for (const auto& [lost_ms, id] : by_loss_) {
    must(ids.contains(id), "a node that has lost its clique is there");
  }
}

}  // namespace subak::state
