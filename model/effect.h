// Effects: the commands that the engine sends to an edge, such as to open the scheduling gates of a
// job's pods. An edge is the program that follows one cluster: a part of the service, or your own
// launcher, which runs jobs submitted over the API.
// Effects follow from the engine's state alone. So after a crash, the service sends the effects of
// Engine::outstanding again. An edge gets each effect at least once. It may carry out an effect
// twice without harm, because each effect names the attempt: the try of the job to start, by
// number.
// Threads: one at a time; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "model/fact_claim.h"
#include "model/job.h"
#include "model/node.h"
#include "model/request.h"

namespace subak {

// What the edge must do with the pods of an effect.
enum class EffectKind : std::uint8_t {
  // Opens the gates of these pods, so that they go to their nodes. For an API job, the launcher
  // starts these ranks on their nodes.
  kOpenGate,
  // Ends these pods.
  kEvict,
  // Only keeps the gates of the pods in Effect::keep_closed closed. This is the only kind of effect
  // for a job of pods that waits again.
  kKeepClosed,
};
template <>
struct EnumText<EffectKind> {
  static constexpr std::array<std::string_view, 3> names{"open_gate", "evict", "keep_closed"};
};

// One pod of an effect, with all that an edge must know to carry out the effect.
struct EffectPod {
  // The index of the pod in its job, from 0.
  std::uint32_t rank = 0;
  // Uid and "namespace/name" of the pod; both are empty for API jobs.
  std::string uid;
  std::string name;
  // The name of the pod's node. The name is empty if the pod has no hold now, and for pods in
  // Effect::keep_closed.
  std::string node;
  // The form in which the pod asked for GPUs.
  GpuKind kind = GpuKind::kNone;
  // The number of whole GPUs, replicas of shared GPUs or MIG slices; `kind` says which.
  std::int64_t gpus = 0;
  // The MIG profile, for kMig only.
  std::string profile;
  // The pod's GPUs and their cost, as in PodSlot. Both fields are 0 if the pod has no hold now.
  std::uint64_t gpu_mask = 0;
  MilliGpu milligpu = 0;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "uid", uid);
    v(3, "name", name);
    v(4, "node", node);
    v(5, "kind", kind);
    v(6, "gpus", gpus);
    v(7, "profile", profile);
    v(8, "gpu_mask", gpu_mask);
    v(9, "milligpu", milligpu);
  }
  friend bool operator==(const EffectPod&, const EffectPod&) = default;
};

// The last preemption of a job, for messages to people. "The job" below is the preempted job; the
// claimant is the job that gets its GPUs.
struct Preemption {
  // The claimant. 0: it is not known any more.
  JobId claimant;
  // The account of the claimant, without the user.
  std::string account;
  // `quota` is the quota that covers the claimant. It belongs to the claimant's account, or else to
  // the nearest account above that has one. `used` is the amount of GPUs in use at that account.
  MilliGpu quota = 0, used = 0;
  // While the job ends: the time by which it should have ended. 0: the job is not ending, or no
  // time is set.
  TimeMs by_ms = 0;
  // When the preempted attempt started, and how much it held in milli-GPU.
  TimeMs started_ms = 0;
  MilliGpu milligpu = 0;
  // When Subak asked the attempt to end.
  TimeMs asked_ms = 0;
  // The first submit time of the job. When the job waits again, its order follows this time.
  TimeMs submit_ms = 0;
  // How often the job was preempted so far, this preemption included.
  std::uint32_t times = 0;
  // Why the claimant may take the GPUs (ClaimRight), and the claimant's priority class. An empty
  // class: the claimant has none, or the policy no longer has the class.
  ClaimRight right = ClaimRight::kReclaim;
  std::string priority_class{};
  template <class V>
  void fields(V& v) {
    v(1, "claimant", claimant);
    v(2, "account", account);
    v(3, "quota", quota);
    v(4, "used", used);
    v(5, "by_ms", by_ms);
    v(6, "started_ms", started_ms);
    v(7, "asked_ms", asked_ms);
    v(8, "submit_ms", submit_ms);
    v(9, "times", times);
    v(10, "milligpu", milligpu);
    v(11, "right", right);
    v(12, "priority_class", priority_class);
  }
  friend bool operator==(const Preemption&, const Preemption&) = default;
};

// The GPUs of a job that no quota covers. Subak may ask the job to end, so that a job of another
// account within its quota gets these GPUs.
struct Loan {
  // The borrowed amount. 0: the job borrows no GPUs.
  MilliGpu milligpu = 0;
  // The time from which Subak may ask the job to end. 0: Subak never asks the job.
  TimeMs from_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "milligpu", milligpu);
    v(2, "from_ms", from_ms);
  }
  friend bool operator==(const Loan&, const Loan&) = default;
};

// One command to an edge about one job, with all pods that the command concerns.
struct Effect {
  // What the edge does with `pods`.
  EffectKind kind = EffectKind::kOpenGate;
  // The cluster of the job. The edge of this cluster carries out the effect.
  ClusterId cluster;
  // The job; never 0. A job has at most one effect at a time.
  JobId job;
  // The job's current or last attempt, from 1. 0: no attempt has started yet.
  std::uint32_t attempt = 0;
  // When the engine takes the pods' GPUs back (releases their holds) if they are not bound. Only
  // for kOpenGate.
  TimeMs until_ms = 0;
  // Why the pods must end. Only for kEvict.
  Cause cause = Cause::kNone;
  // The pods, by rank. For kOpenGate: only pods with a hold that are not bound yet. For
  // kKeepClosed: empty.
  std::vector<EffectPod> pods;
  // The cluster's current session: the number of the latest complete report of the cluster by an
  // edge. 0 if no edge reports the cluster. An edge of an older session ignores the effect.
  std::uint64_t session = 0;
  // Pods whose holds were released while their gates were closed; by rank, with uid and name. An
  // earlier command to open a gate may still be in flight, from this process or a former leader. So
  // the edge writes an annotation to each of these pods. After that write, a command in flight
  // names an older version of the pod, so the API server rejects the command. Until the API server
  // has confirmed the write, the edge opens no gate for GPUs of the released hold
  // (docs/design/0070).
  std::vector<EffectPod> keep_closed;
  // Only for kEvict with the cause kPreempted.
  Preemption preemption{};
  // Only for kOpenGate, while the policy lets jobs within quota reclaim GPUs.
  Loan loan{};
  // The uid of the owner of a parked job, whose owner (such as a Job) Subak suspended until the
  // job's turn (docs/design/0119). Else empty. For kOpenGate: the edge resumes this owner, and
  // `pods` has the pods that have come so far, perhaps none. For kEvict: the owner stays suspended,
  // and Subak does not resume it any more.
  std::string owner{};
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "cluster", cluster);
    v(3, "job", job);
    v(4, "attempt", attempt);
    v(5, "until_ms", until_ms);
    v(6, "cause", cause);
    v(7, "pods", pods);
    v(8, "session", session);
    v(9, "keep_closed", keep_closed);
    v(10, "preemption", preemption);
    v(11, "loan", loan);
    v(12, "owner", owner);
  }
  friend bool operator==(const Effect&, const Effect&) = default;
};

}  // namespace subak
