// The simulated cluster behind the API server of a fault world (kube_world.h): scheduler, kubelets,
// a Job controller and people. It records what really happened to each pod. It is also a judge: it
// reports each write of the edge that Subak must never make (kube_cluster_judge.cc).
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/duration.h"
#include "core/quantity.h"
#include "fake_api.h"

namespace subak::fault {

class NvidiaParts;

// How the pods of a Job ask for their GPUs. "Claim" means a ResourceClaim here.
// kGpus, kSlices: resources of the device plugin. kTemplate, kMig, kLateClass: a claim from a
// template, for GPUs, for MIG slices, or of a device class that is made late. kClaim: one claim for
// each pod, made by the user. kShared: one claim for all pods of the Job. kResource: a device class
// as an extended resource. kDomain: GPUs of the plugin, and a ComputeDomain. kNever: a claim whose
// devices no edge can know, so Subak must never start the pod.
enum class Ask : std::uint8_t {
  kGpus,
  kSlices,
  kTemplate,
  kMig,
  kLateClass,
  kClaim,
  kShared,
  kResource,
  kDomain,
  kNever
};
bool is_slice(Ask ask);

// What really happened to one pod.
struct KubePod {
  std::string key, job;  // "namespace/name" of pod and Job; `job` empty: it has no Job
  std::int64_t gpus = 0;
  Ask ask = Ask::kGpus;
  bool queued = false;                // it had Subak's gate once
  bool foreign = false;               // it has a gate of another program
  bool released = false;              // the edge has opened its gate
  std::string promised;               // the node that the edge named when it opened the gate
  std::string node;                   // where it was bound
  TimeMs bound_ms = 0, ended_ms = 0;  // in whole seconds, as in objects
  bool late = false;                  // its gate was opened for a hold that is released
  bool seen_end = false;              // an object showed its end; else the pod vanished
  bool gone = false;                  // the object no longer exists
};

struct KubeJob {
  std::uint32_t pods = 1;
  bool gang = false;
  std::int64_t gpus = 1;
  Ask ask = Ask::kGpus;
  bool foreign_gate = false;
  std::string ns;
  std::set<std::uint32_t> succeeded;
  bool finished = false;
};

// A hold that the engine gives or gave to a pod.
struct CorePlace {
  std::string node;
  std::uint64_t gpu_mask = 0;
  bool overlaps(const CorePlace& other) const {
    return node == other.node && (gpu_mask & other.gpu_mask) != 0;
  }
};

// The troubles of a world's cluster. Each that is true happens at random.
struct KubeTroubles {
  bool nodes = false;    // nodes come, go, are cordoned, are not ready
  bool people = false;   // people delete pods, suspend Jobs, remove gates
  bool rejects = false;  // kubelets reject pods, the scheduler finds no node
  bool others = false;   // there are pods that Subak does not manage
  bool vanish = false;   // pods are deleted by force
};

class KubeCluster {
 public:
  // `nvidia`: the cluster also has ResourceClaims, ComputeDomains and MIG Manager.
  KubeCluster(ApiServer& server, sim::Rng& rng, bool nvidia = false);

  TimeMs now;
  KubeTroubles troubles;
  // The world sets the next three functions. Returns the pod's hold; nullopt: it has none.
  std::function<std::optional<CorePlace>(const std::string& uid)> place_of;
  // Makes the world call taken_back() for each hold that the engine has released since the last
  // call.
  std::function<void()> note_places;
  // Returns the newest attempt of the pod's job, such as "1-42/3"; empty: there is no such job.
  std::function<std::string(const std::string& uid)> attempt_of;
  // Records that the engine has released this hold of a pod of this attempt, although a patch that
  // opens the gate may be on its way. No other pod may use the hold before the pod has the mark
  // that keeps it closed.
  void taken_back(const std::string& uid, const CorePlace& place, const std::string& attempt);
  // Makes one random event of the cluster.
  void act();
  // Call it after holds may have ended. Sets KubePod::late of each pod whose gate was opened for a
  // hold that has ended.
  void note_late();
  // Ends all troubles: nodes are ready, and people resume Jobs and open other gates.
  void heal();
  // Lets each controller, the scheduler and each kubelet do its next step.
  void progress();
  // Deletes, as people would, Jobs that cannot complete: gangs of which some pods have succeeded,
  // and Jobs with Ask::kNever.
  void give_up();
  // Returns the pods and Jobs that have not finished, as a text; empty: there are none.
  std::string unfinished() const;
  const std::map<std::string, KubePod>& pods() const { return pods_; }
  std::vector<std::string> complaints() const;
  // nullptr: the cluster has no parts of NVIDIA.
  NvidiaParts* nvidia() { return nvidia_.get(); }
  bool some_ran() const {
    return std::any_of(pods_.begin(), pods_.end(),
                       [](const auto& entry) { return entry.second.bound_ms != 0; });
  }

 private:
  void create_job();
  void create_pod(const std::string& job, std::uint32_t rank);
  void create_other();
  void control(const std::string& key);
  void schedule(const std::string& key);
  void kubelet(const std::string& key);
  void end(const std::string& key, const char* phase);
  void remove_pod(const std::string& key);
  void delete_pod(const std::string& key);
  void node_event();
  void put_node(std::size_t i, bool ready, bool cordoned);
  void renew_nodes();
  void people();
  void wrote(const std::string& collection, const Object& before, const Object& after);
  void wrote_pod(const Object& before, const Object& after);
  void wrote_job(const Object& before, const Object& after);
  void promise(KubePod& pod, const std::string& node);
  bool strays(const KubePod& pod) const;
  bool holds(const std::string& uid, const std::string& node) const;
  bool is_gated(const std::string& uid) const;
  bool is_marked(const std::string& uid, const std::string& attempt) const;
  void judge_fence(const KubePod& pod, const std::string& uid, const std::string& to, bool late);
  void evict(const std::string& key);
  void complain(const std::string& what) { complaints_.push_back(what); }
  std::int64_t free_gpus(const std::string& node) const;
  std::string some(const std::string& collection);
  KubePod& truth(const std::string& key);
  std::string time() const { return format_time(now / kSecondMs * kSecondMs); }

  ApiServer& server_;
  ApiObjects& objects_;
  sim::Rng& rng_;
  std::map<std::string, KubePod> pods_;
  std::map<std::string, KubeJob> jobs_;
  struct TakenBack {
    CorePlace place;
    std::string attempt;
  };
  std::map<std::string, TakenBack> taken_back_;  // by uid of the pod that had the hold
  std::vector<std::string> complaints_;
  std::uint64_t serial_ = 0;
  std::shared_ptr<NvidiaParts> nvidia_;  // nullptr: the cluster has none
  std::size_t nodes_ = 0;
};

}  // namespace subak::fault
