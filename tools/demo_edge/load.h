// The load that the demo's teams put on the service: jobs by gRPC, and pods through the webhook.
// The load continues while the service is killed and restarted: a lost call is repeated.
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

// A job of the load. `request` is complete before submit(), which sets the fields after it.
struct JobPlan {
  // The team's index in teams().
  std::size_t team = 0;
  // The call that submits the job.
  v1::CreateJobRequest request;
  // The job id in the answer; empty: there was no answer, or the job was refused.
  std::string id;
  // The refusal; empty: there was none.
  std::string error;
  // How often the service knew the request id already.
  int told_again = 0;
  // When the answer arrived, by the wall clock; 0: the job was not submitted yet.
  std::int64_t answered_ms = 0;
};

// Returns the teams' jobs, the same in every run.
// Sizes are random, with a fixed seed for each team. Six jobs of each team are for MIG slices.
std::vector<JobPlan> demo_jobs();
// Returns one job of `pods` x `gpus` GPUs. `name` is also its request id.
// Each pod has 8 cores and 64 GiB for each of its `gpus`. `team`: an index in teams().
JobPlan job_plan(std::size_t team, const std::string& name, int pods, int gpus);
// Returns the gang's request in the plan, which may be changed before submit().
v1::GangRequest& gang_of(JobPlan& plan);

// Returns the time limit of the `i`-th job in seconds: from `shortest_s` to three times as long.
// If `shortest_s` is 0, the result is 0: no limit.
int limit_of(int i, int shortest_s);

// Submits one job, and writes the answer into the plan.
// It blocks while the service is down. After a refusal, `error` is set and `id` is empty.
void submit(Door& door, JobPlan& plan);

// Makes the load. For each team, one thread submits jobs and one creates pods. Threads: one calls
// start() and join(); any may call the other functions.
class Load {
 public:
  // `pods_each`: the number of pods for each team. `limit_s`: the shortest time limit of the pods;
  // 0: no pod has one.
  // The objects of all references outlive this object. `jobs` must not be reallocated between
  // start() and join().
  Load(Door& door, Edge& edge, std::string ca_file, std::vector<JobPlan>& jobs, int pods_each,
       int limit_s = 0)
      : door_(door),
        edge_(edge),
        ca_file_(std::move(ca_file)),
        jobs_(jobs),
        pods_each_(pods_each),
        limit_s_(limit_s) {}
  // Calls join(), which waits for the threads. If the service is down, call shut() of `door`
  // before, else a call of a thread waits for the service.
  ~Load() { join(); }
  // Starts the threads. Each pauses after three fifths of its jobs, or half of
  // its pods, until hurry().
  void start();
  // Makes every thread send its remaining load without pauses.
  void hurry();
  // Calls hurry() and joins the threads. After it, all load was sent or has failed.
  void join();

  // Return the number of jobs with an answer, of gated pods, and of repeated reviews.
  // webhook_repeats() is complete only after join().
  int submitted() const { return submitted_; }
  int created() const { return created_; }
  int webhook_repeats() const { return webhook_repeats_; }
  // Returns the faults: refused jobs, and pods that were not gated. Threads: any.
  std::vector<std::string> complaints();

 private:
  // The work of the thread that submits a team's jobs.
  void submit_jobs(std::size_t team);
  // The work of the thread that creates a team's pods.
  void create_pods(std::size_t team);
  // Waits for `ms`, unless hurry() was called.
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
  // The results of the functions with these names.
  std::atomic<int> submitted_{0}, created_{0}, webhook_repeats_{0};
  std::mutex mutex_;
  std::condition_variable hurry_changed_;
  bool hurry_ = false;
  std::vector<std::string> complaints_;
  std::vector<std::thread> threads_;
};

}  // namespace subak::demo
