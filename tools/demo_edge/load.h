// What the teams want: jobs by gRPC, pods through the webhook. Both go on while the service is
// killed and restarted; a call that was lost is made again.
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

struct JobPlan {
  std::size_t team = 0;  // index in teams()
  v1::CreateJobRequest request;
  std::string id;      // the answer
  std::string error;   // a refusal
  int told_again = 0;  // the service knew the request id
  std::int64_t answered_ms = 0;
};

// The teams' jobs, the same in every run.
std::vector<JobPlan> demo_jobs();
// One job of `pods` x `gpus` GPUs. `name` is also its request id.
JobPlan job_plan(std::size_t team, const std::string& name, int pods, int gpus);
v1::GangRequest& gang_of(JobPlan& plan);

// The time limit of the `i`-th job: `shortest_s` to three times as long. 0: none.
int limit_of(int i, int shortest_s);

// Submits one job; the answer is in the plan.
void submit(Door& door, JobPlan& plan);

// One thread a team submits jobs, one a team creates pods.
class Load {
 public:
  // `limit_s`: the shortest time limit that its pods state; 0: none does.
  Load(Door& door, Edge& edge, std::string ca_file, std::vector<JobPlan>& jobs, int pods_each,
       int limit_s = 0)
      : door_(door),
        edge_(edge),
        ca_file_(std::move(ca_file)),
        jobs_(jobs),
        pods_each_(pods_each),
        limit_s_(limit_s) {}
  ~Load() { join(); }
  void start();
  // Every thread sends what it still has, as fast as it can.
  void hurry();
  void join();

  int submitted() const { return submitted_; }
  int created() const { return created_; }
  int webhook_repeats() const { return webhook_repeats_; }
  // What should not have happened.
  std::vector<std::string> complaints();

 private:
  void submit_jobs(std::size_t team);
  void create_pods(std::size_t team);
  // Waits, or not once hurried.
  void pause(int ms);
  void wait_for_hurry();
  void complain(std::string what);

  Door& door_;
  Edge& edge_;
  const std::string ca_file_;
  std::vector<JobPlan>& jobs_;
  const int pods_each_, limit_s_;
  std::atomic<int> submitted_{0}, created_{0}, webhook_repeats_{0};
  std::mutex mutex_;
  std::condition_variable hurry_changed_;
  bool hurry_ = false;
  std::vector<std::string> complaints_;
  std::vector<std::thread> threads_;
};

}  // namespace subak::demo
