// Records why a job waits, and its start estimate, by Events on one pod of the job and on the pod's
// owner. It does so
// - once the job has waited for limits::kTellWaitingMs,
// - when the reason changes,
// - when the start changes by more than limits::kStartMovedMs and by one part in
//   limits::kStartMovedPart of the remaining wait.
// An API server deletes Events after a while. So Waiting repeats the Events after
// limits::kTellAgainMs, unless the event recorder is crowded. It examines one page of jobs at a
// time, and begins a new round after the last page. Threads: the edge's. Pages are read on the
// thread for reads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/forecast/start_estimate.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/events/event_recorder.h"

namespace subak {

// The parts of one round, in this order.
enum class WaitingPart : std::uint8_t {
  // Jobs that wait for GPUs.
  kQueued,
  // Jobs whose gang lacks pods.
  kIncomplete,
  // Jobs on hold, except those that a user paused, since that user knows why.
  kPaused,
  // Pods beyond their gang's size, each separately.
  kBeyond
};

// A waiting job with its reason and start estimate.
// It is a copy, since the page is used after the read.
struct WaitingJob {
  // The job; none for a pod that belongs to no job yet.
  JobId job;
  // The uid of the job's first pod, or of a pod beyond its gang's size.
  std::string uid;
  // Why it waits. Its detail becomes the message.
  Reason reason;
  // The start estimate. nullopt: there is none, for example for pods beyond their gang's size.
  std::optional<StartEstimate> start{};
};

// Returns a sentence: "It starts by 14:20 UTC" for a promise, "It starts about 14:20 (13:00 to
// 16:30) UTC" for a forecast, else "No estimate yet: ...". A time without a day is on the day of
// the time before it. A first time without a day is on the day of `now_ms`. Times are in UTC, since
// users may read the sentence later and in another time zone.
std::string start_sentence(const StartEstimate& start, TimeMs now_ms);

// A page of the cluster's waiting jobs.
struct WaitingPage {
  // The part of the round to which the page belongs. A page never spans two parts.
  WaitingPart part = WaitingPart::kQueued;
  // The jobs to record, in the order of their numbers. May be empty.
  std::vector<WaitingJob> jobs;
  // The last job that was examined; none: no job was examined.
  JobId last;
  // The part may have further jobs after `last`.
  bool more = false;
};
// Reads a page. It has only jobs of pods that have waited long enough by `now_ms`. Threads: that of
// reads.
// `after`: the last job of the page before; 0: the page begins with the part. The cost is bounded
// by the size of a page.
WaitingPage waiting_jobs(const Engine& engine, const ForecastStarts& starts,
                         const std::string& cluster, WaitingPart part, JobId after, TimeMs now_ms);

class Waiting {
 public:
  // `cache` and `recorder` outlive this object.
  Waiting(const ClusterCache& cache, EventRecorder& recorder)
      : cache_(cache), recorder_(recorder) {}

  // The part of the next page, and the job after which that page begins; 0:
  // it begins with the part.
  WaitingPart part() const { return part_; }
  JobId after() const { return after_; }
  // Records what is new in the page; the next page begins after it.
  // `now_ms`: the service's time, for the texts and times.
  void take(const WaitingPage& page, TimeMs now_ms);
  // Records at once that the pod waits until a user declares its gang's size.
  void take_unsized(const std::string& uid, TimeMs now_ms);
  // Records that the pod does not belong to a job yet, because too many pods wait. `words` is the
  // core's message, which says whose pods.
  void put_off(const std::string& uid, const std::string& words, TimeMs now_ms);
  // Records that the pod's gate was opened.
  void released(const std::string& uid, TimeMs now_ms);
  // Forgets what was recorded, so that all reasons count as new. Call it when a session begins.
  void forget();

 private:
  struct Last {
    // The reason that was recorded last.
    ReasonToken token = ReasonToken::kNext;
    // The start time that was recorded last; 0: none was recorded.
    TimeMs start_ms = 0;
    // When an Event was recorded last.
    TimeMs told_ms = 0;
    // The last round that had the job. At the end of a round, Waiting forgets the jobs that it did
    // not have.
    std::uint32_t round = 0;
  };
  // Records an Event on the pod and on its owner. `anew`: also writes the condition and the
  // annotation. Does nothing for a pod that is gone.
  void tell(const WaitingJob& job, TimeMs now_ms, bool anew);
  // Queues a patch of the pod's condition. `queued`: the status of the condition, True or False.
  // `since_ms`: when the condition began.
  void set_condition(const PodEntry& pod, bool queued, std::string_view reason,
                     std::string_view message, TimeMs since_ms);

  const ClusterCache& cache_;
  EventRecorder& recorder_;
  WaitingPart part_ = WaitingPart::kQueued;
  JobId after_;
  // The number of rounds that have ended; it may wrap.
  std::uint32_t round_ = 0;
  // What was recorded, by the number of the job, or by the uid of a pod beyond its gang's size.
  std::map<std::string, Last> told_;
  // By uid: the time since when the pod waits, as its condition says. Only pods whose condition is
  // True have an entry.
  std::map<std::string, TimeMs> conditions_;
};

}  // namespace subak
