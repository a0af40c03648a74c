#include "queue/job.h"

namespace subak {

bool may_change(JobState from, JobState to) {
  switch (from) {
    case JobState::kIncomplete:
      return to == JobState::kQueued || to == JobState::kHeld || to == JobState::kRunning ||
             to == JobState::kDone;
    case JobState::kQueued:
      return to == JobState::kHeld || to == JobState::kReserved || to == JobState::kIncomplete ||
             to == JobState::kDone;
    case JobState::kHeld:
      return to == JobState::kQueued || to == JobState::kIncomplete || to == JobState::kDone;
    case JobState::kReserved:  // back to the queue when the hold expired
      return to == JobState::kQueued || to == JobState::kRunning || to == JobState::kDone;
    case JobState::kRunning:
      return to == JobState::kDone;
    case JobState::kDone:
      return false;
  }
  return false;
}

}  // namespace subak
