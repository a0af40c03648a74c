// The fence keeps two jobs from getting one node while an outdated patch may still open a gate. It
// guards pods whose gate such a patch may open, or has opened, although their hold was released.
//
// The core releases the hold of a pod whose gate is closed as far as it knows. But the patch that
// opens the gate may be delayed, in this process or in an earlier leader. That patch names the
// pod's version, and the pod has not changed since. So Subak changes it: it patches a mark onto the
// pod. Once the API server has accepted the mark, every pending patch is of an older version and
// has no effect.
//
// Until then no other pod is released to the node that the pod was to get. If that node is unknown,
// as after a start, no pod at all is released. A pod that turns out to be open blocks its node for
// others. The block ends when the core knows that the pod is bound, when the pod is gone, or when
// the scheduler finds no node for it.
//
// The guarded pods follow from the core's effects and the marks on the pods (docs/design/0070).
// Threads: none.
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
    // The nodes that the pod was to get, as far as known.
    std::set<std::string> nodes;
    // It may also go to nodes that are not known here.
    bool anywhere = false;
  };

  // Takes an effect of the core on a job. `inherited`: the effect is from before this session, so
  // the patches of earlier attempts are unknown here. A released hold in an effect is durable. A
  // mark made sooner would prove nothing, since the same attempt might be released once more.
  void take(const Effect& effect, bool inherited);
  // Drops pods that need no guard. A pod needs none if it is gone, has the mark, or is bound and
  // the core knows it. An open pod that the scheduler finds no node for needs none either.
  void prune(const ClusterCache& cache);
  // Drops a pod: the API server refuses the mark, and other pods must not wait for it.
  void give_up(const std::string& uid) { pods_.erase(uid); }
  // Drops all pods, as when a session ends.
  void clear();

  // The guarded pods by uid.
  const std::map<std::string, Guarded>& pods() const { return pods_; }

 private:
  // Guards the pod against this attempt and earlier ones. Does nothing for attempt 0: no patch was
  // sent.
  void guard(const std::string& uid, JobId job, std::uint32_t attempt);

  // The newest node that a pod was to be released to.
  struct Sent {
    JobId job;
    std::uint32_t attempt = 0;
    std::string node;
  };
  // By uid, as pods().
  std::map<std::string, Guarded> pods_;
  // By uid. Deleted pods stay until prune() drops them.
  std::map<std::string, Sent> sent_;
  // prune() drops deleted pods when `sent_` is about a thousand entries over this size.
  std::size_t sent_due_ = 0;
};

// Returns the mark: "1-42/3".
std::string kept_closed_mark(JobId job, std::uint32_t attempt);

}  // namespace subak
