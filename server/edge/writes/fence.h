// The fence stops two jobs from getting the same node through an outdated patch. It guards each pod
// whose hold was released although an outdated patch has opened its gate, or still may.
//
// The core releases the hold of a pod if, as far as the core knows, the pod's gate is closed. But
// the patch that opens the gate may be delayed, in this process or in an earlier leader. That patch
// names the pod's version, and the pod has not changed since. So Subak changes it: it patches a
// mark onto the pod. Once the API server has accepted the mark, every pending patch is of an older
// version and has no effect.
//
// Until then, the edge releases no other pod to the guarded pod's node. If that node is unknown, as
// after a start, the edge releases no pod at all. If the guarded pod's gate turns out to be open,
// the pod blocks its node for others. The block ends when the core knows that the pod is bound,
// when the pod is gone, or when the scheduler finds no node for it.
//
// The fence derives the guarded pods from the core's effects and the marks on the pods
// (docs/design/0070). Threads: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/ids.h"
#include "model/effect.h"
#include "server/edge/cache/cluster_cache.h"

namespace subak {

class Fence {
 public:
  struct Guarded {
    // The job whose attempt was revoked.
    JobId job;
    // The last attempt that may still open the gate.
    std::uint32_t attempt = 0;
    // The nodes to which the pod was to be released, as far as known.
    std::set<std::string> nodes;
    // True: the pod may also go to nodes that are not known here.
    bool anywhere = false;
  };

  // Takes an effect of the core on a job. `inherited`: the effect is from before this session, so
  // the patches of earlier attempts are unknown here. The core stores the release of a hold before
  // it sends the effect. An earlier mark would prove nothing: the core could release the same
  // attempt once more.
  void take(const Effect& effect, bool inherited);
  // Drops pods that need no guard. A pod needs none if it is gone, has the mark, or is bound and
  // the core knows it. A pod with an open gate needs none either if the
  // scheduler finds no node for it.
  void prune(const ClusterCache& cache);
  // Drops a pod because the API server refuses its mark. Other pods must not wait for this pod.
  void give_up(const std::string& uid) { pods_.erase(uid); }
  // Drops all pods, as when a session ends.
  void clear();

  // The guarded pods by uid.
  const std::map<std::string, Guarded>& pods() const { return pods_; }

 private:
  // Guards the pod against patches of this attempt and earlier ones. Does nothing for attempt 0,
  // for which no patch was sent.
  void guard(const std::string& uid, JobId job, std::uint32_t attempt);

  // The newest node that a pod was to be released to.
  struct Sent {
    JobId job;
    std::uint32_t attempt = 0;
    std::string node;
  };
  // The result of pods(), by uid.
  std::map<std::string, Guarded> pods_;
  // The newest node of each pod, by uid. Deleted, ended and bound pods stay
  // until prune() drops them.
  std::map<std::string, Sent> sent_;
  // When `sent_` has about a thousand entries more than this, prune() drops pods that are deleted,
  // ended or bound.
  std::size_t sent_due_ = 0;
};

// Returns the mark: "1-42/3".
std::string kept_closed_mark(JobId job, std::uint32_t attempt);

}  // namespace subak
