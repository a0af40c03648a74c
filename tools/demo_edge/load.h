// The load of the teams: jobs by gRPC, pods through the webhook. Both continue while the service is
// killed and restarted; a lost call is repeated.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "subak/v1/job_service.grpc.pb.h"
#include "tools/demo_edge/edge.h"
#include "tools/demo_edge/fleet.h"

namespace subak::demo {

// `request` is complete before submit(); the other fields are its result.
struct JobPlan {
  // Index in teams().
  std::size_t team = 0;
  // The call that submits it.
  v1::CreateJobRequest request;
  // The job id of the answer; empty: none came, or it was refused.
  std::string id;
  // The refusal; empty: none.
  std::string error;
  // How often the service knew the request id already.
  int told_again = 0;
  // Wall clock; 0: not submitted yet.
  std::int64_t answered_ms = 0;
};

// Returns the teams' jobs, the same in every run.
// Sizes are drawn with a fixed seed per team. Six jobs of each team are for MIG slices.
std::vector<JobPlan> demo_jobs();
// Returns one job of `pods` x `gpus` GPUs. `name` is also its request id.
// Each pod has 8 cores and 64 GiB for each of its `gpus`. `team`: index in teams().
JobPlan job_plan(std::size_t team, const std::string& name, int pods, int gpus);
// Returns the request in the plan, to be changed before submit().
v1::GangRequest& gang_of(JobPlan& plan);

// Returns the time limit of the `i`-th job: `shortest_s` to three times as long. 0: none.
// In seconds.
int limit_of(int i, int shortest_s);

// Submits one job; the answer is in the plan.
// Blocks while the service is away. A refusal is `error`, without an id.
void submit(Door& door, JobPlan& plan);

// Per team, one thread submits jobs and one creates pods.
class Load {
 public:
  // `limit_s`: the shortest time limit of its pods; 0: no pod has one.
  // All references outlive it. `jobs` must not move between start() and join(). `pods_each`: pods
  // per team.
  Load(Door& door, Edge& edge, std::string ca_file, std::vector<JobPlan>& jobs, int pods_each,
       int limit_s = 0)
      : door_(door),
        edge_(edge),
        ca_file_(std::move(ca_file)),
        jobs_(jobs),
        pods_each_(pods_each),
        limit_s_(limit_s) {}
  // Waits for the service, unless shut() was called: the threads may be in a call.
  ~Load() { join(); }
  // Each thread stops after three fifths of its jobs, or half of its pods, until hurry().
  void start();
  // Makes every thread send its remaining load at once.
  void hurry();
  // Hurries first. All load is then sent or has failed.
  void join();

  // Jobs with an answer, pods that were gated, and repeated reviews. The last is complete after
  // join().
  int submitted() const { return submitted_; }
  int created() const { return created_; }
  int webhook_repeats() const { return webhook_repeats_; }
  // Returns faults.
  // Refused jobs, and pods that were not gated. Threads: any.
  std::vector<std::string> complaints();

 private:
  // The thread that submits a team's jobs.
  void submit_jobs(std::size_t team);
  // The thread that creates a team's pods.
  void create_pods(std::size_t team);
  // Waits, unless hurried.
  void pause(int ms);
  // Waits until hurry() was called.
  void wait_for_hurry();
  // Adds a fault. Threads: any.
  void complain(std::string what);

  Door& door_;
  Edge& edge_;
  const std::string ca_file_;
  std::vector<JobPlan>& jobs_;
  const int pods_each_, limit_s_;
  // As the functions of these names.
  std::atomic<int> submitted_{0}, created_{0}, webhook_repeats_{0};
  std::mutex mutex_;
  std::condition_variable hurry_changed_;
  bool hurry_ = false;
  std::vector<std::string> complaints_;
  std::vector<std::thread> threads_;
};

}  // namespace subak::demo
