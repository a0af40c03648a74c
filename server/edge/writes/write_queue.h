// The edge's next writes. They follow from the effects that the core wants, the fence and the
// object cache, and are planned again when one of these changes (plan.h).
//
// It owns the wanted effects, the fence and the planned writes. Reads no clock, does no I/O.
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

  // Takes an effect of the core. `inherited`: Fence::take().
  void want(Effect effect, bool inherited);
  // Takes all outstanding effects of the core, as read when last_order() was `asked`. Effects that
  // came later stay, and earlier ones that are not among `all` are dropped.
  void confirm(std::vector<Effect> all, std::uint64_t asked, bool inherited);
  // Drops the job's effect, if there is a job, and all planned writes.
  void drop(JobId job);
  // The API server refuses the mark of a pod: Fence::give_up().
  void give_up_mark(const std::string& uid) { fence_.give_up(uid); }
  // The core has answered an update of the pod: plans again if the fence guards it.
  void answered(const std::string& uid) { outdated_ = outdated_ || fence_.pods().contains(uid); }
  // Something changed that a plan depends on.
  void outdate() { outdated_ = true; }
  // The session has ended: drops effects, fence and planned writes.
  void forget();

  // The newest effect of each job.
  const WantedJobs& wanted() const { return wanted_; }
  // The number of the effect that came last.
  std::uint64_t last_order() const { return last_order_; }

  // Plans the next writes if none is left and something changed or a pause has ended.
  void plan(const Attempts& attempts, TimeMs now_ms, std::int64_t monotonic_ms);
  // True if no planned write is left.
  bool is_empty() const { return planned_.empty(); }
  // Takes out the most urgent write. There must be one.
  KubeWrite take();
  // When the first pause ends that delays a write, monotonic; 0: none.
  std::int64_t due_ms() const { return due_ms_; }

 private:
  // Notes the effect for fence and plan, without planning again.
  void put(Effect effect, std::uint64_t order, bool inherited);

  const ClusterCache& cache_;
  // Effects by job. plan() drops those without any write left.
  WantedJobs wanted_;
  Fence fence_;
  // The number of the last effect. It goes on from session to session.
  std::uint64_t last_order_ = 0;
  // The most urgent first.
  std::deque<KubeWrite> planned_;
  // As due_ms().
  std::int64_t due_ms_ = 0;
  // The next plan() plans again.
  bool outdated_ = false;
};

}  // namespace subak
