// A fault world with the service's own edge (docs/design/0011-fault-simulation.md). One thread runs
// the real runtime, follower and edge in steps. Store, clock, API server and cluster are simulated,
// and one seed determines all random choices. In the first part faults occur. In the second part
// there are none, and at its end all jobs must have finished and the ledger must be right.
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
  // Plants the mistake ApiObjects::forgets_marks, which a judge must find.
  bool forgets_marks = false;
  // True: the policy has `reclaim: on`, and one account has a quota.
  bool reclaims = false;
  // True: the cluster also has ResourceClaims, ComputeDomains and MIG Manager.
  bool nvidia = false;
  Plant plant = Plant::kNothing;
};

class KubeWorld {
 public:
  explicit KubeWorld(KubeWorldOptions options);
  // Runs the world to its end, or to the first mistake. Returns the mistakes; empty: none.
  std::vector<std::string> run();
  const std::string& faults() const { return faults_; }
  const FaultStore& store() const { return store_; }
  // The number of writes with a text about an expected start, and of marks on pods that are kept
  // closed.
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
  sim::Rng spoils_;  // numbers of its own, so that older worlds stay the same
  std::string faults_;
  bool crashes_ = false, slow_store_ = false, failing_store_ = false, clock_jumps_ = false;
  bool edits_ = false;
  WorldClock clock_;
  DurationMs skew_ms_ = 0;
  FaultStore store_;
  Judge judge_;
  ApiServer server_;
  ApiFaults server_faults_;  // as drawn, before heal() ends them
  KubeCluster cluster_;
  struct Held {
    CorePlace place;
    std::string attempt;  // "1-42/3"
  };
  std::map<std::string, Held> held_;  // by uid: holds of pods whose gate is closed
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Follower> follower_;
  FakeApi* api_ = nullptr;  // the edge's
  std::unique_ptr<subak::Edge> edge_;
  bool dead_ = false;
  std::uint64_t posts_ = 0;
};

}  // namespace subak::fault
