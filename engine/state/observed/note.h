// Notes: changes of Observed (observed.h), which has the reports of edges that no fact records.
// Example: PodListed says that the list in progress has named a pod. A restart loses the effect of
// notes, while a change of the State is a durable fact. Decisions make notes (Decision::tell()).
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/jobs/job.h"
#include "engine/state/observed/early_pods.h"
#include "model/input_seen.h"
#include "model/request.h"

namespace subak::note {

// The cluster's edge, the program that reports a cluster, or a launcher reported something at
// `at_ms`. So the cluster's events up to `at_ms` are known.
struct Heard {
  ClusterId cluster;
  TimeMs at_ms = 0;
};
// ListBegun, ListEnded: the cluster's edge begins or ends a list. Objects that the list names
// exist.
struct ListBegun {
  ClusterId cluster;
  // The user name of the edge (in::ListBegin::known_as).
  std::string known_as;
  // The time of the input that began the list.
  TimeMs at_ms = 0;
  // The value of Cluster::seen_until_ms at `at_ms`.
  TimeMs seen_until_ms = 0;
};
struct ListEnded {
  ClusterId cluster;
};
// NodeListed, NamespaceListed, PodListed, OwnerListed: the list in progress has named the object.
struct NodeListed {
  ClusterId cluster;
  NodeId node;
};
struct NamespaceListed {
  ClusterId cluster;
  std::string ns;
};
struct PodListed {
  ClusterId cluster;
  state::PodPlace pod;
};
// The object is the owner of the job's pods, which Subak keeps suspended until the job's turn.
struct OwnerListed {
  JobId job;
};
// An edge reported a pod on a node that Subak has not seen. The engine decides on the report as
// soon as the node is seen.
struct PodBeforeNode {
  ClusterId cluster;
  state::EarlyPod pod;
};
// The pod is gone, so its early report is dropped.
struct PodNoLongerBeforeNode {
  ClusterId cluster;
  std::string pod;
};
// This process has just started. Observed drops everything about the cluster's lists, and its early
// reports and unmanaged pods. The time of the cluster's last report is then not known.
struct NewsForgotten {
  ClusterId cluster;
};
// A non-GPU pod is on this node. If `node` is none, the pod is gone.
struct NonGpuPodSeen {
  ClusterId cluster;
  std::string uid;
  NodeId node;
  PodShape shape;
};
// UnmanagedPodSeen, UnmanagedPodGone: a GPU pod waits for a node outside Subak, or no longer waits.
struct UnmanagedPodSeen {
  ClusterId cluster;
  PodRecord pod;
};
struct UnmanagedPodGone {
  ClusterId cluster;
  std::string uid;
};

}  // namespace subak::note

namespace subak {

using Note = std::variant<note::Heard, note::ListBegun, note::ListEnded, note::NodeListed,
                          note::NamespaceListed, note::PodListed, note::OwnerListed,
                          note::PodBeforeNode, note::PodNoLongerBeforeNode, note::NewsForgotten,
                          note::NonGpuPodSeen, note::UnmanagedPodSeen, note::UnmanagedPodGone>;

}  // namespace subak
