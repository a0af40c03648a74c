#include "engine/state/bars.h"

#include <algorithm>

#include "core/must.h"

namespace subak::state {

using fact::NodeBarred;

const NodeBarred* Bars::find(NodeId node, const PodShape& shape) const {
  const auto of_node = by_node_.find(node);
  if (of_node == by_node_.end()) return nullptr;
  const auto it = std::find_if(of_node->second.begin(), of_node->second.end(),
                               [&](const NodeBarred& b) { return b.shape == shape; });
  return it == of_node->second.end() ? nullptr : &*it;
}

std::optional<TimeMs> Bars::next_end() const {
  if (ends_.empty()) return std::nullopt;
  return *ends_.begin();
}

std::vector<NodeBarred> Bars::ended(TimeMs now) const {
  std::vector<NodeBarred> out;
  if (ends_.empty() || *ends_.begin() > now) return out;
  for (const auto& [node, bars] : by_node_) {
    for (const NodeBarred& b : bars) {
      if (b.until_ms <= now) out.push_back(b);
    }
  }
  return out;
}

NodeBarred Bars::first() const {
  must(!ends_.empty(), "there is a bar");
  return ended(*ends_.begin()).front();
}

void Bars::apply(const NodeBarred& f) {
  must(static_cast<bool>(f.node), "a bar is of a node");
  must(!f.barred || f.times > 0, "who is barred turned a pod away");
  std::vector<NodeBarred>& bars = by_node_[f.node];
  const auto it = std::find_if(bars.begin(), bars.end(),
                               [&](const NodeBarred& b) { return b.shape == f.shape; });
  must(it != bars.end() || f.times > 0, "what is forgotten was remembered");
  if (it != bars.end()) forget_end(it->until_ms);
  if (f.times == 0) {
    bars.erase(it);
    if (bars.empty()) by_node_.erase(f.node);
    return;
  }
  ends_.insert(f.until_ms);
  if (it == bars.end()) {
    bars.push_back(f);
  } else {
    *it = f;
  }
}

void Bars::forget_end(TimeMs end) {
  const auto it = ends_.find(end);
  must(it != ends_.end(), "each bar ends once");
  ends_.erase(it);
}

void Bars::drop_node(NodeId node) {
  const auto of_node = by_node_.find(node);
  if (of_node == by_node_.end()) return;
  for (const NodeBarred& b : of_node->second) forget_end(b.until_ms);
  by_node_.erase(of_node);
}

void Bars::keep(const Sink& sink) const {
  for (const auto& [node, bars] : by_node_) {
    for (const NodeBarred& b : bars) sink(b);
  }
}

void Bars::check() const {
  std::multiset<TimeMs> ends;
  for (const auto& [node, bars] : by_node_) {
    must(!bars.empty(), "no node is remembered for nothing");
    for (const NodeBarred& b : bars) {
      must(b.node == node && b.times > 0, "what is remembered happened");
      ends.insert(b.until_ms);
    }
  }
  must(ends == ends_, "each bar ends once");
}

}  // namespace subak::state
