// One fault world: a random run of the service with faults. docs/design/0011-fault-simulation.md
// says how to read and replay one. One thread runs the real runtime and follower in steps. Store,
// clock, edge, cluster and users are simulated. One seed determines all random choices. A world has
// one process with its own store, or several replicas with one database. First there are faults,
// and the judge checks each step. Then there are none, and at the end no job may be left.
// Threads: one at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "claim_history.h"
#include "clock.h"
#include "cluster.h"
#include "edge.h"
#include "faults.h"
#include "judge.h"
#include "replica.h"
#include "shared_store.h"
#include "users.h"

namespace subak::fault {

struct WorldOptions {
  std::uint64_t seed = 1;
  Planted planted = Planted::kNothing;
  bool trace = false;
  int steps = 1500;
  std::size_t replicas = 1;
  bool faults = true;  // false: no fault happens by itself
  // True: the clocks of the launcher and nodes are set at any time. The service is killed, and
  // starts with a wrong clock. Each clock is up to a day behind or ahead. Reports are complete and
  // in order, so the ledger must be exact.
  bool clocks = false;
  // True: the policy has `reclaim: on`, with a minimum run of at most a minute.
  bool reclaims = false;
};

class World {
 public:
  explicit World(WorldOptions options);
  // Runs the world to its end, or to the first mistake. Returns the mistakes; empty: none.
  std::vector<std::string> run();
  std::string faults() const;
  const FaultStore& store() const { return database_.facts; }
  // The number of times that a process began to lead.
  std::size_t leads() const { return judges_.size() - 1; }
  struct Counts {
    std::uint64_t posts = 0, starts = 0, inputs = 0;
    // The claims of the run, and how they ended.
    ClaimHistory claims;
    // How often each fault hit the leader while there were claims.
    std::map<std::string, std::size_t> faults_in_claims;
  };
  const Counts& counts() const { return counts_; }

  // --- by hand, instead of run()
  // -------------------------------------------------------------------
  void begin();
  void step();
  void database_is_away(bool away) { database_.is_away = away; }
  void pass_time(DurationMs ms);
  std::vector<std::string> end();
  const Cluster& cluster() const { return cluster_; }
  // Asks each replica's webhook about a pod that it must admit. Returns the mistakes; empty: none.
  std::string ask_webhooks() const;

 private:
  // An edge that reports to one replica at a time, and carries out effects.
  struct Agent {
    Replica* at = nullptr;
    std::unique_ptr<Edge> edge;
  };

  // world.cc
  void set_up();
  void service_step();
  void edge_step();
  std::unique_ptr<Agent> new_agent();
  void connect(Agent& agent);
  void clock_step();
  void wait_for_sleeper(Agent& agent);
  void advance(DurationMs ms);
  void beat_and_look();
  void ask_only();
  void retire();
  std::uint64_t new_session(Replica& r);
  void judge_time(Replica& r);
  bool post(Replica& r, Input input, ReplyFn done);
  bool post_to_any(const Input& input, const ReplyFn& done);
  void turn(Replica& r);
  void commit(Replica& r, FaultStore::Fate fate);
  bool is_wrong();
  std::vector<std::string> mistakes();

  // replicas.cc
  void start(std::size_t i);
  void lead(Replica& r);
  void make_parts(Replica& r);
  void released(Replica& r, const Released& batch);
  void follow(Replica& r);
  void crash(std::size_t i);
  void stop(std::size_t i);
  void replica_step();
  void leave(Replica& r);
  Replica& some_replica();
  Replica* leading();
  Replica* led_once();
  Judge& judge() { return *judges_.back(); }
  const Judge& judge() const { return *judges_.back(); }

  // finale.cc
  void finale();
  void heal();
  void heal_replicas();
  void ask(in::Body body);
  void accept_clock();
  void settle();
  bool settle_others();
  void drain();
  void give_up();
  void compare_picture();
  void clear_backoffs();
  void compare_waiting();
  void compare_times();
  void find_rows();
  void compare_replicas();
  void release_everything();
  std::string unfinished() const;

  const WorldOptions options_;
  sim::Rng rng_;
  Faults faults_;
  ReplicaFaults replica_faults_;
  WorldClock clock_;
  DurationMs skew_ms_ = 0;      // the service's clock minus the cluster's clock
  DurationMs said_off_ms_ = 0;  // the error of the clock of the reporter
  Database database_;
  // One judge for each process that has led, in this order. A former leader may continue without
  // knowing that it no longer leads. The last judge is that of the present leader.
  std::vector<std::unique_ptr<Judge>> judges_;
  Cluster cluster_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  Users users_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Agent> old_agent_;  // an edge that does not know that another edge has taken over
  std::vector<std::unique_ptr<Agent>> gone_agents_;
  bool is_well_ = false;  // true: replicas have no more faults
  Counts counts_;
};

}  // namespace subak::fault
