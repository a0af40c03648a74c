// Records why a job waits and its start estimate, on one pod of the job and on its owner. It does
// so
// - once the job has waited for limits::kTellWaitingMs,
// - when the reason changes,
// - when the start changes by more than limits::kStartMovedMs and by one part in
//   limits::kStartMovedPart of the remaining wait.
// An API server deletes Events after a while, so the Events alone are repeated after
// limits::kTellAgainMs, unless the event recorder is crowded. It examines one page of jobs at a
// time, round and round. Threads: the edge's; the pages are read where reads run.
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
  // Jobs on hold, but for those that a user paused: that user knows why.
  kPaused,
  // Pods beyond their gang's size, each separately.
  kBeyond
};

// A waiting job with its reason and start estimate.
// A copy: the page outlives the read.
struct WaitingJob {
  // None for a pod that belongs to no job yet.
  JobId job;
  // Of its first pod, or of one beyond its gang's size.
  std::string uid;
  // Why it waits. Its detail becomes the message.
  Reason reason;
  // Its start estimate; nullopt: none is given, as for pods beyond their gang's size.
  std::optional<StartEstimate> start{};
};

// Returns a sentence: "It starts by 14:20 UTC" for a promise, "It starts about 14:20 (13:00 to
// 16:30) UTC" for a forecast, else "No estimate yet: ...". A time without a day has the day of the
// time before it, and the first one that of `now_ms`. In UTC, since it is read later and elsewhere.
std::string start_sentence(const StartEstimate& start, TimeMs now_ms);

// A page of the cluster's waiting jobs after `after`; none: the round is over.
struct WaitingPage {
  // The part that the page is of. A page never spans two.
  WaitingPart part = WaitingPart::kQueued;
  // The jobs to record, in the order of their numbers. May be empty.
  std::vector<WaitingJob> jobs;
  // The last job that was looked at; none: there was none.
  JobId last;
  // The part may have further jobs after `last`.
  bool more = false;
};
// Reads a page. It has only jobs of pods that have waited long enough by `now_ms`. Threads: that of
// reads.
// `after`: the last job of the page before; 0: from the start of the part. Its cost is bounded by
// the size of a page.
WaitingPage waiting_jobs(const Engine& engine, const ForecastStarts& starts,
                         const std::string& cluster, WaitingPart part, JobId after, TimeMs now_ms);

class Waiting {
 public:
  // Both outlive it.
  Waiting(const ClusterCache& cache, EventRecorder& recorder)
      : cache_(cache), recorder_(recorder) {}

  // Where the next page begins.
  // The part and the job after which the page begins; 0: the start of the part.
  WaitingPart part() const { return part_; }
  JobId after() const { return after_; }
  // Records the news of the page, and continues after it.
  // `now_ms`: the service's time, from which texts and times follow.
  void take(const WaitingPage& page, TimeMs now_ms);
  // Records at once that the pod waits until a user declares its gang's size.
  void take_unsized(const std::string& uid, TimeMs now_ms);
  // Records that the pod does not belong to a job yet, because too many pods wait. `words` says
  // whose.
  void put_off(const std::string& uid, const std::string& words, TimeMs now_ms);
  // Records that the pod's gate was opened.
  void released(const std::string& uid, TimeMs now_ms);
  // Forgets what was recorded: all reasons count as news, as when a session begins.
  void forget();

 private:
  struct Last {
    // The reason that was recorded last.
    ReasonToken token = ReasonToken::kNext;
    // The time that users plan by, as recorded last; 0: none was recorded.
    TimeMs start_ms = 0;
    // When an Event was recorded last.
    TimeMs told_ms = 0;
    // The round in which the job was seen last. Others are forgotten when a round ends.
    std::uint32_t round = 0;
  };
  // `anew`: writes the condition and annotation too, not only the Events.
  // Records an Event on the pod and on its owner. Does nothing for a pod that is gone.
  void tell(const WaitingJob& job, TimeMs now_ms, bool anew);
  // `since_ms`: when the condition began.
  // Queues a patch of the pod's condition. `queued`: its status, True or False.
  void set_condition(const PodEntry& pod, bool queued, std::string_view reason,
                     std::string_view message, TimeMs since_ms);

  const ClusterCache& cache_;
  EventRecorder& recorder_;
  WaitingPart part_ = WaitingPart::kQueued;
  JobId after_;
  // Rounds that have ended; it may wrap.
  std::uint32_t round_ = 0;
  // By the number of the job, or by the uid of a pod beyond its gang's size.
  std::map<std::string, Last> told_;
  // By uid: since when the pod waits, as its condition says. Only pods with the condition True.
  std::map<std::string, TimeMs> conditions_;
};

}  // namespace subak
