// The edge's next writes. WriteQueue plans them from the core's effects, the fence and the object
// cache. It plans again when one of these changes (plan.h).
//
// It owns the wanted effects, the fence and the planned writes. It reads no clock and does no I/O.
// Threads: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/effect.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/writes/fence.h"
#include "server/edge/writes/plan.h"

namespace subak {

class WriteQueue {
 public:
  // `cache` outlives the queue.
  explicit WriteQueue(const ClusterCache& cache) : cache_(cache) {}

  // Takes an effect of the core. `inherited`: as for Fence::take().
  void want(Effect effect, bool inherited);
  // Takes all outstanding effects of the core, which were read when last_order() was `asked`.
  // Effects that arrived later stay. Earlier effects that are not in `all` are dropped.
  void confirm(std::vector<Effect> all, std::uint64_t asked, bool inherited);
  // Drops the job's effect, if there is a job, and all planned writes.
  void drop(JobId job);
  // Calls Fence::give_up(), because the API server refuses the mark of a pod.
  void give_up_mark(const std::string& uid) { fence_.give_up(uid); }
  // Says that the core has answered an update of the pod. If the fence guards the pod, the next
  // plan() plans again.
  void answered(const std::string& uid) { outdated_ = outdated_ || fence_.pods().contains(uid); }
  // Says that the data of a plan have changed, so that the next plan() plans again.
  void outdate() { outdated_ = true; }
  // Drops effects, fence and planned writes. Call it when the session has ended.
  void forget();

  // The newest effect of each job.
  const WantedJobs& wanted() const { return wanted_; }
  // The number of the effect that arrived last.
  std::uint64_t last_order() const { return last_order_; }

  // Plans the next writes if no planned write is left. It does so only after a change or the end of
  // a pause.
  void plan(const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms);
  // True if no planned write is left.
  bool is_empty() const { return planned_.empty(); }
  // Takes out the most urgent write. There must be one.
  KubeWrite take();
  // When the first pause that delays a write ends, monotonic; 0: no pause delays a write.
  std::int64_t due_ms() const { return due_ms_; }

 private:
  // Stores the effect for fence and plan, without planning again.
  void put(Effect effect, std::uint64_t order, bool inherited);

  const ClusterCache& cache_;
  // Effects by job. plan() drops the effects of jobs that need no further write.
  WantedJobs wanted_;
  Fence fence_;
  // The number of the last effect. Sessions share the count.
  std::uint64_t last_order_ = 0;
  // The most urgent first.
  std::deque<KubeWrite> planned_;
  // The result of due_ms().
  std::int64_t due_ms_ = 0;
  // True: the next plan() plans again.
  bool outdated_ = false;
};

}  // namespace subak
