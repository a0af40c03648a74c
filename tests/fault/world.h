// One fault world: the real runtime and follower, stepped by one thread, between a store, a clock,
// an edge, a cluster and users that are all made up; everything that happens is drawn from one
// seed. First faults, with the judge looking at every step; then no faults any more, and all must
// come right. docs/design/0011-fault-world.md says how to read and replay one. Threads: none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster.h"
#include "edge.h"
#include "faults.h"
#include "judge.h"
#include "server/runtime/follower.h"
#include "server/runtime/runtime.h"
#include "store.h"
#include "users.h"

namespace subak::fault {

struct WorldOptions {
  std::uint64_t seed = 1;
  Planted planted = Planted::kNothing;
  bool trace = false;
  int steps = 1500;
};

class World {
 public:
  explicit World(WorldOptions options);
  // Until all is over or something is wrong. Empty: nothing is.
  std::vector<std::string> run();
  const Faults& faults() const { return faults_; }
  const FaultStore& store() const { return store_; }

 private:
  class WorldClock final : public Clock {
   public:
    TimeMs wall_ms() const override { return wall; }
    std::int64_t monotonic_us() const override { return mono_us; }
    TimeMs wall = 0;
    std::int64_t mono_us = 0;
  };

  // world.cc
  void set_up();
  void step();
  void service_step();
  void edge_step();
  std::unique_ptr<Edge> new_edge();
  void retire();
  std::uint64_t new_session();
  void pass_time(DurationMs ms);
  void judge_time();
  bool post(Input input, ReplyFn done);
  void start();
  void turn();
  void commit(FaultStore::Fate fate);
  void crash();
  void stop();
  bool is_wrong() { return !judge_.mistakes().empty(); }

  // finale.cc
  void finale();
  void heal();
  void accept_clock();
  void settle();
  void drain();
  void give_up();
  void compare_picture();
  void forgive_nodes();
  void compare_waiting();
  void compare_times();
  void release_everything();
  std::string unfinished() const;

  const WorldOptions options_;
  sim::Rng rng_;
  Faults faults_;
  WorldClock clock_;
  DurationMs skew_ms_ = 0;  // of the service's clock against the cluster's
  FaultStore store_;
  Judge judge_;
  Cluster cluster_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Follower> follower_;
  Users users_;
  std::unique_ptr<Edge> edge_;
  std::unique_ptr<Edge> old_edge_;  // does not know that another has taken over
  std::vector<std::unique_ptr<Edge>> gone_edges_;
  std::uint64_t last_session_ = 0;
  std::optional<ClockReading> believed_;  // service's time and true one, since the wall clock was
  bool dead_ = false;                     // the runtime has asked for the end of the process
  std::uint64_t posts_ = 0;
};

}  // namespace subak::fault
