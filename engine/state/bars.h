// What is remembered of nodes that turned pods away: for which pods, how often in a row, until
// when. Either the node's kubelet did, whosever the pods were: that a search leaves such a node out is the
// fleet's part (Fleet::bar). Or the cluster's scheduler refused pods of one job there: that is
// derive::find_entitled's.
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

// A node where the cluster's scheduler refused a job.
struct RefusedNode {
  NodeId node;
  bool barred = false;  // the job is not tried there before `until_ms`
  TimeMs until_ms = 0;
};

class Bars {
 public:
  using Sink = std::function<void(fact::Body)>;

  // --- reads -------------------------------------------------------------------------------------
  // Of such pods on this node: of the job's, or without one of anybody's. nullptr: nothing. Valid until the
  // next fact.
  const fact::NodeBarred* find(NodeId node, const PodShape& shape, JobId job = JobId()) const;
  // What the scheduler refused to the job, by node.
  std::vector<fact::NodeBarred> of_job(JobId job) const;
  // The same, only the nodes, each once.
  std::vector<RefusedNode> nodes_of(JobId job) const;
  // The scheduler refused some job something.
  bool any_of_jobs() const { return !by_job_.empty(); }
  // Nodes where it refused such pods to any job, while they are barred for that. May be more: it goes by a hash.
  std::vector<NodeId> refused_alike(const PodShape& shape) const;
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
  // Takes it out of the indexes, or puts it in.
  void unindex(const fact::NodeBarred& bar);
  void index(const fact::NodeBarred& bar);

  std::map<NodeId, std::vector<fact::NodeBarred>> by_node_;  // no node without any
  std::map<JobId, std::multiset<NodeId>> by_job_;            // no job without any
  // Of those with a job, while they are barred: by hash of the shape.
  std::map<std::uint64_t, std::multiset<NodeId>> by_shape_;
  std::multiset<TimeMs> ends_;
};

}  // namespace subak::state
