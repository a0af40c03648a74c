// A world that does at random what people, programs and clusters do to an engine. Jobs and pods
// come, start, end, vanish and are reported twice, late or wrongly; nodes come and go; everything
// is edited. The same seed and the same outcomes give the same inputs on every build. It knows what
// an edge would know (effects, facts), never the engine.
// Threads: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sim/read/rng.h"

namespace subak::sim {

class RandomWorld {
 public:
  struct Options {
    std::uint64_t seed = 1;
    // Only inputs that Oracle::Options::judge_order can judge: whole GPUs, no patience, nodes that
    // do not shrink, ends reported at once.
    bool plain = false;
    // Nodes declare their CPU, some of it is reserved beside free GPUs, and jobs have launchers
    // without GPUs.
    bool beside = false;
    // A quarter of the worlds has priority classes.
    bool has_classes() const { return !plain && seed % 4 == 1; }
  };
  explicit RandomWorld(Options options);

  // Returns the next input. Its time is after `deadline` (Engine::next_deadline()) only if it is a
  // tick.
  Input next(std::optional<TimeMs> deadline);
  // True if it is not in the middle of set-up or of a list.
  bool quiet() const { return planned_.empty() && !listing_; }
  // Reads the engine's outcome of the input.
  void saw(const Input& input, const ApplyOutcome& outcome);

 private:
  struct Pod {
    JobId job;
    std::uint32_t rank = 0;
    std::string uid, node;
    enum class State : std::uint8_t { kOpen, kBound, kRunning, kDoomed } state = State::kOpen;
  };
  // random_world.cc: what people do, and nodes
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
  // random_pods.cc: what pods do
  in::Body new_pod();
  void disagree(PodRecord& pod);
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
  PodShape non_gpu_shape();
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
  std::vector<JobId> jobs_;              // live, oldest first
  std::vector<bool> node_there_;         // by index; even ones are in "bare", odd ones in "watched"
  std::vector<in::PodSeen> unfinished_;  // members of gangs still to come
  std::vector<in::PodSeen> gated_;       // created lately
  std::vector<in::PodSeen> light_;       // the same for non-GPU pods
  // The last report of each live Kubernetes pod, by uid; and the pod of each rank of a job.
  std::map<std::string, PodRecord> records_;
  std::map<std::pair<JobId, std::uint32_t>, std::string> seats_;
  std::optional<Input> last_;
  std::uint64_t serial_ = 0;
  bool listing_ = false;
  std::uint64_t session_ = 0;  // of the watched cluster, the newest
  std::size_t until_pass_ = 3;
  std::size_t most_jobs_ = 0;  // at once, in a plain world
};

}  // namespace subak::sim
