// The simulated cluster of a fault world: users' pods, controllers, a scheduler, kubelets, a
// launcher of API jobs, and the events that a watch of the cluster reports. It does not know Subak,
// but only what an edge does to its objects.
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
  PodRef ref;         // by uid, or by job, rank and attempt of what the launcher made
  PodRecord record;   // what a list says of it
  std::string place;  // the node that its opened gate names
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
  // What happened, oldest first: what a watch delivers.
  const std::vector<in::Body>& log() const { return log_; }
  // All there is now, as one list; pods that ended are in it until they are deleted.
  std::vector<in::Body> list() const;

  // Something happens by itself.
  void act();
  // Faults are over: nodes are well, gangs complete.
  void heal(const Faults& none);
  // Everything that can go on does: gangs complete, open pods are bound, bound ones run, each ends
  // once it has run for a while.
  void progress();

  // What an edge does. False: there is no such pod (any more).
  bool open_gate(const Effect& effect, const EffectPod& pod);
  bool evict(const Effect& effect, const EffectPod& pod);
  // The service does not know this pod of the launcher: it is stopped.
  void stop(const PodRef& ref);
  // The service knows of this end: whoever made the pod may delete it.
  void forget(const PodRef& ref);

  const std::map<std::string, NodeSpec>& nodes() const { return nodes_; }
  const std::map<std::string, TruePod>& pods() const { return pods_; }
  std::size_t live() const;
  std::int64_t free_gpus(const NodeSpec& node) const;
  std::int64_t non_gpu_cpu(const std::string& node) const;  // of pods without GPUs
  // What must never be, whatever happened to messages.
  const std::vector<std::string>& complaints() const { return complaints_; }
  // Pods that found no room where they had been placed.
  std::size_t turned_away() const { return turned_away_; }
  // Attempts of API jobs that were launched again after they had ended.
  std::size_t launched_twice() const { return launched_twice_; }
  const std::vector<TruePod>& ended() const { return ended_; }

 private:
  void create_gang();
  void bear(std::size_t index);
  void create_foreign();
  PodShape non_gpu_shape();
  void let_slip();  // somebody takes a gate away by hand
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
