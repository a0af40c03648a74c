// The states of jobs and pods, why pods, attempts and jobs end, and why a kubelet rejects a pod. An
// attempt is one try of a job to start, from its hold to its end. A hold is the GPUs that Subak
// gives to a pod before the pod is bound. A job's state changes only as this diagram and the text
// below it allow (docs/design/0024).
//
//                    +------------------ ended, to wait again -----------------+
//                    v                                                         |
//   kIncomplete <--> kQueued --attempt--> kStarting --all pods bound--> kRunning
//        ^            ^   |                   |                            |
//        |    release |   | hold              +------- stop asked ---------+
//        |            |   v                                |
//        +--------> kPaused                                v
//        +------------------- ended, to wait again --- kEnding ---> kDone
//
// A job changes from kIncomplete to kQueued or kPaused when the gang's last pod appears. The job
// changes back to kIncomplete when one of its pods ends before the start. A job whose attempt ended
// in kStarting, kRunning or kEnding, and that waits again, becomes kIncomplete, kQueued or kPaused.
// A waiting job changes to kEnding if it must end and still has pods in the cluster. Every state
// except kDone may change to kDone. A new job is kIncomplete until its first fact sets its state;
// for foreign and adopted jobs this state is kRunning.
//
// Threads: any; plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// The state of a job. Values are durable: append only.
enum class JobState : std::uint8_t {
  // The job is a gang, and Subak has not seen some of its pods yet.
  kIncomplete,
  // The job waits for its turn.
  kQueued,
  // The job does not start until a person releases it, or until the end of a pause that Subak set.
  kPaused,
  // The job has a hold for each rank, and not all of its pods are bound.
  kStarting,
  // All pods are bound, but some may not run yet.
  kRunning,
  // Subak has asked the job's pods to end. Each pod has its hold until it ends.
  kEnding,
  // The job has ended. It holds no GPUs, and its state never changes again.
  kDone,
};
template <>
struct EnumText<JobState> {
  static constexpr std::array<std::string_view, 7> names{
      "incomplete", "queued", "paused", "starting", "running", "ending", "done"};
};

// Where a job comes from. Values are durable: append only.
enum class JobOrigin : std::uint8_t {
  // A user submitted the job over the API. A launcher creates its pods.
  kApi,
  // The job consists of pods with Subak's gate.
  kPods,
  // Subak found the job running and never admitted it.
  kForeign,
  // The job ran when its cluster or namespace changed to mode `enforce`. Since then it is a job of
  // its account.
  kAdopted
};
template <>
struct EnumText<JobOrigin> {
  static constexpr std::array<std::string_view, 4> names{"api", "pods", "foreign", "adopted"};
};

// Why a pod, an attempt or a job ("it" below) ended, or is asked to end. Decisions, effects,
// events, metrics and the history all use this cause. Values are durable: append only.
enum class Cause : std::uint8_t {
  // It has not ended, or the cause is unknown.
  kNone,
  // It ended by itself, with success.
  kFinished,
  // It ended by itself, with failure.
  kFailed,
  // A person ended it.
  kCancelled,
  // It was not bound before the end of its hold.
  kExpired,
  // It was evicted for another job.
  kPreempted,
  // Its node disappeared.
  kNodeLost,
  // A person cordoned or drained its node, and then the node disappeared. Or it was evicted while
  // the GPU Operator upgraded the driver of its node.
  kNodeDrained,
  // Its node rejected it before it ran.
  kRejected,
  // The cluster's scheduler could not bind it, or another pod uses its GPUs.
  kUnschedulable,
  // Its gate could not be opened.
  kReleaseRefused,
  // Another pod of its gang ended without success.
  kMemberLost,
  // The pod disappeared, and Subak did not see its end.
  kVanished,
  // It reached its time limit.
  kTimeLimit,
  // The budget of its account is spent.
  kBudget,
  // It can never start, because its specification has a mistake.
  kMisconfigured,
  // The cluster refuses the eviction of a pod that must end. No pod or job ends with this cause.
  kEvictRefused,
  // A party other than Subak evicted it: a drain of its node, or its kubelet because the node had
  // too little of a resource or shut down.
  kEvicted,
  // Its pods were not Ready within the time that the policy allows (GangSettings::ready_within_ms).
  kNotReady,
};
template <>
struct EnumText<Cause> {
  static constexpr std::array<std::string_view, 19> names{
      "none",      "finished",     "failed",   "cancelled",     "expired",         "preempted",
      "node_lost", "node_drained", "rejected", "unschedulable", "release_refused", "member_lost",
      "vanished",  "time_limit",   "budget",   "misconfigured", "evict_refused",   "evicted",
      "not_ready"};
};

// True if the diagram at the top of this file, or the text below the diagram, allows this change.
// No state may change to itself, and kDone never changes.
bool may_change(JobState from, JobState to);

// True if the job has no hold and wants one: incomplete, queued or paused.
constexpr bool is_waiting(JobState state) {
  return state == JobState::kIncomplete || state == JobState::kQueued || state == JobState::kPaused;
}

// True if a job may wait again after an attempt that ended with this cause. Then the job waits
// again if it still has pods, or if its controller makes new pods; else it is done. True for
// kFinished too, but then the job waits again only if it still has pods.
bool comes_back(Cause cause);

