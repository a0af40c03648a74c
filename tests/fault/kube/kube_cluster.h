// The simulated cluster behind the API server: scheduler, kubelets, a Job controller and people. It
// knows what really happened to each pod, and checks what Subak may never do to a pod.
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

// How pods ask for their GPUs. kGpus, kSlices: resources of the device plugin. kTemplate, kMig,
// kLateClass: a claim from a template, for GPUs, MIG slices, or a class that comes late. kClaim: a
// claim of its own for each pod. kShared: one claim for all pods of the Job. kResource: a class as
// an extended resource. kDomain: GPUs of the plugin, and a ComputeDomain. kNever: a claim that
// nobody can know.
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

// A pod as it really was, by its uid.
struct KubePod {
  std::string key, job;  // of its Job, by key; empty: nobody makes it anew
  std::int64_t gpus = 0;
  Ask ask = Ask::kGpus;
  bool queued = false;                // had our gate once
  bool foreign = false;               // has a gate of others
  bool released = false;              // we opened it
  std::string promised;               // the node that we let it go to
  std::string node;                   // where it was bound
  TimeMs bound_ms = 0, ended_ms = 0;  // whole seconds
  bool late = false;      // let go for a place that the core had given up, or gave up since
  bool seen_end = false;  // its end stood in the object; else it vanished
  bool gone = false;      // there is no such object any more
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

// A place that the core has, or had, given to a pod.
struct CorePlace {
  std::string node;
  std::uint64_t gpu_mask = 0;
  bool overlaps(const CorePlace& other) const {
    return node == other.node && (gpu_mask & other.gpu_mask) != 0;
  }
};

// What a world's cluster has beside what goes well.
struct KubeTroubles {
  bool nodes = false;    // come, go, are cordoned, fall silent
  bool people = false;   // delete pods, suspend Jobs, take gates away
  bool rejects = false;  // kubelets turn pods away, the scheduler finds no way
  bool others = false;   // pods that we do not manage
  bool vanish = false;   // pods are deleted by force
};

class KubeCluster {
 public:
  // `nvidia`: with claims, ComputeDomains and MIG Manager.
  KubeCluster(ApiServer& server, sim::Rng& rng, bool nvidia = false);

  TimeMs now;
  KubeTroubles troubles;
  // Where the core has put this pod; nothing: nowhere.
  std::function<std::optional<CorePlace>(const std::string& uid)> place_of;
  // Says what was taken back up to now.
  std::function<void()> note_places;
  // The newest attempt of the pod's job, "1-42/3"; empty: the core has no such job any more.
  std::function<std::string(const std::string& uid)> attempt_of;
  // The core has taken back this place of a pod, whose gate was closed as far as it knew, of this attempt:
  // it is nobody else's until the pod has the mark.
  void taken_back(const std::string& uid, const CorePlace& place, const std::string& attempt);
  // Something happens by itself.
  void act();
  // Holds may have ended: who is on the way to one goes where the core has not put it any more.
  void note_late();
  // No troubles any more: nodes are well, people let everything go on.
  void heal();
  // Everything that can go on does.
  void progress();
  // People delete what cannot go on: gangs of which some pods have succeeded already.
  void give_up();
  // What is not at its end; empty: nothing.
  std::string unfinished() const;
  const std::map<std::string, KubePod>& pods() const { return pods_; }
  std::vector<std::string> complaints() const;
  // nullptr: the cluster has none of them.
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
  std::map<std::string, TakenBack> taken_back_;  // by uid of the pod that had it
  std::vector<std::string> complaints_;
  std::uint64_t serial_ = 0;
  std::shared_ptr<NvidiaParts> nvidia_;  // nullptr: there are none
  std::size_t nodes_ = 0;
};

}  // namespace subak::fault
