#include "model/job.h"

namespace subak {

bool may_change(JobState from, JobState to) {
  using S = JobState;
  if (to == S::kDone) return from != S::kDone;
  switch (from) {
    case S::kIncomplete:
      return to == S::kQueued || to == S::kPaused || to == S::kRunning || to == S::kEnding;
    case S::kQueued:
      return to == S::kIncomplete || to == S::kPaused || to == S::kStarting || to == S::kEnding;
    case S::kPaused:
      return to == S::kIncomplete || to == S::kQueued || to == S::kEnding;
    case S::kStarting:
      return to == S::kRunning || is_waiting(to) || to == S::kEnding;
    case S::kRunning:
      return is_waiting(to) || to == S::kEnding;
    case S::kEnding:
      return is_waiting(to);
    case S::kDone:
      return false;
  }
  return false;
}

bool comes_back(Cause cause) {
  switch (cause) {
    case Cause::kExpired:
    case Cause::kPreempted:
    case Cause::kNodeLost:
    case Cause::kNodeDrained:
    case Cause::kRejected:
    case Cause::kUnschedulable:
    case Cause::kReleaseRefused:
    case Cause::kMemberLost:
    case Cause::kFailed:
    case Cause::kVanished:
    case Cause::kFinished:
    case Cause::kEvictRefused:
    case Cause::kNone:
      return true;
    case Cause::kCancelled:
    case Cause::kTimeLimit:
    case Cause::kBudget:
    case Cause::kMisconfigured:
      return false;
  }
  return false;
}

}  // namespace subak
