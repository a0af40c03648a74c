// Facts about jobs and their pods. Part of engine/fact.h, which is what others include.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/method.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

// Who asked for it and why: part of every edit, so that the audit log is a reading of the facts.
struct EditStamp {
  std::string actor;
  std::string reason;
  std::string request_id;
  Method method = Method::kNone;  // this and the next only beside a request id
  std::uint64_t content = 0;      // core/content_hash.h of what was asked
  template <class V>
  void fields(V& v) {
    v(1, "actor", actor);
    v(2, "reason", reason);
    v(3, "request_id", request_id);
    v(4, "method", method);
    v(5, "content", content);
  }
  friend bool operator==(const EditStamp&, const EditStamp&) = default;
};

namespace fact {

// A job exists. Its state is kQueued, kPaused, or kIncomplete (pods follow as PodAdded); kForeign
// and kAdopted jobs start in kRunning and their pods are bound by PodAdded.
struct JobCreated {
  static constexpr std::string_view kName = "job_created";
  JobId id;
  JobOrigin origin = JobOrigin::kApi;
  JobState state = JobState::kIncomplete;
  AccountId leaf;       // the user's node, else the account; kUnassigned if of no account
  std::string name;     // free text of an API job, "ns/gang" of pods
  GangRequest request;  // pods: topology, prefer, segment only until complete
  std::uint32_t gang_size = 0;
  std::int32_t priority = 0;
  DurationMs time_limit_ms = 0;
  EditStamp edit;
  TimeMs submit_ms = 0;  // since when it waits, if that is before this fact; 0: from now on
  bool gang = false;     // pods that come later under its name and owner are its members
  std::string owner;     // of a gang: PodRecord::owner
  // What its pods say of account and user, as long as it is of no account.
  std::string account, user;
  // Of a job made of pods: its account drained when it came. It is not queued before JobAssigned says
  // otherwise.
  bool awaits_resume = false;
  bool replaced_alone =
      false;  // of a gang: PodRecord::replaced_alone; else: its pod was left behind by one
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
    v(16, "awaits_resume", awaits_resume);
    v(17, "replaced_alone", replaced_alone);
  }
  friend bool operator==(const JobCreated&, const JobCreated&) = default;
};

// One pod joins a job: at a rank of its gang, or behind them, where it waits to take the place of
// one that goes. With `bound` it already sits on `slot` (foreign, adopted). At a rank whose place is kept
// for it (PodsExpected, AttemptStarted) it has that place.
struct PodAdded {
  static constexpr std::string_view kName = "pod_added";
  JobId job;
  std::uint32_t rank = 0;
  std::string uid;
  std::string name;  // "namespace/name"
  PodShape shape;
  bool controlled = false;
  bool bound = false;
  PodSlot slot;
  TimeMs bound_at_ms = 0;
  std::string dispute;  // what it says otherwise than its gang, both values; empty: nothing
  PodGate gate = PodGate::kOpen;
  TimeMs until_ms = 0;  // where its place was kept for it: end of its attempt's hold from now on
  std::uint32_t order = 0;  // 1 + PodRecord::rank; 0: not known
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
  }
};

// Pods of a gang that waits, at these ranks from `first` on, come when those before them run: until then
// they count as there, and an attempt keeps their places.
struct PodsExpected {
  static constexpr std::string_view kName = "pods_expected";
  JobId job;
  std::uint32_t first = 0;
  std::vector<PodGroup> groups;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "first", first);
    v(3, "groups", groups);
  }
};

// A pod that waits asks for something else than it did.
struct PodChanged {
  static constexpr std::string_view kName = "pod_changed";
  JobId job;
  std::uint32_t rank = 0;
  PodShape shape;
  std::string dispute;      // as PodAdded's
  std::uint32_t order = 0;  // as PodAdded's
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "shape", shape);
    v(4, "dispute", dispute);
    v(5, "order", order);
  }
};

// Pods of a gang that waits change places, so that their ranks are in their own order.
struct PodsRanked {
  static constexpr std::string_view kName = "pods_ranked";
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
  std::vector<Move> moves;  // by rank; each rank that one leaves another takes
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "moves", moves);
  }
};

// A waiting pod takes the rank of one that has gone.
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

// A pod that is not bound has other gates than before. Of one that is on its way: we opened ours.
// Of one that waits: somebody else took it away, or our opening came after its time.
struct PodGated {
  static constexpr std::string_view kName = "pod_gated";
  JobId job;
  std::uint32_t rank = 0;
  PodGate gate = PodGate::kOpen;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "gate", gate);
  }
};

// No pod of a gang that waits is left: unless one comes by then, it is done.
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

// A job of no account so far is of this one: it waits for its turn, or what runs is paid from now on.
// What it held until now is charged before. Or of a job of the account, which awaited that it is
// resumed: it is.
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