// The scheduling gates that stop a Kubernetes pod from going to a node. A pod can lose gates, but
// never gets a new one. Values are durable: append only.
enum class PodGate : std::uint8_t {
  // No gates. Pods that never had Subak's gate, and a launcher's pods, have this value too.
  kOpen = 0,
  // Only Subak's gate.
  kClosed = 1,
  // Only gates of other parties. Subak's gate is gone.
  kForeign = 2,
  // Subak's gate and gates of other parties. The pod stays gated even if Subak's gate opens.
  kBoth = 3
};
template <>
struct EnumText<PodGate> {
  static constexpr std::array<std::string_view, 4> names{"open", "closed", "foreign", "both"};
};
// True if the pod has Subak's gate. Then the pod cannot go to a node before Subak opens this gate.
constexpr bool is_closed(PodGate gate) {
  return gate == PodGate::kClosed || gate == PodGate::kBoth;
}

// Returns the gates that a pod still has. The pod had the gates `known`, and a report names the
// gates `seen`. A pod never gets a new gate, so only the gates in both are left.
constexpr PodGate gates_left(PodGate known, PodGate seen) {
  return static_cast<PodGate>(static_cast<unsigned>(known) & static_cast<unsigned>(seen));
}

// The state of one pod of a job. Values are durable: append only.
enum class PodState : std::uint8_t {
  // The pod has no hold.
  kWaiting,
  // The pod has a hold and is not bound.
  kHeld,
  // The pod is bound to its node, and none of its containers has started yet.
  kBound,
  // One of the pod's containers has started.
  kRunning,
  // The pod has ended and holds no GPUs.
  kGone
};
template <>
struct EnumText<PodState> {
  static constexpr std::array<std::string_view, 5> names{"waiting", "held", "bound", "running",
                                                         "gone"};
};

// The Kubernetes object whose controller creates pods that start as jobs of their own, such as a
// Deployment. Lists of the queue show all its jobs as one row (docs/design/0126).
struct Workload {
  // The kind as Kubernetes writes it: "Deployment".
  std::string kind;
  // The object's name in the namespace of its pods.
  std::string name;
  // The object's uid. Empty: the job belongs to no workload.
  std::string uid;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "name", name);
    v(3, "uid", uid);
  }
  friend bool operator==(const Workload&, const Workload&) = default;
};

// What a kubelet said when it rejected a pod that was bound to the kubelet's node. The kubelet
// never tries the pod again.
// Source: k8s.io/kubernetes pkg/kubelet (lifecycle, cm/topologymanager, cm/cpumanager, 1.36).
struct Rejection {
  // status.reason of the pod, such as "TopologyAffinityError" or "OutOfcpu". Empty: not known.
  std::string error;
  // status.message of the pod, in one line. Empty: the kubelet wrote no message.
  std::string words;
  template <class V>
  void fields(V& v) {
    v(1, "error", error);
    v(2, "words", words);
  }
  friend bool operator==(const Rejection&, const Rejection&) = default;
};

// The time of one rejection.
struct RejectionTime {
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "at_ms", at_ms);
  }
  friend bool operator==(const RejectionTime&, const RejectionTime&) = default;
};

// The last rejection of a pod of a job.
struct NodeRejection {
  // The name of the node whose kubelet rejected the pod. Empty: no kubelet rejected a pod of the
  // job, or the job has run since the last rejection.
  std::string node;
  Rejection rejection;
};

// The kinds of rejections. They are not durable: a kind follows from Rejection::error.
enum class RejectionKind : std::uint8_t {
  // The Topology Manager found no CPUs and GPUs on NUMA nodes that its policy allows.
  kTopology,
  // The CPU Manager gives only whole cores, and the pod asked for a part of a core.
  kCores,
  // A device plugin did not give the devices.
  kDevices,
  // The kubelet has fewer free GPUs or other extended resources than the pod asks for.
  kExtended,
  // The kubelet has less free CPU, memory, storage or pod slots than the pod asks for.
  kRoom,
  // Labels, taints or ports of the node do not allow the pod.
  kConstraints,
  // The node is shutting down.
  kShutdown,
  // The kubelet cannot serve a field of the pod, or the error is not known.
  kOther,
};
template <>
struct EnumText<RejectionKind> {
  static constexpr std::array<std::string_view, 8> names{
      "topology", "cores", "devices", "extended", "room", "constraints", "shutdown", "other"};
};

// Returns the kind of a rejection. An unknown or empty error is kOther.
RejectionKind rejection_kind(std::string_view error);

// What a kind of rejection means, for people, and the node backoff that follows from it.
struct RejectionRule {
  // `means`: a clause about the node that explains the error ("its kubelet did not accept the
  // pod"). `helps`: what a person can do about the error.
  std::string_view means;
  std::string_view helps;
  // The node backoff after the first rejection in a row, and the longest backoff. Each further
  // rejection in the row doubles the backoff.
  DurationMs first_ms = 0;
  DurationMs longest_ms = 0;
};
const RejectionRule& rule_of(RejectionKind kind);

// Returns text that continues a sentence about the node: the error, its meaning, the kubelet's
// message, and what a person can do.
std::string explain_rejection(const Rejection& rejection);

// Whether the pods of a job wait for their owner, such as a Job, to be resumed (docs/design/0119).
enum class Parking : std::uint8_t {
  // No: the job's pods came gated, or the job is one of the API.
  kNone,
  // Subak suspended the owner. Its pods come when it is resumed.
  kParked,
  // The owner was parked and is no longer suspended. Its pods come, or have come.
  kResumed,
};
template <>
struct EnumText<Parking> {
  static constexpr std::array<std::string_view, 3> names{"none", "parked", "resumed"};
};

}  // namespace subak
