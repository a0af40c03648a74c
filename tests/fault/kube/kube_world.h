// A fault world with the service's own edge (docs/design/0011-fault-simulation.md). One thread runs
// the real runtime, follower and edge in steps. Store, clock and API server are simulated, and one
// seed determines all random choices. In the first part faults occur; in the second part there are
// none, and at its end everything must be right.
// Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube_cluster.h"
#include "nvidia_parts.h"
#include "server/edge/cluster/edge.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"
#include "tests/fault/clock.h"
#include "tests/fault/judge.h"
#include "tests/fault/store.h"

namespace subak::fault {

struct KubeWorldOptions {
  std::uint64_t seed = 1;
  bool trace = false;
  // Planted: ApiObjects::forgets_marks.
  bool forgets_marks = false;
  // The policy takes GPUs back, and one account has a quota.
  bool reclaims = false;
  // The cluster has claims, ComputeDomains and MIG Manager.
  bool nvidia = false;
  Plant plant = Plant::kNothing;
};

class KubeWorld {
 public:
  explicit KubeWorld(KubeWorldOptions options);
  // Until all is over or something is wrong. Empty: nothing is.
  std::vector<std::string> run();
  const std::string& faults() const { return faults_; }
  const FaultStore& store() const { return store_; }
  // Words to people that named an expected start.
  std::size_t starts_told() const { return server_.starts_told; }
  std::size_t marks() const { return server_.marks; }  // of pods that are kept closed
  NvidiaParts* nvidia() { return cluster_.nvidia(); }

 private:
  void draw_faults();
  std::optional<std::pair<JobRow, PodRow>> find_pod(const std::string& uid) const;
  std::optional<CorePlace> place_of(const std::string& uid) const;
  std::string attempt_of(const std::string& uid) const;
  void note_places();
  void set_up();
  void step();
  void service_step();
  void people_step();
  void edge_turn();
  void serve();
  void serve_orphan();
  void start();
  void start_edge();
  void crash();
  void spoil_calibration();
  void turn();
  void commit(FaultStore::Fate fate);
  bool post(Input input, ReplyFn done);
  void ask(in::Body body);
  void pass_time(DurationMs ms);
  void heal();
  void settle();
  void drain();
  void compare_devices();
  void compare_times();
  std::string unfinished() const;
  std::vector<std::string> mistakes();
  bool is_wrong() { return !mistakes().empty(); }

  const KubeWorldOptions options_;
  sim::Rng rng_;
  sim::Rng spoils_;  // dice of its own: the worlds of before it are what they were
  std::string faults_;
  bool crashes_ = false, slow_store_ = false, failing_store_ = false, clock_jumps_ = false;
  bool edits_ = false;
  WorldClock clock_;
  DurationMs skew_ms_ = 0;
  FaultStore store_;
  Judge judge_;
  ApiServer server_;
  ApiFaults server_faults_;  // that it had before it was healed
  KubeCluster cluster_;
  struct Held {
    CorePlace place;
    std::string attempt;  // "1-42/3"
  };
  std::map<std::string, Held> held_;  // by uid: who is on the way, gate closed, as far as is known
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Follower> follower_;
  FakeApi* api_ = nullptr;  // the edge's
  std::unique_ptr<subak::Edge> edge_;
  bool dead_ = false;
  std::uint64_t posts_ = 0;
};

}  // namespace subak::fault
