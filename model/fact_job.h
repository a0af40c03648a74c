// Facts about jobs and their pods. Part of model/fact.h: include that header instead.
//
// Common fields. `id` or `job` names a job that exists. `rank` is the index of a pod in its job,
// from 0: first the ranks of the gang, then the pods that wait for a rank. `attempt` counts the
// starts of a job from 1; 0 is before the first start. A hold is a slot (GPUs on a node) that Subak
// gives to a pod before the pod is bound. Times such as `until_ms` are times of the engine; 0: no
// time applies. `edit` names the caller that asked for the change; empty: Subak itself.
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/job.h"
#include "model/method.h"
#include "model/node.h"
#include "model/request.h"

namespace subak {
namespace fact {

// A new job exists. Its state is kQueued or kPaused, or kIncomplete if PodAdded facts follow.
// Foreign and adopted jobs (JobOrigin) start in the state kRunning, and PodAdded facts bind their
// pods.
struct JobCreated {
  static constexpr std::string_view kName = "job_created";
  JobId id;
  JobOrigin origin = JobOrigin::kApi;
  JobState state = JobState::kIncomplete;
  // The user's node of the account tree if the job has a user, else the job's account. kUnassigned
  // if the job has no account yet.
  AccountId leaf;
  // Free text of an API job, or "namespace/gang" of a job of pods.
  std::string name;
  // The complete request of an API job. For a job of pods it has only the wishes of the gang; the
  // shapes come with the pods.
  GangRequest request;
  // The number of pods that start together, from 1.
  std::uint32_t gang_size = 0;
  // Among the jobs of one account and its users, the job with the highest number comes first.
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;  // 0: none
  EditStamp edit;
  // The time since which the job waits, if that is before this fact; 0: since this fact.
  TimeMs submit_ms = 0;
  bool gang = false;  // true: later pods with this name and owner join the job
  std::string owner;  // for a gang: PodRecord::owner
  // The account and user that the job's pods name, while the job has no account.
  std::string account, user;
  // For a job of pods: further conditions for its start, and its workload.
  struct OfPods {
    // The account was draining when the job came. The job is queued only after a JobAssigned fact
    // sets `awaits_resume` to false.
    bool awaits_resume = false;
    Parking parking = Parking::kNone;
    // PodRecord::workload of the first pod.
    Workload workload;
    friend bool operator==(const OfPods&, const OfPods&) = default;
  };
  OfPods of_pods;
  // For a gang: PodRecord::replaced_alone. For a single pod: true if the pod's gang started without
  // the pod.
  bool replaced_alone = false;
  DurationMs grace_ms = 0;  // of an API job: in::SubmitJob::grace_ms
  bool has_class = false;   // Priority::has_class
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "origin", origin);
    v(3, "state", state);
    v(4, "leaf", leaf);
    v(5, "name", name);
    v(6, "request", request);
    v(7, "gang_size", gang_size);
    v(8, "priority", priority);
    v(9, "time_limit_ms", time_limit_ms);
    v(10, "edit", edit);
    v(11, "submit_ms", submit_ms);
    v(12, "gang", gang);
    v(13, "owner", owner);
    v(14, "account", account);
    v(15, "user", user);
    v(16, "awaits_resume", of_pods.awaits_resume);
    v(17, "replaced_alone", replaced_alone);
    v(18, "grace_ms", grace_ms);
    v(19, "has_class", has_class);
    v(20, "parking", of_pods.parking);
    v(21, "workload", of_pods.workload);
  }
  friend bool operator==(const JobCreated&, const JobCreated&) = default;
};

// One pod joins a job. It takes a rank of its gang, or waits behind the ranks for a free rank. If
// `bound` is set, the pod already runs on `slot`, because its job is foreign or adopted. If the
// rank has a hold for an expected pod (PodsExpected, AttemptStarted), the pod takes that hold.
struct PodAdded {
  static constexpr std::string_view kName = "pod_added";
  JobId job;
  std::uint32_t rank = 0;
  std::string uid;
  std::string name;  // "namespace/name"
  PodShape shape;
  // True: the pod has a controller that would replace it.
  bool controlled = false;
  bool bound = false;
  // The pod's slot, and the time since which the pod is bound to it. Both are set only with
  // `bound`.
  PodSlot slot;
  TimeMs bound_at_ms = 0;
  // If a value of the pod contradicts its gang: both values, as text for people. Else empty.
  std::string dispute;
  PodGate gate = PodGate::kOpen;
  // If the pod takes a hold: the new deadline of the attempt's holds. Else 0.
  TimeMs until_ms = 0;
  // PodRecord::rank + 1: the position that the pod itself names in its gang; 0: not known.
  std::uint32_t order = 0;
  DurationMs grace_ms = 0;  // PodRecord::grace_ms
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "uid", uid);
    v(4, "name", name);
    v(5, "shape", shape);
    v(6, "controlled", controlled);
    v(7, "bound", bound);
    v(8, "slot", slot);
    v(9, "bound_at_ms", bound_at_ms);
    v(10, "dispute", dispute);
    v(11, "gate", gate);
    v(12, "until_ms", until_ms);
    v(13, "order", order);
    v(14, "grace_ms", grace_ms);
  }
};

