// Makes random inputs for an engine, as users, programs and clusters could make them. Jobs and pods
// come, start, end, vanish, and are reported twice, late or wrongly. Nodes come and go. Accounts
// and the policy are edited. The same seed and the same outcomes give the same inputs on every
// build. A world reads only the effects and facts of each outcome, as an edge could. It never reads
// the engine.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sim/read/rng.h"
#include "tests/oracle/parking/random_owners.h"
#include "tests/oracle/random_moves.h"

namespace subak::sim {

class RandomWorld {
 public:
  struct Options {
    std::uint64_t seed = 1;
    // True: only inputs that Oracle::Options::judge_order can judge: whole GPUs, no patience, nodes
    // that do not shrink, ends that are reported at once.
    bool plain = false;
    // True: nodes declare their CPU, the policy reserves some CPU for each free GPU, and jobs have
    // launchers without GPUs.
    bool beside = false;
    // True: the half-life changes while there is usage.
    bool half_lives = false;
    // False: no owners wait suspended, whatever the seed is.
    bool parking = true;
    // True if the policy of this world has priority classes: in a quarter of the worlds.
    bool has_classes() const { return !plain && seed % 4 == 1; }
    // True if the accounts of this world have budgets.
    bool has_budgets() const { return seed % 8 == 5 || seed % 16 == 6; }
    // True if some owners of pods wait suspended (in::OwnerSeen): in nine of 16 worlds. Only one of
    // these nine has priority classes.
    bool has_parking() const { return parking && (seed % 4 >= 2 || seed % 16 == 13); }
  };
  explicit RandomWorld(Options options);

  // Returns the next input. Its time is after `deadline` (Engine::next_deadline()) only if it is a
  // tick.
  Input next(std::optional<TimeMs> deadline);
  // True if the world is neither setting up nor inside a list of a cluster.
  bool quiet() const { return planned_.empty() && !session_.listing; }
  // Reads the engine's outcome of the input.
  void saw(const Input& input, const ApplyOutcome& outcome);

 private:
  friend class RandomOwners;
  struct Pod {
    JobId job;
    std::uint32_t rank = 0;
    std::string uid, node;
    enum class State : std::uint8_t { kOpen, kBound, kRunning, kDoomed } state = State::kOpen;
  };
  // random_world.cc: inputs of people, and of nodes
  void set_up();
  in::Body choose();
  in::Body edit_account();
  in::Body submit();
  in::Body node_event();
  in::Body change_policy();
  DurationMs some_limit();
  void choose_time(Policy& policy);
  void add_launcher(GangRequest& request);
  void choose_rules(Policy& policy) const;
  in::Body list_again();
  in::Body spare_cluster();
  NodeSpec node_spec(std::size_t i);
  std::uint64_t some_session(const in::Body& body);
  std::string some_account();
  std::string node_name(std::size_t i) const;
  JobId some_job();
  // random_pods.cc: inputs about pods
  in::Body new_pod();
  in::PodSeen next_pod();
  PodRecord some_record(const std::string& account, const std::string& name);
  void add_segments(PodRecord& pod);
  in::Body gang_seen();
  in::Body changed_pod();
  in::Body light_pod();
  in::Body foreign_pod();
  in::Body remake_pod();
  in::Body take_gate();
  in::Body say_again(const PodRecord& record) const;
  in::Body advance_pod();
  in::Body end_pod(const Pod& pod);
  PodShape shape();
  PodRef ref(const Pod& pod);
  void open_gate(const Effect& effect);
  void note_pods(const Fact& fact);
  void gone(JobId job, std::uint32_t rank, Cause cause);
  void forget(JobId job, std::optional<std::uint32_t> rank, bool only_open);
  Options options_;
  Rng rng_;
  TimeMs now_;
  std::deque<in::Body> planned_;
  std::vector<Pod> pods_;
  std::vector<JobId> jobs_;  // jobs that have not ended, the oldest first
  // By the node's index. Even nodes are in the cluster "bare", odd nodes in "watched".
  std::vector<bool> node_there_;
  std::vector<in::PodSeen> unfinished_;  // pods that will complete gangs
  std::vector<in::PodSeen> gated_;       // pods that were created lately
  std::vector<in::PodSeen> light_;       // non-GPU pods that were created lately
  // The last report of each live Kubernetes pod, by uid. Then the uid of each job's rank.
  std::map<std::string, PodRecord> records_;
  std::map<std::pair<JobId, std::uint32_t>, std::string> seats_;
  std::optional<Input> last_;
  std::uint64_t serial_ = 0;
  struct Session {
    bool listing = false;
    std::uint64_t newest = 0;  // of the watched cluster
  };
  Session session_;
  struct Pace {
    std::size_t until_pass = 3;
    std::size_t most_jobs = 0;  // at once, in a plain world
  };
  Pace pace_;
  RandomMoves moves_;
  RandomOwners owners_;
};

}  // namespace subak::sim
