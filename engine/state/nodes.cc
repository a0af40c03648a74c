#include "engine/state/nodes.h"

#include <algorithm>
#include <set>

#include "core/must.h"

namespace subak::state {

void NodeTimes::set(NodeId id, TimeMs at) {
  const auto known = times_.find(id);
  if (known != times_.end()) {
    must(by_time_.erase({known->second, id}) == 1, "a node is found by its time");
    times_.erase(known);
  }
  if (at == 0) return;
  times_.emplace(id, at);
  by_time_.insert({at, id});
  must(by_time_.size() == times_.size(), "a node has one time");
}

TimeMs NodeTimes::of(NodeId id) const {
  const auto known = times_.find(id);
  return known == times_.end() ? 0 : known->second;
}

std::optional<std::pair<TimeMs, NodeId>> NodeTimes::first() const {
  return by_time_.empty() ? std::nullopt : std::optional(*by_time_.begin());
}

NodeId Nodes::find(ClusterId cluster, std::string_view name) const {
  const auto it = by_name_.find({cluster, std::string(name)});
  return it == by_name_.end() ? NodeId() : it->second;
}

TimeMs Nodes::seen_since(NodeId id) const {
  const auto it = seen_since_.find(id);
  must(it != seen_since_.end(), "the node is there");
  return it->second;
}

void Nodes::set(ClusterId cluster, const std::string& name, NodeId id, TimeMs since,
                TimeMs clique_lost_ms, TimeMs gpus_unknown_ms) {
  must(static_cast<bool>(id) && !name.empty(), "a node has a number and a name");
  const auto [it, added] = by_name_.try_emplace({cluster, name}, id);
  must(it->second == id, "a node keeps its number");
  must(!added || !seen_since_.contains(id), "no two nodes have one number");
  seen_since_.try_emplace(id, since);
  last_ = std::max(last_, id);
  lost_cliques_.set(id, clique_lost_ms);
  unknown_.set(id, gpus_unknown_ms);
  must(seen_since_.size() == by_name_.size(), "each node has been seen since some time");
  ++version_;
}

DrainTimes Nodes::drain_times(NodeId id) const {
  const TimeMs from_ms = planned_.of(id);
  if (from_ms == 0) return {0, drain_ends_.of(id)};
  const auto end = planned_ends_.find(id);
  return {from_ms, end == planned_ends_.end() ? 0 : end->second};
}

std::optional<std::pair<TimeMs, NodeId>> Nodes::next_drain() const {
  const auto begins = planned_.first(), ends = drain_ends_.first();
  return begins && ends ? std::min(begins, ends) : begins ? begins : ends;
}

void Nodes::set_drain(NodeId id, const DrainTimes& times) {
  must(seen_since_.contains(id), "a node that is drained is there");
  must(times.until_ms == 0 || times.from_ms < times.until_ms, "a drain ends after it begins");
  const DrainTimes before = drain_times(id);
  if (before == times) return;
  const bool planned = times.from_ms != 0;
  planned_version_ += before.from_ms != 0 || planned ? 1 : 0;
  planned_.set(id, times.from_ms);
  drain_ends_.set(id, planned ? 0 : times.until_ms);
  planned_ends_.erase(id);
  if (planned && times.until_ms != 0) planned_ends_.emplace(id, times.until_ms);
  must(drain_times(id) == times, "a drain has the times that were set");
}

void Nodes::remove(ClusterId cluster, const std::string& name) {
  const auto it = by_name_.find({cluster, name});
  must(it != by_name_.end(), "the node that goes was there");
  set_drain(it->second, {});
  must(seen_since_.erase(it->second) == 1, "a node has been seen");
  lost_cliques_.set(it->second, 0);
  unknown_.set(it->second, 0);
  by_name_.erase(it);
  must(seen_since_.size() == by_name_.size(), "each node has been seen since some time");
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
  for (const NodeTimes* const times : {&planned_, &drain_ends_, &lost_cliques_, &unknown_}) {
    for (const auto& [at, id] : times->all()) {
      must(ids.contains(id) && times->of(id) == at, "what is due is of a node that is there, once");
    }
  }
  for (const auto& [at, id] : planned_.all()) {
    must(drain_ends_.of(id) == 0, "a drain that has not begun does not end");
  }
  for (const auto& [id, end_ms] : planned_ends_) {
    must(planned_.of(id) != 0 && planned_.of(id) < end_ms, "a drain ends after it begins");
  }
}

}  // namespace subak::state