// Expected pods of a waiting gang, at the ranks from `first` on. Their owner creates these pods
// only when the pods of lower ranks run. Until then the expected pods count as present, and
// attempts hold GPUs for them.
struct PodsExpected {
  static constexpr std::string_view kName = "pods_expected";
  JobId job;
  // The rank of the first pod of `groups`; the ranks of the other pods follow without gaps.
  std::uint32_t first = 0;
  std::vector<PodGroup> groups;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "first", first);
    v(3, "groups", groups);
  }
};

// A waiting pod changed its request. If the gang already has all pods, the gang's request changes
// too, and the job's reservation ends.
struct PodChanged {
  static constexpr std::string_view kName = "pod_changed";
  JobId job;
  std::uint32_t rank = 0;
  PodShape shape;
  std::string dispute;      // as in PodAdded
  std::uint32_t order = 0;  // as in PodAdded
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "shape", shape);
    v(4, "dispute", dispute);
    v(5, "order", order);
  }
};

// Waiting pods of a gang exchange ranks, so that the ranks follow the pods' own order.
struct PodsRanked {
  static constexpr std::string_view kName = "pods_ranked";
  // The pod at rank `from` moves to `rank`. All moves of a fact happen at once.
  struct Move {
    std::uint32_t from = 0;
    std::uint32_t rank = 0;
    template <class V>
    void fields(V& v) {
      v(1, "from", from);
      v(2, "rank", rank);
    }
    friend bool operator==(const Move&, const Move&) = default;
  };
  JobId job;
  // Ascending by `rank`. All `from` together are the same ranks as all `rank` together.
  std::vector<Move> moves;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "moves", moves);
  }
};

// A waiting pod without a rank takes the free rank of a pod that has gone.
struct PodSeated {
  static constexpr std::string_view kName = "pod_seated";
  JobId job;
  std::uint32_t from = 0;
  std::uint32_t rank = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "from", from);
    v(3, "rank", rank);
  }
};

// Some gates of an unbound pod disappeared. If the pod has a hold, Subak opened its own gate. If
// the pod waits, another party removed Subak's gate, or Subak's patch arrived after the end of the
// hold.
struct PodGated {
  static constexpr std::string_view kName = "pod_gated";
  JobId job;
  std::uint32_t rank = 0;
  PodGate gate = PodGate::kOpen;  // the gates that are left
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "gate", gate);
  }
};

// The last pod of a waiting gang is gone. If no new pod comes by `until_ms`, the job is done.
struct GangEmptied {
  static constexpr std::string_view kName = "gang_emptied";
  JobId id;
  TimeMs until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "until_ms", until_ms);
  }
};

// A job without an account gets the account `leaf`. If the job waits, it joins the queue. If the
// job runs, the account pays from now on; Charged facts before this fact have the usage until now.
// If the job's account drains, `awaits_resume` is true. A later fact with `awaits_resume` false
// says that the account no longer drains.
struct JobAssigned {
  static constexpr std::string_view kName = "job_assigned";
  JobId id;
  AccountId leaf;
  bool awaits_resume = false;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "leaf", leaf);
    v(3, "awaits_resume", awaits_resume);
  }
};

// A job without an attempt changes to another waiting state, or to done, as model/job.h allows.
struct JobMoved {
  static constexpr std::string_view kName = "job_moved";
  JobId id;
  JobState to = JobState::kIncomplete;
  Cause cause = Cause::kNone;  // only for kDone
  EditStamp edit;
  // The state before this fact. It is set only with an edit, for the audit log.
  JobState from = JobState::kIncomplete;
  // For kPaused: the time at which Subak queues the job again; 0: only a person can queue it.
  TimeMs until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "to", to);
    v(3, "cause", cause);
    v(4, "edit", edit);
    v(5, "from", from);
    v(6, "until_ms", until_ms);
  }
};

// A running foreign job becomes an adopted job of its account.
struct JobAdopted {
  static constexpr std::string_view kName = "job_adopted";
  JobId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

// The complete gang has a placement: a hold begins for each rank. A queued job becomes kStarting.
struct AttemptStarted {
  static constexpr std::string_view kName = "attempt_started";
  JobId id;
  std::uint32_t attempt = 0;  // one more than the job's last attempt
  // The deadline of the holds: all pods should be bound by this time.
  TimeMs until_ms = 0;
  std::vector<PodSlot> slots;  // one hold for each pod of the gang, by rank
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "until_ms", until_ms);
    v(4, "slots", slots);
  }
};

