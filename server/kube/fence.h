// Pods that an earlier word may still let go, or has let go, to a place that is theirs no more.
//
// A place is taken back while the gate of its pod is closed, as far as is known. But who was to open it may
// have been slow, this process or one that led before, and what it sends names the version of a pod that
// nobody has touched since. So we touch it: once the API server has taken a mark, whatever is on its way is
// of an older version and does nothing. Until then nobody else is let go to the place that the pod was to
// have; where that is not known, as after a start, nobody at all. A pod that turns out to be open keeps
// others from its node until the core knows that it is bound, it goes, or the scheduler says that it finds
// no way there.
//
// Who is guarded follows from the core's words and the marks on the pods (docs/design/0070). Threads: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/ids.h"
#include "engine/effect.h"
#include "server/kube/cards.h"

namespace subak {

class Fence {
 public:
  struct Guarded {
    JobId job;
    std::uint32_t attempt = 0;    // the last one that may still open it
    std::set<std::string> nodes;  // where it was to go
    bool anywhere = false;        // and it is not known where else
  };

  // A word of the core on a job. `inherited`: of before this session, so nobody here knows what was sent
  // for the attempts before it. What it says of a place that was taken back is durable: a mark that is made
  // sooner would prove nothing, as the same attempt may be let go once more.
  void take(const Effect& effect, bool inherited);
  // Forgets who needs no guard any more: it is gone, or bound and the core knows it; it has the mark, or is
  // open and finds no way.
  void prune(const Cards& cards);
  // The API server takes no mark on it: nobody is to wait for that.
  void give_up(const std::string& uid) { pods_.erase(uid); }
  void clear();

  const std::map<std::string, Guarded>& pods() const { return pods_; }  // by uid

 private:
  void guard(const std::string& uid, JobId job, std::uint32_t attempt);

  struct Sent {  // the newest place that a pod was to be let go to
    JobId job;
    std::uint32_t attempt = 0;
    std::string node;
  };
  std::map<std::string, Guarded> pods_;
  std::map<std::string, Sent> sent_;  // by uid; of those that are not there any more, for a while
  std::size_t sent_due_ = 0;          // so many, and they are gone through
};

// The mark: "1-42/3".
std::string kept_closed_mark(JobId job, std::uint32_t attempt);

}  // namespace subak
