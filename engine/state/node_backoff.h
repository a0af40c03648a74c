// Node backoffs: which nodes rejected which pods, how often in a row, and until when a rejection
// counts. There are three kinds of records:
//   - A node's kubelet rejected a pod that was bound to the node. The placement search leaves out
//     the node for such pods of every job (Fleet::back_off).
//   - The cluster's scheduler refused to bind pods of one job to the node. derive::find_entitled()
//     avoids the node for this job.
//   - The number of the kubelet's rejections of all pods. After too many of these the node is unfit
//     (NodeSpec::rejects).
//
// Threads: one at a time. State owns the object. Only code in state/ changes the object.
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
#include "model/fact.h"
#include "model/request.h"

namespace subak::state {

// A node where the cluster's scheduler refused a job.
struct RefusedNode {
  // The node of the refusal.
  NodeId node;
  // True: Subak does not place the job on the node before `until_ms`.
  bool backed_off = false;
  // The end of the backoff. 0: there is no backoff.
  TimeMs until_ms = 0;
};

// All node backoffs.
class NodeBackoff {
 public:
  using Sink = std::function<void(fact::Body)>;

  // --- reads -------------------------------------------------------------------------------------
  // Returns the record of the scheduler's refusals of pods of this shape and job on this node.
  // Without a job, returns the record of the kubelet's rejections of such pods. nullptr: there is
  // no such record. The pointer is valid until the next fact.
  const fact::NodeBackedOff* find(NodeId node, const PodShape& shape, JobId job = JobId()) const;
  // Returns the record of the node's rejections of all pods (NodeBackedOff::any_pod). nullptr:
  // there is no such record. The pointer is valid until the next fact.
  const fact::NodeBackedOff* of_any_pod(NodeId node) const;
  // Returns on how many nodes a kubelet rejected pods of this shape. The function stops counting at
  // limits::kNodesOfBadPod. O(all records).
  std::size_t nodes_rejecting(const PodShape& shape) const;
  // Returns the scheduler's refusals of the job, by node.
  std::vector<fact::NodeBackedOff> of_job(JobId job) const;
  // Returns the nodes on which the scheduler refused the job, each once.
  std::vector<RefusedNode> nodes_of(JobId job) const;
  // True if the scheduler refused any job.
  bool any_of_jobs() const { return !by_job_.empty(); }
  // Returns the nodes that are backed off because the scheduler refused pods of this shape on them,
  // whatever the job. The function compares hashes of shapes, so it may return too many nodes.
  std::vector<NodeId> refused_alike(const PodShape& shape) const;
  // All records by node.
  const std::map<NodeId, std::vector<fact::NodeBackedOff>>& all() const { return by_node_; }
  // The number of records, at most limits::kMaxNodeBackoffs.
  std::size_t size() const { return ends_.size(); }
  // Returns when the next backoff or record ends. nullopt: there is no record.
  std::optional<TimeMs> next_end() const;
  // Returns the records whose time is over at `now`, by node. The call costs O(all records) if
  // there are records.
  std::vector<fact::NodeBackedOff> ended(TimeMs now) const;
  // Returns the record that ends first. There must be a record (asserted).
  fact::NodeBackedOff first() const;

  // --- facts -------------------------------------------------------------------------------------
  // Sets a record, or deletes it if f.times is 0. A record that is deleted must exist (asserted).
  void apply(const fact::NodeBackedOff& f);
  // Deletes all records of a node that was removed.
  void drop_node(NodeId node);

  // Passes all records on as facts, by node.
  void snapshot(const Sink& sink) const;
  // Asserts that the index of times agrees with the records.
  void check() const;

 private:
  // unindex() removes a record from the indexes, and index() adds one.
  void unindex(const fact::NodeBackedOff& backoff);
  void index(const fact::NodeBackedOff& backoff);

  // All records, by node. No list is empty.
  std::map<NodeId, std::vector<fact::NodeBackedOff>> by_node_;
  // The nodes of the records with a job. No entry is empty.
  std::map<JobId, std::multiset<NodeId>> by_job_;
  // The records with a job, while they are backed off, by hash of the shape.
  std::map<std::uint64_t, std::multiset<NodeId>> by_shape_;
  // The end times of all records, the earliest first.
  std::multiset<TimeMs> ends_;
};

}  // namespace subak::state
