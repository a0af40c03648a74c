// What people are told of jobs that wait: the reason and the expected start, on one pod of the job and on
// its owner. Once a job has waited for limits::kTellWaitingMs, when the reason changes, and when the start
// is another by more than limits::kStartMovedMs and one part in limits::kStartMovedPart of what is left to
// wait. An API server forgets Events: they alone are told again after limits::kTellAgainMs, unless
// much else waits to be told. Looks at a page of jobs at a time, round and round. Threads: that of the edge; the look itself runs
// where the reads run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/outlook.h"
#include "server/kube/cards.h"
#include "server/kube/teller.h"

namespace subak {

// What a round of looks goes through, one after the other.
enum class WaitingPart : std::uint8_t {
  kQueued,  // jobs in these states
  kIncomplete,
  kPaused,
  kBeyond  // pods beyond their gang's size, each by itself
};

struct WaitingJob {
  JobId job;
  std::string uid;  // of its first pod, or of one beyond its gang's size
  Reason reason;
  std::optional<StartOutlook> start{};  // nullopt: it has none, as far as is known
};

// "It starts by 14:20 UTC" is a promise, "It starts about 14:20 (13:00 to 16:30) UTC" a forecast, "No estimate
// yet: ..." neither. A time
// without its day is of the same day as the one before it, the first of that of `now_ms`. In UTC, as it is
// read later and elsewhere.
std::string start_sentence(const StartOutlook& start, TimeMs now_ms);

// A page of the cluster's jobs that wait, after `after`; none: the round is over.
struct WaitingPage {
  WaitingPart part = WaitingPart::kQueued;
  std::vector<WaitingJob> jobs;
  JobId last;
  bool more = false;
};
// On the thread of reads. Jobs of pods only, and only what has waited long enough by `now_ms`.
WaitingPage waiting_jobs(const Engine& engine, const ForecastStarts& starts,
                         const std::string& cluster, WaitingPart part, JobId after, TimeMs now_ms);

class Waiting {
 public:
  Waiting(const Cards& cards, Teller& teller) : cards_(cards), teller_(teller) {}

  // Where the next look begins.
  WaitingPart part() const { return part_; }
  JobId after() const { return after_; }
  // Tells what is new in it, and goes on behind it.
  void take(const WaitingPage& page, TimeMs now_ms);
  // The pod waits for a word of a person: told at once.
  void take_unsized(const std::string& uid, TimeMs now_ms);
  // The pod is no part of a job yet, as too many wait; `words` says whose.
  void put_off(const std::string& uid, const std::string& words, TimeMs now_ms);
  // The pod's gate has been opened.
  void released(const std::string& uid, TimeMs now_ms);
  void forget();

 private:
  struct Last {
    ReasonToken token = ReasonToken::kNext;
    TimeMs start_ms = 0;  // 0: none was told
    TimeMs told_ms = 0;
    std::uint32_t round = 0;
  };
  // `anew`: not only the Events.
  void tell(const WaitingJob& job, TimeMs now_ms, bool anew);
  // `since_ms`: when it began to be so.
  void set_condition(const PodCard& pod, bool queued, std::string_view reason,
                     std::string_view message, TimeMs since_ms);

  const Cards& cards_;
  Teller& teller_;
  WaitingPart part_ = WaitingPart::kQueued;
  JobId after_;
  std::uint32_t round_ = 0;
  std::map<std::string, Last>
      told_;  // by number of the job, or uid of a pod beyond its gang's size
  std::map<std::string, TimeMs> conditions_;  // pods that say that they wait, by uid: since when
};

}  // namespace subak
