// What people are told of jobs that wait: the reason, once a job has waited for limits::kTellWaitingMs and
// whenever it changes, on one pod of the job and on its owner. Looks at a page of jobs at a time, round
// and round. Threads: that of the edge; the look itself runs where the reads run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/kube/cards.h"
#include "server/kube/teller.h"

namespace subak {

struct WaitingJob {
  JobId job;
  std::string uid;  // of its first pod
  Reason reason;
};

// A page of the cluster's jobs that wait, after `after`; none: the round is over.
struct WaitingPage {
  std::vector<WaitingJob> jobs;
  JobId last;
  bool more = false;
};
// On the thread of reads. Jobs of pods only, and only what has waited long enough by `now_ms`.
WaitingPage waiting_jobs(const Engine& engine, const std::string& cluster, JobState state,
                         JobId after, TimeMs now_ms);

class Waiting {
 public:
  Waiting(const Cards& cards, Teller& teller) : cards_(cards), teller_(teller) {}

  // Where the next look begins.
  JobState state() const { return state_; }
  JobId after() const { return after_; }
  // Tells what is new in it, and goes on behind it.
  void take(const WaitingPage& page, TimeMs now_ms);
  // The pod waits for a word of a person: told at once.
  void take_unsized(const std::string& uid, TimeMs now_ms);
  // The pod's gate has been opened.
  void released(const std::string& uid, TimeMs now_ms);
  void forget();

 private:
  struct Last {
    ReasonToken token = ReasonToken::kNext;
    std::uint32_t round = 0;
  };
  void tell(const std::string& uid, const Reason& reason, TimeMs now_ms);
  void set_condition(const PodCard& pod, bool queued, std::string_view reason,
                     std::string_view message, TimeMs now_ms);

  const Cards& cards_;
  Teller& teller_;
  JobState state_ = JobState::kQueued;
  JobId after_;
  std::uint32_t round_ = 0;
  std::map<JobId, Last> told_;
  std::map<std::string, bool> conditions_;  // pods that say that they wait, by uid
};

}  // namespace subak