// The deadline of an attempt's holds has passed, and the attempt continues. A pod whose gate may
// already be open still has its hold.
struct DeadlinePassed {
  static constexpr std::string_view kName = "deadline_passed";
  JobId id;
  std::uint32_t attempt = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
  }
};

// The job's pods are asked to end, and the job becomes kEnding.
struct StopAsked {
  static constexpr std::string_view kName = "stop_asked";
  JobId id;
  std::uint32_t attempt = 0;
  Cause cause = Cause::kNone;
  EditStamp by;  // empty: Subak itself asked
  // The time until which unbound pods have their holds. 0: no pod is unbound, or there is no limit.
  TimeMs until_ms = 0;
  JobState from = JobState::kIncomplete;  // the state before, for the audit log
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "cause", cause);
    v(4, "by", by);
    v(5, "until_ms", until_ms);
    v(6, "from", from);
  }
};

// The job still holds GPUs at its planned end, so its planned end moves to a later time. `times`
// counts how often this happened in this attempt.
struct JobOverran {
  static constexpr std::string_view kName = "job_overran";
  JobId id;
  std::uint32_t attempt = 0;
  std::uint32_t times = 0;  // increases by more than 1 after a late check
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "times", times);
  }
};

// The job is ending, and its cluster refuses to end one of its pods. The job still holds its GPUs.
// The engine writes this fact once, and again only after another pod of the job has ended.
struct EndRefused {
  static constexpr std::string_view kName = "end_refused";
  JobId id;
  std::uint32_t attempt = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
  }
};

// The cluster's scheduler cannot bind this pod to the node of its hold. A NodeBackedOff fact (node
// backoff) next to this fact names the node.
struct SchedulerRefused {
  static constexpr std::string_view kName = "scheduler_refused";
  JobId id;
  std::uint32_t rank = 0;
  // The message of the cluster's scheduler, never empty.
  std::string words;
  std::uint32_t backoffs = 0;  // how many attempts in a row led to a backoff
  TimeMs until_ms = 0;         // when the job is queued again; 0: at once
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "rank", rank);
    v(3, "words", words);
    v(4, "backoffs", backoffs);
    v(5, "until_ms", until_ms);
  }
};

// The job or the nodes changed, so Subak ignores the scheduler's earlier refusals of the job.
struct RefusalsForgotten {
  static constexpr std::string_view kName = "refusals_forgotten";
  JobId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

// The attempt is over. The holds of unbound pods are released, and the job waits again or is done.
struct AttemptEnded {
  static constexpr std::string_view kName = "attempt_ended";
  JobId id;
  std::uint32_t attempt = 0;  // 0: Subak found the job running
  Cause cause = Cause::kNone;
  JobState to = JobState::kDone;  // kDone or a waiting state
  // For kPaused: the time at which Subak queues the job again; 0: only a person can queue it.
  TimeMs until_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "cause", cause);
    v(4, "to", to);
    v(5, "until_ms", until_ms);
  }
};

// A pod with a hold loses the hold (its "place") and waits again. The attempt of its job continues.
struct PlaceLost {
  static constexpr std::string_view kName = "place_lost";
  JobId job;
  std::uint32_t rank = 0;
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "cause", cause);
  }
};

// The pod is bound to `slot` since `at_ms`. `slot` is the slot of the pod's hold, unless another
// party bound the pod elsewhere. A second fact for a bound pod corrects the slot: the pod ran
// before Subak knew its node, and counted on the slot of its hold.
struct PodBound {
  static constexpr std::string_view kName = "pod_bound";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  PodSlot slot;
  // A time, by the service's clock, at which the pod certainly existed. 0: the fact's time.
  TimeMs seen_ms = 0;
  // How far the reporter's clock is behind the service's clock, according to this report. 0: it is
  // not behind, or a better measurement exists (docs/design/0078).
  DurationMs behind_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "slot", slot);
    v(5, "seen_ms", seen_ms);
    v(6, "behind_ms", behind_ms);
  }
};

// The first container of a bound pod started at `at_ms`.
struct PodRunning {
  static constexpr std::string_view kName = "pod_running";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  // `seen_ms` and `behind_ms` are as in PodBound.
  TimeMs seen_ms = 0;
  DurationMs behind_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "seen_ms", seen_ms);
    v(5, "behind_ms", behind_ms);
  }
};

// The pod is gone. Its slot has been free since `at_ms`.
struct PodGone {
  static constexpr std::string_view kName = "pod_gone";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  // Why the pod ended. If the job has no cause yet, the job gets this cause, unless this cause is
  // kNone or kFinished.
  Cause cause = Cause::kNone;
  // For the cause kRejected: what the kubelet of the pod's node said.
  Rejection rejection{};
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "cause", cause);
    v(5, "rejection", rejection);
  }
};

}  // namespace fact
}  // namespace subak
