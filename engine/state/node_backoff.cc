#include "engine/state/node_backoff.h"

#include <algorithm>
#include <iterator>

#include "core/content_hash.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/text.h"

namespace subak::state {

using fact::NodeBackedOff;

namespace {

std::uint64_t pod_hash(const PodShape& shape) { return content_hash(to_text(shape)); }

}  // namespace

const NodeBackedOff* NodeBackoff::find(NodeId node, const PodShape& shape, JobId job) const {
  const auto of_node = by_node_.find(node);
  if (of_node == by_node_.end()) return nullptr;
  const auto it = std::find_if(
      of_node->second.begin(), of_node->second.end(),
      [&](const NodeBackedOff& b) { return b.job == job && !b.any_pod && b.shape == shape; });
  return it == of_node->second.end() ? nullptr : &*it;
}

const NodeBackedOff* NodeBackoff::of_any_pod(NodeId node) const {
  const auto of_node = by_node_.find(node);
  if (of_node == by_node_.end()) return nullptr;
  const auto it = std::find_if(of_node->second.begin(), of_node->second.end(),
                               [](const NodeBackedOff& b) { return b.any_pod; });
  return it == of_node->second.end() ? nullptr : &*it;
}

std::size_t NodeBackoff::nodes_rejecting(const PodShape& shape) const {
  std::size_t nodes = 0;
  for (const auto& [node, backoffs] : by_node_) {
    if (find(node, shape) != nullptr && ++nodes == limits::kNodesOfBadPod) return nodes;
  }
  return nodes;
}

std::vector<NodeBackedOff> NodeBackoff::of_job(JobId job) const {
  std::vector<NodeBackedOff> out;
  const auto nodes = by_job_.find(job);
  if (nodes == by_job_.end()) return out;
  for (auto it = nodes->second.begin(); it != nodes->second.end();
       it = nodes->second.upper_bound(*it)) {
    const std::vector<NodeBackedOff>& backoffs = by_node_.at(*it);
    std::copy_if(backoffs.begin(), backoffs.end(), std::back_inserter(out),
                 [&](const NodeBackedOff& b) { return b.job == job; });
  }
  must(!out.empty(), "a job is remembered for what it was refused");
  return out;
}

std::vector<RefusedNode> NodeBackoff::nodes_of(JobId job) const {
  std::vector<RefusedNode> out;
  const auto nodes = by_job_.find(job);
  if (nodes == by_job_.end()) return out;
  for (const NodeId node : nodes->second) {
    if (!out.empty() && out.back().node == node) continue;
    RefusedNode& refused = out.emplace_back(RefusedNode{node, false, 0});
    for (const NodeBackedOff& b : by_node_.at(node)) {
      if (b.job != job || !b.barred) continue;
      refused.backed_off = true;
      refused.until_ms = std::max(refused.until_ms, b.until_ms);
    }
  }
  must(!out.empty(), "a job is remembered for what it was refused");
  return out;
}

std::vector<NodeId> NodeBackoff::refused_alike(const PodShape& shape) const {
  const auto nodes = by_shape_.find(pod_hash(shape));
  if (nodes == by_shape_.end()) return {};
  return {nodes->second.begin(), nodes->second.end()};
}

std::optional<TimeMs> NodeBackoff::next_end() const {
  if (ends_.empty()) return std::nullopt;
  return *ends_.begin();
}

std::vector<NodeBackedOff> NodeBackoff::ended(TimeMs now) const {
  std::vector<NodeBackedOff> out;
  if (ends_.empty() || *ends_.begin() > now) return out;
  for (const auto& [node, backoffs] : by_node_) {
    for (const NodeBackedOff& b : backoffs) {
      if (b.until_ms <= now) out.push_back(b);
    }
  }
  must(!out.empty(), "an end that is due is of a backoff");
  return out;
}

NodeBackedOff NodeBackoff::first() const {
  must(!ends_.empty(), "there is a node backoff");
  return ended(*ends_.begin()).front();
}

void NodeBackoff::apply(const NodeBackedOff& f) {
  must(static_cast<bool>(f.node), "a backoff has a node");
  must(!f.barred || f.times > 0, "a node in backoff rejected a pod");
  must(!f.any_pod || (!f.job && f.shape == PodShape() && f.recent.size() == f.times),
       "a count of all rejections has no shape and no job");
  std::vector<NodeBackedOff>& backoffs = by_node_[f.node];
  const auto it = std::find_if(backoffs.begin(), backoffs.end(), [&](const NodeBackedOff& b) {
    return b.job == f.job && b.any_pod == f.any_pod && b.shape == f.shape;
  });
  must(it != backoffs.end() || f.times > 0, "what is forgotten was remembered");
  if (it != backoffs.end()) unindex(*it);
  if (f.times == 0) {
    backoffs.erase(it);
    if (backoffs.empty()) by_node_.erase(f.node);
    return;
  }
  index(f);
  if (it == backoffs.end()) {
    backoffs.push_back(f);
  } else {
    *it = f;
  }
}

namespace {

template <class Key>
void take_out(std::map<Key, std::multiset<NodeId>>& index, const Key& key, NodeId node) {
  const auto nodes = index.find(key);
  must(nodes != index.end(), "what a job was refused is indexed");
  const auto one = nodes->second.find(node);
  must(one != nodes->second.end(), "what a job was refused is indexed");
  nodes->second.erase(one);
  if (nodes->second.empty()) index.erase(nodes);
}

}  // namespace

void NodeBackoff::index(const NodeBackedOff& backoff) {
  ends_.insert(backoff.until_ms);
  if (!backoff.job) return;
  by_job_[backoff.job].insert(backoff.node);
  if (backoff.barred) by_shape_[pod_hash(backoff.shape)].insert(backoff.node);
}

void NodeBackoff::unindex(const NodeBackedOff& backoff) {
  const auto it = ends_.find(backoff.until_ms);
  must(it != ends_.end(), "each backoff ends once");
  ends_.erase(it);
  if (!backoff.job) return;
  take_out(by_job_, backoff.job, backoff.node);
  if (backoff.barred) take_out(by_shape_, pod_hash(backoff.shape), backoff.node);
}

void NodeBackoff::drop_node(NodeId node) {
  const auto of_node = by_node_.find(node);
  if (of_node == by_node_.end()) return;
  for (const NodeBackedOff& b : of_node->second) unindex(b);
  by_node_.erase(of_node);
}

void NodeBackoff::snapshot(const Sink& sink) const {
  for (const auto& [node, backoffs] : by_node_) {
    for (const NodeBackedOff& b : backoffs) sink(b);
  }
}

void NodeBackoff::check() const {
  std::multiset<TimeMs> ends;
  std::map<JobId, std::multiset<NodeId>> by_job;
  std::map<std::uint64_t, std::multiset<NodeId>> by_shape;
  for (const auto& [node, backoffs] : by_node_) {
    must(!backoffs.empty(), "no node is remembered for nothing");
    for (const NodeBackedOff& b : backoffs) {
      must(b.node == node && b.times > 0, "what is remembered happened");
      ends.insert(b.until_ms);
      if (!b.job) continue;
      by_job[b.job].insert(node);
      if (b.barred) by_shape[pod_hash(b.shape)].insert(node);
    }
  }
  must(ends == ends_, "each backoff ends once");
  must(by_job == by_job_ && by_shape == by_shape_, "what a job was refused is indexed");
}

}  // namespace subak::state
