// A random world of pods with owners of every kind, such as Jobs, JobSets and LeaderWorkerSets.
// It runs the real cache and plan of writes of the edge with an engine, but without the runtime
// and a store; controllers and kubelet are simulated. It checks which pods each write of the
// edge ends, and why. After each turn, each pod that waits behind Subak's gate must have a
// reason.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/writes/plan.h"
#include "sim/read/rng.h"

namespace subak::fault {

enum class Made : std::uint8_t {
  kSweep,         // Indexed Job with backoffLimitPerIndex
  kInferred,      // Indexed Job that does not say whether it is a gang
  kSuccess,       // as kInferred, with a successPolicy
  kDeclared,      // Indexed Job with gang-size
  kElastic,       // Job
  kJobSet,        // restarts as a whole
  kSingleJobs,    // JobSet whose jobs restart by themselves
  kExclusive,     // JobSet with exclusive topology: one job, its first pod first
  kWorkers,       // LeaderWorkerSet, RecreateGroupOnPodRestart
  kWorkersAlone,  // LeaderWorkerSet, restartPolicy None
  kLeaderFirst,   // LeaderWorkerSet, LeaderReady
  kFast,          // Kueue pod group with fast admission
  kRay,           // with gang-size
  kTraining,      // PyTorchJob with gang-size
  kUnsized,       // PyTorchJob without gang-size, whose object is never seen
  kOperator,      // PyTorchJob whose object has the size
  kEnough,        // as kOperator, with minAvailable: further pods start alone
  kAutoscaled,    // RayCluster: head and one worker; further workers start alone
  kGroup,         // ReplicaSet whose pods name a PodGroup
  kMarked,        // Deployment with a coscheduling label and no size
  kDeployment,
};
inline constexpr std::size_t kMadeKinds = 21;

class OwnerWorld {
 public:
  // `obeys`: false plants a mistake: the edge treats inferred gangs as declared gangs.
  OwnerWorld(std::uint64_t seed, std::size_t owners, bool obeys = true);
  // Runs this many steps. Returns the mistakes; empty: none.
  std::vector<std::string> run(std::size_t steps);
  std::size_t ended_by_us() const { return ended_by_us_; }  // running pods that Subak ended
  std::size_t ran() const { return ran_; }
  std::size_t held() const { return held_; }  // checks of a gated pod with a reason

 private:
  struct Pod {
    std::string uid, name;
    std::size_t owner = 0;
    std::uint32_t index = 0;
    bool gated = true, going = false;
    std::string pin, node, phase = "Pending", mark;
    std::uint32_t failures = 0;  // of earlier pods of its index
    bool stuck = false;          // the scheduler never binds it
  };
  struct Owner {
    Made made = Made::kElastic;
    std::string name, uid, job_uid;  // job_uid: of a JobSet's Job
    std::uint32_t size = 1, stated = 0;
    std::uint32_t least = 0;  // the object's minimum of pods; 0: all
    std::set<std::uint32_t> succeeded, failed;
    std::map<std::uint32_t, std::uint32_t> failures;
    bool suspended = false, over = false, lost = false;
    std::string suspend_mark;
    std::uint64_t version = 1;
  };

  void add_owner();
  void show(std::size_t owner);
  void show(const Pod& pod, bool deleted = false);
  std::string text_of(const Pod& pod) const;
  std::string marks_of(const Owner& o, const Pod& pod) const;
  std::string job_text(const Owner& o) const;
  std::string job_set_text(const Owner& o) const;
  std::string worker_set_text(const Owner& o) const;
  std::string operator_text(const Owner& o) const;
  void see(const std::string& text, const char* collection, bool deleted = false);

  void act();
  void control(std::size_t owner);
  bool may_come(const Owner& o, std::uint32_t index) const;
  void kubelet(const std::string& uid);
  void finish(const std::string& uid, const char* phase);
  void remove(const std::string& uid);
  void resize(Owner& o);
  void people();
  void restart_group(std::size_t owner);
  const Pod* live(std::size_t owner, std::uint32_t index) const;

  void turn();
  void say(in::Body body);
  void write(const KubeWrite& write);
  void judge_end(const Pod& pod, Cause cause, const std::string& by);
  void judge_gates();
  bool is_declared(const Owner& o) const;
  void wrong(const std::string& what) { wrong_.push_back(what); }

  sim::Rng rng_;
  const bool obeys_;
  TimeMs now_ = 1'767'390'000'000;
  std::int64_t monotonic_ = 0;
  std::uint64_t serial_ = 0;
  Engine engine_;
  ClusterCache cache_;
  Fence fence_;
  WantedJobs wanted_;
  Attempts attempts_;
  std::vector<Owner> owners_;
  std::map<std::string, Pod> pods_;  // by uid
  std::vector<std::string> wrong_;
  std::size_t ended_by_us_ = 0, ran_ = 0, held_ = 0;
};

}  // namespace subak::fault
