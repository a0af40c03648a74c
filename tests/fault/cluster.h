// The simulated cluster of a fault world (world.h): users' pods, controllers, a scheduler,
// kubelets, a launcher of API jobs, and the events that a watch reports. It does not know Subak. It
// sees only what an edge does to its objects.
// Threads: one at a time.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "faults.h"
#include "model/effect.h"
#include "model/input.h"

namespace subak::fault {

inline constexpr const char* kCluster = "c";

// One pod as it really is.
struct TruePod {
  PodRef ref;         // the uid; for a pod of the launcher: job, rank and attempt
  PodRecord record;   // the record that a list has of the pod
  std::string place;  // the node to which the opened gate sends the pod
  TimeMs bound_ms = 0, running_ms = 0, ended_ms = 0;
  Cause cause = Cause::kNone;
  bool evicted = false;  // asked to end
  bool live() const { return ended_ms == 0; }
  bool occupies() const { return live() && bound_ms != 0; }
};
std::string name_of(const PodRef& ref);

class Cluster {
 public:
  Cluster(sim::Rng& rng, const Faults& faults);

  TimeMs now;  // the true time
  // The events of the cluster, the oldest first, as a watch delivers them.
  const std::vector<in::Body>& log() const { return log_; }
  // Returns a complete list of all objects. A pod that has ended is in the list until it is
  // deleted.
  std::vector<in::Body> list() const;

  // Makes one random event in the cluster.
  void act();
  // Ends all faults: repairs the nodes and completes the gangs.
  void heal(const Faults& none);
  // Advances each pod as far as possible: completes gangs, binds pods with open gates, and runs
  // bound pods. A pod that has run for a while ends.
  void progress();

  // The writes of an edge. False: the pod does not exist, or no longer exists.
  bool open_gate(const Effect& effect, const EffectPod& pod);
  bool evict(const Effect& effect, const EffectPod& pod);
  // Stops a pod of the launcher that the service does not know.
  void stop(const PodRef& ref);
  // Says that the service knows the end of the pod. The pod may be deleted from now on.
  void forget(const PodRef& ref);

  const std::map<std::string, NodeSpec>& nodes() const { return nodes_; }
  const std::map<std::string, TruePod>& pods() const { return pods_; }
  std::size_t live() const;
  std::int64_t free_gpus(const NodeSpec& node) const;
  // Returns the CPU of pods without GPUs on the node, in thousandths.
  std::int64_t non_gpu_cpu(const std::string& node) const;
  // Returns what happened in the cluster although it must never happen, even if messages are lost.
  const std::vector<std::string>& complaints() const { return complaints_; }
  // The number of pods that found no room on the node to which Subak sent them.
  std::size_t turned_away() const { return turned_away_; }
  // The number of attempts of API jobs that were launched again after their end.
  std::size_t launched_twice() const { return launched_twice_; }
  const std::vector<TruePod>& ended() const { return ended_; }

 private:
  void create_gang();
  void bear(std::size_t index);
  void create_foreign();
  PodShape non_gpu_shape();
  void let_slip();  // a person removes a gate by hand
  void node_event();
  void schedule(TruePod& pod);
  void kubelet(TruePod& pod);
  void bind(TruePod& pod, const std::string& node);
  void run(TruePod& pod);
  void end(TruePod& pod, Cause cause);
  void delete_ended();
  TruePod* some_pod();
  in::Body seen(const TruePod& pod) const;
  PodRef launched_ref(const Effect& effect, const EffectPod& pod) const;
  void launch(const Effect& effect, const EffectPod& pod);

  sim::Rng& rng_;
  Faults faults_;
  std::map<std::string, NodeSpec> nodes_;
  std::map<std::string, TruePod> pods_;
  std::deque<PodRecord> unborn_;  // members of gangs and replacements still to come
  std::vector<in::Body> log_;
  std::vector<TruePod> ended_;
  std::vector<std::string> complaints_;
  std::uint64_t serial_ = 0;
  std::size_t replaced_ = 0;
  bool healed_ = false;  // controllers go on until all is done
  std::size_t turned_away_ = 0;
  std::set<std::string> launched_;
  std::size_t launched_twice_ = 0;
};

}  // namespace subak::fault