// A job without an attempt changes state by the table of queue/job.h: it waits otherwise than
// before, or it is done.
struct JobMoved {
  static constexpr std::string_view kName = "job_moved";
  JobId id;
  JobState to = JobState::kIncomplete;
  Cause cause = Cause::kNone;  // of kDone
  EditStamp edit;
  JobState from = JobState::kIncomplete;  // what it was; only beside an edit, for the audit log
  TimeMs until_ms = 0;  // of kPaused: it is queued again by itself then; 0: a person does
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

// A foreign job becomes its account's own, as it runs.
struct JobAdopted {
  static constexpr std::string_view kName = "job_adopted";
  JobId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

// The whole gang has its place: a hold begins for each rank. A queued job becomes kStarting.
struct AttemptStarted {
  static constexpr std::string_view kName = "attempt_started";
  JobId id;
  std::uint32_t attempt = 0;
  TimeMs until_ms = 0;         // all its pods should be bound by then
  std::vector<PodSlot> slots;  // by rank
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "until_ms", until_ms);
    v(4, "slots", slots);
  }
};

// The time of a hold is over and what is unbound keeps its place: nothing can be taken back without
// losing the pod.
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

// The job's pods are asked to end: it becomes kEnding.
struct StopAsked {
  static constexpr std::string_view kName = "stop_asked";
  JobId id;
  std::uint32_t attempt = 0;
  Cause cause = Cause::kNone;
  EditStamp by;         // empty: we ourselves
  TimeMs until_ms = 0;  // what is unbound keeps its place until then; 0: it has none, or for ever
  JobState from = JobState::kIncomplete;  // what it was
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

// The job still holds what it has, beyond the end that it was taken to have: `times` in all of this
// attempt. It is taken to end later from now on.
struct JobOverran {
  static constexpr std::string_view kName = "job_overran";
  JobId id;
  std::uint32_t attempt = 0;
  std::uint32_t times = 0;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "times", times);
  }
};

// The job is ending and its cluster does not let a pod of it be ended: what it holds it keeps. Said once,
// until a pod of it goes.
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

// The cluster's scheduler found no way to the place of this pod, in its words. The node is in a NodeBarred
// beside it.
struct SchedulerRefused {
  static constexpr std::string_view kName = "scheduler_refused";
  JobId id;
  std::uint32_t rank = 0;
  std::string words;
  std::uint32_t backoffs = 0;  // attempts in a row after which the job is not tried again at once
  TimeMs until_ms = 0;         // it is not queued before; 0: it is at once
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "rank", rank);
    v(3, "words", words);
    v(4, "backoffs", backoffs);
    v(5, "until_ms", until_ms);
  }
};

// The job or the nodes changed: what the scheduler said before counts no longer.
struct RefusalsForgotten {
  static constexpr std::string_view kName = "refusals_forgotten";
  JobId id;
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
  }
};

// Nothing of the attempt is left: every slot that is still held unbound is given back, and the job
// waits again or is done.
struct AttemptEnded {
  static constexpr std::string_view kName = "attempt_ended";
  JobId id;
  std::uint32_t attempt = 0;  // 0: of a job that was found running
  Cause cause = Cause::kNone;
  JobState to = JobState::kDone;
  TimeMs until_ms = 0;  // of kPaused: it is queued again by itself then; 0: a person does
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "attempt", attempt);
    v(3, "cause", cause);
    v(4, "to", to);
    v(5, "until_ms", until_ms);
  }
};

// A pod that was on its way gives its place back, and stays.
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

// The hold became a meter at `at_ms` on `slot` (the reserved one unless somebody bound it
// elsewhere). A second one for a bound pod corrects where it is: it ran before its node was known,
// and was taken to be on its reserved one.
// `seen_ms`: the pod was there then, by our clock; 0: at the fact's time. `behind_ms`: how far the clock of whoever
// says so is behind ours, as far as these words show it; 0: not, or another way to know is better.
struct PodBound {
  static constexpr std::string_view kName = "pod_bound";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  PodSlot slot;
  TimeMs seen_ms = 0;
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

struct PodRunning {
  static constexpr std::string_view kName = "pod_running";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  TimeMs seen_ms = 0;        // as PodBound's
  DurationMs behind_ms = 0;  // as PodBound's
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "seen_ms", seen_ms);
    v(5, "behind_ms", behind_ms);
  }
};

// The pod gave its slot back at `at_ms`, whatever it held.
struct PodGone {
  static constexpr std::string_view kName = "pod_gone";
  JobId job;
  std::uint32_t rank = 0;
  TimeMs at_ms = 0;
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "job", job);
    v(2, "rank", rank);
    v(3, "at_ms", at_ms);
    v(4, "cause", cause);
  }
};

}  // namespace fact

}  // namespace subak
