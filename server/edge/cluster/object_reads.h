// Reads single objects of the cluster into the object cache, if the watches do not suffice. Such
// objects are leases of silent nodes, pods to send again, and nodes whose clock error, devices or
// offer of a channel have changed.
//
// ObjectReads owns the open calls and the pause after a failed read of a pod. Both continue from
// session to session. Threads: the edge's thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "server/edge/client/backoff.h"
#include "server/edge/cluster/edge_context.h"

namespace subak {

// The reads of one edge. Each turn of the edge calls the functions. They begin reads and return at
// once; the answers go into the cache later.
class ObjectReads {
 public:
  explicit ObjectReads(EdgeContext& context) : context_(context) {}
  ObjectReads(const ObjectReads&) = delete;
  ObjectReads& operator=(const ObjectReads&) = delete;

  // Reads the leases of silent nodes, which show the nodes' last sign of life. If a node has no
  // lease, the node's status shows it.
  void read_leases();
  // Reads the pods that PodMarks names as outdated. After a failed read, it requests one pod at a
  // time until a read succeeds.
  void read_outdated_pods();
  // Marks the nodes whose devices have changed, to be read again. Also marks the pods whose
  // requests may have changed, because of their ResourceClaims, volumes or required pod affinity.
  void outdate_devices();
  // Reads each node again whose clock error, devices or offer of a channel have changed, so that
  // the core gets the change with the node.
  void read_outdated_nodes();

 private:
  // Reads the node into the cache. False: no connection is free. If the read fails, the next event
  // on the node brings the change.
  bool read_node(const std::string& node);
  // Marks the pod again, and pauses all reads of pods for `at_least` ms.
  void put_off_pod(const std::string& uid, DurationMs at_least);

  EdgeContext& context_;
  // Nodes whose lease is being read.
  std::set<std::string> reading_leases_;
  // The pauses after failed reads of pods. A read that succeeds resets them.
  Backoff pods_backoff_;
  // When pods may be read again after a failed read, by the monotonic clock.
  std::int64_t pods_due_ms_ = 0;
};

}  // namespace subak
