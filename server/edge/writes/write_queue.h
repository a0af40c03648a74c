// The edge's next writes to the API server. WriteQueue plans them (plan.h) from the core's effects
// (commands), the object cache and the fence (fence.h). Then it hands them out one by one. When a
// new effect comes, and after confirm() or give_up(), planned writes may be wrong, so it drops
// them. Other changes only lead to a new plan once all planned writes are handed out.
//
// WriteQueue owns the wanted effects, the fence and the planned writes. It reads no clock and does
// no I/O. Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/effect.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/writes/fence.h"
#include "server/edge/writes/plan.h"

namespace subak {

// The queue of one edge. The edge calls plan() and then take() for each write, in each turn.
class WriteQueue {
 public:
  // `cache` must outlive the queue.
  explicit WriteQueue(const ClusterCache& cache) : cache_(cache) {}

  // Takes an effect of the core. `inherited`: see Fence::take().
  void want(Effect effect, bool inherited);
  // A request for all effects that the core still wants: its number, and the number of the effect
  // that had arrived last.
  struct Request {
    std::uint64_t number = 0, last_order = 0;
  };
  // Begins a request.
  Request request_all() { return {++requests_, last_order_}; }
  // Takes `all` effects that the core still wants, the answer to a request. Effects that arrived
  // after that request stay. Of the earlier effects, those that are not in `all` are dropped.
  void confirm(std::vector<Effect> all, const Request& request, bool inherited);
  // Says that the edge gives up the release of a job, and reports that to the core. Until the core
  // says what it wants now, the effect on the job opens no gate. Drops all planned writes. An empty
  // id: drops only the planned writes.
  void give_up(JobId job);
  // Says that the core has answered this report. If the edge requests all effects after this call,
  // confirm() may again replace or drop the effect on the job.
  void answered_give_up(JobId job);
  // Passes the pod to Fence::give_up(), because the API server refuses the pod's mark.
  void give_up_mark(const std::string& uid) { fence_.give_up(uid); }
  // Passes the pod to Fence::withdraw(), before the core can learn that the pod is gone.
  void withdraw(const std::string& uid);
  // Says that the core has answered an update of the pod. If the fence guards this pod, the next
  // plan() makes a new plan.
  void answered(const std::string& uid);
  // Call it after want() was called for all effects that have arrived. The core sends each later
  // effect after it has answered the updates of answered(), so the fence counts them from now on.
  void took_effects();
  // Says that the data from which plans are made have changed, so the next plan() makes a new plan.
  void outdate() { outdated_ = true; }
  // Drops the effects, the guarded pods and the planned writes. Call it when a session has ended.
  void forget();

  // The newest effect of each job.
  const WantedJobs& wanted() const { return wanted_; }
  // Makes a new plan if no planned write is left, and if the data have changed or a pause has
  // ended.
  void plan(const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms);
  // True if no planned write is left.
  bool is_empty() const { return planned_.empty(); }
  // Takes out and returns the most urgent planned write. There must be one.
  KubeWrite take();
  // Returns the evictions that the last plan left out (Plan::withheld) and the core does not know.
  const std::vector<KubeWrite>& withheld() const { return withheld_; }
  // Says that the core knows about all evictions in withheld(). So withheld() returns one of them
  // again only after a plan that did not leave it out.
  void withheld_are_known();
  // When the first pause that delays a write ends, by the monotonic clock; 0: no pause delays a
  // write.
  std::int64_t due_ms() const { return due_ms_; }

 private:
  // Stores the effect for the fence and for the next plan, but does not request a new plan.
  void put(Effect effect, std::uint64_t order, bool inherited);
  // Stores the evictions that a plan leaves out.
  void set_withheld(std::vector<KubeWrite> withheld);

  const ClusterCache& cache_;
  // The newest effect on each job. plan() drops the effects of jobs that need no further write.
  WantedJobs wanted_;
  Fence fence_;
  // Pods whose updates the core has answered, as long as effects from before these answers may
  // still arrive.
  std::set<std::string> answered_;
  // The number of the last effect. The count continues from session to session.
  std::uint64_t last_order_ = 0;
  // The number of the last request for all effects.
  std::uint64_t requests_ = 0;
  // The planned writes, the most urgent first.
  std::deque<KubeWrite> planned_;
  // The result of withheld(), and the uids of pods whose eviction was left out and reported to the
  // core.
  std::vector<KubeWrite> withheld_;
  std::set<std::string> known_withheld_;
  // The result of WriteQueue::due_ms().
  std::int64_t due_ms_ = 0;
  // True: the next plan() makes a new plan.
  bool outdated_ = false;
};

}  // namespace subak
