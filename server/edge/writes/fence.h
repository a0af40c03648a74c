// The fence makes sure that no outdated patch opens the gate of a second pod for the same GPUs. A
// hold is the GPUs on a node that the core, the engine that decides, gives to a pod before the pod
// is bound. The fence guards each pod whose hold was released although an outdated patch has opened
// its gate, or still may open it.
//
// For example, an earlier leader sends a patch that opens the gate of pod A for node n, and the
// patch is delayed. The core believes that A's gate is closed, and releases A's hold. Then pod B
// gets these GPUs. The edge opens B's gate, and then the delayed patch opens A's gate too. The
// scheduler can bind only one of the two pods, and chance decides which one. The other pod waits in
// vain. If A is bound, the ledger has the wrong pod.
//
// A patch names a version of the pod, and applies only while the pod has this version. So the edge
// first patches a mark onto A, before it opens B's gate. Once the API server has accepted the mark,
// A has a newer version, and no delayed patch applies any more.
//
// Until the guarded pod has the mark, the edge opens no other gate for that pod's node. If this
// node is unknown, as after a start, the edge opens no gate at all. If the gate of the guarded pod
// turns out to be open, the mark comes too late. Then the edge opens no other gate for the node
// until one of these is true:
// - the core knows that the guarded pod is bound;
// - the guarded pod is gone;
// - the scheduler finds no node for the guarded pod.
//
// The fence derives the guarded pods from the core's effects and from the marks on the pods
// (docs/design/0070). Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/ids.h"
#include "model/effect.h"
#include "server/edge/cache/cluster_cache.h"

namespace subak {

// The fence of one edge. WriteQueue owns it.
class Fence {
 public:
  // What is known of a guarded pod.
  struct Guarded {
    // The job whose hold was released.
    JobId job;
    // The newest attempt whose patch may still open the gate.
    std::uint32_t attempt = 0;
    // The nodes to which outdated patches may release the pod, as far as they are known.
    std::set<std::string> nodes;
    // True: outdated patches may also release the pod to nodes that are not known here.
    bool anywhere = false;
  };

  // Takes an effect, a command of the core, on a job. `inherited`: the effect is from before this
  // session, so the patches of earlier attempts are unknown here. The core sends the effect only
  // when the release of the hold is durable. A mark that was made earlier would prove nothing,
  // since the core could still release the pod again for the same attempt.
  void take(const Effect& effect, bool inherited);
  // Guards a pod that is reported to the core as gone although it exists. The core then ends the
  // hold of the pod, but sends no effect on it.
  void withdraw(const std::string& uid);
  // Says that the core has answered all updates of the pod. The core knew that the pod was gone
  // when it sent the effects that come from now on. `request`: the number of the last request for
  // all effects of the core.
  void answered(const std::string& uid, std::uint64_t request);
  // Takes an effect from the core's answer to this request. If the core had answered the updates of
  // a pod before the request, it knew that the pod was gone. So the effect counts, even if the same
  // effect also came before those answers.
  void confirm(const Effect& effect, std::uint64_t request);
  // True if an effect for this attempt may be from before the pod was reported as gone.
  bool is_withdrawn(const std::string& uid, JobId job, std::uint32_t attempt) const;
  // Drops the pods that need no guard any more:
  // - pods that are gone, have ended, or are being deleted;
  // - pods with a closed gate and the mark;
  // - bound pods, if the core knows that they are bound;
  // - pods with an open gate whose affinity names no single node, or for which the scheduler finds
  //   no node.
  void prune(const ClusterCache& cache);
  // Drops a pod because the API server refuses its mark. Otherwise other pods would wait for this
  // pod forever.
  void give_up(const std::string& uid) { pods_.erase(uid); }
  // Drops all pods. Call it when a session ends.
  void clear();

  // The guarded pods by uid.
  const std::map<std::string, Guarded>& pods() const { return pods_; }

 private:
  // Guards the pod against patches of this attempt and of earlier ones. Does nothing for attempt 0,
  // for which no patch was sent.
  void guard(const std::string& uid, JobId job, std::uint32_t attempt);

  // The last node for which the core opened this pod's gate, with the job and the attempt.
  struct Sent {
    JobId job;
    std::uint32_t attempt = 0;
    std::string node;
  };
  // A pod that was reported as gone, and the last attempt for which it had a hold before.
  struct Withdrawn {
    JobId job;
    std::uint32_t attempt = 0;
    bool answered = false;
    // The last request for all effects that was made before the answer.
    std::uint64_t request = 0;
  };
  // The result of pods(), by uid.
  std::map<std::string, Guarded> pods_;
  // The last release of each pod, by uid. Deleted, ended and bound pods stay until prune() drops
  // them.
  std::map<std::string, Sent> sent_;
  // By uid. confirm() drops an entry. prune() drops those of deleted, ended and bound pods, as from
  // `sent_`.
  std::map<std::string, Withdrawn> withdrawn_;
  // When `sent_` has 1000 entries more than this number, prune() drops deleted, ended and bound
  // pods from `sent_`.
  std::size_t sent_due_ = 0;
};

// Returns the mark for this job and attempt, such as "1-42/3".
std::string kept_closed_mark(JobId job, std::uint32_t attempt);

}  // namespace subak
