// Records why a job waits, and its start estimate, by Events on one pod of the job and on the pod's
// owner. Waiting records these Events at each of these moments:
// - the job has waited for limits::kTellWaitingMs, or claims GPUs (other jobs must give them back);
// - the reason changes, or a job that was not named before must give back GPUs that the job claims;
// - the expected start changes by more than limits::kStartMovedMs, and by more than the remaining
//   wait divided by limits::kStartMovedPart.
// An API server deletes Events after a while. So Waiting repeats the Events after
// limits::kTellAgainMs, unless the event recorder is crowded. Waiting examines one page of jobs at
// a time, and begins a new round after the last page. Threads: the edge's thread, except that
// waiting_jobs() runs on the thread for reads.
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

// The parts of a round over all waiting jobs, in order.
enum class WaitingPart : std::uint8_t {
  // Jobs that wait for GPUs.
  kQueued,
  // Jobs whose gang lacks pods.
  kIncomplete,
  // Paused jobs, except those that a user paused, since that user knows why they wait.
  kPaused,
  // Pods beyond the size of their gang. Each such pod counts separately.
  kBeyond
};

// A waiting job with its reason and start estimate. WaitingJob is a copy, since a page is used
// after the read has ended.
struct WaitingJob {
  // The job; it is empty for a pod that belongs to no job yet.
  JobId job;
  // The uid of the job's first pod, or of a pod beyond its gang's size.
  std::string uid;
  // Why the job waits. The detail of the reason becomes the message.
  Reason reason;
  // The start estimate. nullopt: there is none, for example for pods beyond their gang's size.
  std::optional<StartEstimate> start{};
};

// Returns a sentence about the start:
// - for a promise: "It starts by 14:20 UTC";
// - for a forecast: "It starts about 14:20 (13:00 to 16:30) UTC";
// - for a start beyond the forecast: "It does not start before 14:20 UTC";
// - without an estimate: "No estimate yet:" and the cause.
// A time in the sentence has no day if it is on the same day as the time before it. The first time
// has no day if it is on the day of `now_ms`. Times are in UTC, since users may read the sentence
// later and in another time zone.
std::string start_sentence(const StartEstimate& start, TimeMs now_ms);

// A page of the cluster's waiting jobs.
struct WaitingPage {
  // The part of the round to which all jobs of the page belong.
  WaitingPart part = WaitingPart::kQueued;
  // The jobs to record, in the order of their numbers. The list may be empty.
  std::vector<WaitingJob> jobs;
  // The last job that was examined, even if it is not in `jobs`; empty: no job was examined.
  JobId last;
  // True: the part may have further jobs after `last`.
  bool more = false;
};
// Reads a page of one part. The page has only jobs whose pods are in `cluster`. A job must also
// have waited for limits::kTellWaitingMs by `now_ms`, or claim GPUs. In the part kBeyond, neither
// of these two conditions applies. `after`: the last job of the page before; 0: this page is the
// first of the part. The cost is bounded by the size of a page. Threads: the thread for reads.
WaitingPage waiting_jobs(const Engine& engine, const ForecastStarts& starts,
                         const std::string& cluster, WaitingPart part, JobId after, TimeMs now_ms);

// The records of one edge. For each page, Notices calls waiting_jobs() with part() and after() on
// the thread for reads, and then take().
class Waiting {
 public:
  // `cache` and `recorder` must outlive this object.
  Waiting(const ClusterCache& cache, EventRecorder& recorder)
      : cache_(cache), recorder_(recorder) {}

  // The part of the next page, and the job after which that page begins; 0: the page is the first
  // of the part.
  WaitingPart part() const { return part_; }
  JobId after() const { return after_; }
  // Records the jobs of the page that are new or have changed, and repeats old Events (top of this
  // file). The next page begins after this one. `now_ms`: the service's present time.
  void take(const WaitingPage& page, TimeMs now_ms);
  // Records at once that the pod waits until a user states the size of its gang.
  void take_unsized(const std::string& uid, TimeMs now_ms);
  // Records at once why the pod must wait before the core gets it (PodWait).
  void take_early(const std::string& uid, TimeMs now_ms);
  // Records that the pod does not belong to a job yet, because too many pods wait. `words`: the
  // core's message, which says which account has too many.
  void put_off(const std::string& uid, const std::string& words, TimeMs now_ms);
  // Records in the pod's condition that its gate was opened.
  void released(const std::string& uid, TimeMs now_ms);
  // Forgets all records, so that all reasons count as new. Call it when a session begins.
  void forget();

 private:
  struct Last {
    // The reason that was recorded last.
    ReasonToken token = ReasonToken::kNext;
    // The start time that was recorded last; 0: none was recorded.
    TimeMs start_ms = 0;
    // For a job that claims GPUs: the jobs that must give GPUs back, as was recorded last.
    std::vector<std::string> givers;
    // When an Event was recorded last.
    TimeMs told_ms = 0;
    // The last round in which a page had the job. At the end of a round, Waiting forgets the jobs
    // that this round did not have.
    std::uint32_t round = 0;
  };
  // Records an Event on the pod and on the pod's owner. `anew`: it also writes the pod's condition
  // and annotation. Does nothing for a pod that is gone.
  void tell(const WaitingJob& job, TimeMs now_ms, bool anew);
  // Queues a patch of the pod's condition. `queued`: the status of the condition. `since_ms`: since
  // when the condition has this status.
  void set_condition(const PodEntry& pod, bool queued, std::string_view reason,
                     std::string_view message, TimeMs since_ms);

  const ClusterCache& cache_;
  EventRecorder& recorder_;
  WaitingPart part_ = WaitingPart::kQueued;
  JobId after_;
  // The number of rounds that have ended. It may wrap.
  std::uint32_t round_ = 0;
  // What was recorded last for each job, by the text of the job's id. A pod beyond its gang's size
  // has an entry by its uid.
  std::map<std::string, Last> told_;
  // By the pod's uid: since when the pod waits, as its condition says. Only pods whose condition is
  // True have an entry.
  std::map<std::string, TimeMs> conditions_;
};

}  // namespace subak
