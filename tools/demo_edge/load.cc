#include "tools/demo_edge/load.h"

#include <chrono>
#include <iterator>
#include <random>

#include "tools/demo_edge/pods.h"

namespace subak::demo {
namespace {

// Jobs by team: about each team's share, so that all have waiting work for most of the time.
constexpr int kJobs[] = {160, 70, 44};
constexpr int kPodPauseMs = 350;
constexpr std::int64_t kMilliCoresPerGpu = 8000;

struct Size {
  int pods, gpus, of_hundred;
};
constexpr Size kSizes[] = {{1, 1, 30}, {1, 2, 28}, {1, 4, 20}, {2, 4, 10}, {4, 2, 8}, {1, 8, 4}};

Size draw(std::mt19937_64& random) {
  int rest = static_cast<int>(random() % 100);
  for (const Size& size : kSizes) {
    rest -= size.of_hundred;
    if (rest < 0) return size;
  }
  return kSizes[0];
}

JobPlan mig_plan(std::size_t team, const std::string& name, const char* profile, int pods) {
  JobPlan plan = job_plan(team, name, pods, 1);
  v1::PodShape* shape = gang_of(plan).mutable_groups(0)->mutable_shape();
  shape->set_kind(v1::GPU_KIND_MIG);
  shape->set_mig_profile(profile);
  shape->set_cpu_milli(2000);
  shape->set_memory_bytes(8 * kGiB);
  return plan;
}

void add_team_jobs(std::size_t t, std::vector<JobPlan>& out) {
  std::mt19937_64 random(7 + t);
  const Team& team = teams()[t];
  for (int i = 0; i < kJobs[t]; ++i) {
    const Size size = draw(random);
    out.push_back(job_plan(t, team.ns + "-train-" + std::to_string(i), size.pods, size.gpus));
  }
  const char* profiles[] = {"1g.10gb", "2g.20gb", "3g.40gb"};
  for (int i = 0; i < 6; ++i) {
    out.push_back(mig_plan(t, team.ns + "-infer-" + std::to_string(i), profiles[i % 3], 1 + i % 4));
  }
}

PodWish wish_of(std::size_t t, int i) {
  const Team& team = teams()[t];
  PodWish wish;
  wish.ns = team.ns;
  wish.name = team.ns + "-pod-" + std::to_string(i);
  wish.user = team.users[static_cast<std::size_t>(i / 2) % team.users.size()];
  wish.amount = 1 + i % 2;
  switch (i % 6) {
    case 0:
      wish.job = "sweep-" + std::to_string(i);
      break;
    case 1:
      wish.resource = "nvidia.com/mig-1g.10gb";
      wish.amount = 1;
      wish.cores = 2;
      break;
    case 2:
    case 3:  // two successive pods form one gang
      wish.gang = "pair-" + std::to_string(i / 6);
      wish.gang_size = 2;
      wish.amount = 2;
      break;
    case 4:
      wish.product = kH100;
      break;
    default:
      break;
  }
  return wish;
}

}  // namespace

v1::GangRequest& gang_of(JobPlan& plan) { return *plan.request.mutable_job()->mutable_request(); }

JobPlan job_plan(std::size_t team, const std::string& name, int pods, int gpus) {
  JobPlan plan;
  plan.team = team;
  plan.request.set_request_id("demo-job-" + name);
  v1::JobSpec* job = plan.request.mutable_job();
  job->set_cluster(kCluster);
  job->set_account(teams()[team].account);
  job->set_user(teams()[team].users.front());
  job->set_name(name);
  v1::PodGroup* group = job->mutable_request()->add_groups();
  group->set_count(pods);
  group->mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
  group->mutable_shape()->set_gpus(gpus);
  group->mutable_shape()->set_cpu_milli(kMilliCoresPerGpu * gpus);
  group->mutable_shape()->set_memory_bytes(64 * kGiB * gpus);
  return plan;
}

std::vector<JobPlan> demo_jobs() {
  std::vector<JobPlan> out;
  for (std::size_t t = 0; t < teams().size(); ++t) add_team_jobs(t, out);
  return out;
}

int limit_of(int i, int shortest_s) {
  constexpr int kHalves[] = {2, 3, 4, 6};
  return shortest_s * kHalves[static_cast<std::size_t>(i) % std::size(kHalves)] / 2;
}

void submit(Door& door, JobPlan& plan) {
  v1::CreateJobResponse answer;
  const grpc::Status status =
      door.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
        return stub.CreateJob(context, plan.request, &answer);
      });
  plan.id = answer.job_id();
  plan.answered_ms = wall_ms();
  plan.told_again += answer.repeated_request();
  if (!status.ok()) plan.error = status.error_message();
}

void Load::start() {
  for (std::size_t t = 0; t < teams().size(); ++t) {
    threads_.emplace_back([this, t] { submit_jobs(t); });
    threads_.emplace_back([this, t] { create_pods(t); });
  }
}

void Load::hurry() {
  const std::scoped_lock lock(mutex_);
  hurry_ = true;
  hurry_changed_.notify_all();
}

void Load::pause(int ms) {
  std::unique_lock lock(mutex_);
  hurry_changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return hurry_; });
}

void Load::wait_for_hurry() {
  std::unique_lock lock(mutex_);
  hurry_changed_.wait(lock, [&] { return hurry_; });
}

void Load::join() {
  hurry();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<std::string> Load::complaints() {
  const std::scoped_lock lock(mutex_);
  return complaints_;
}

void Load::complain(std::string what) {
  const std::scoped_lock lock(mutex_);
  complaints_.push_back(std::move(what));
}

void Load::submit_jobs(std::size_t team) {
  std::vector<JobPlan*> own;
  for (JobPlan& plan : jobs_) {
    if (plan.team == team) own.push_back(&plan);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (i == own.size() * 3 / 5) wait_for_hurry();
    submit(door_, *own[i]);
    if (!own[i]->error.empty()) complain("CreateJob: " + own[i]->error);
    ++submitted_;
  }
}

void Load::create_pods(std::size_t team) {
  WebhookClient client(door_, ca_file_);
  for (int i = 0; i < pods_each_; ++i) {
    if (i == pods_each_ / 2) wait_for_hurry();
    PodWish wish = wish_of(team, i);
    wish.limit_s = limit_of(i / 2, limit_s_);  // the same for both pods of a gang
    const nlohmann::json pod = pod_of(wish);
    const std::string uid = "review-" + wish.name;
    const Verdict verdict = read_verdict(client.post(review_of(pod, wish, uid).dump()), uid);
    const auto stored = verdict.allowed ? store_pod(pod, verdict, wish.name) : std::nullopt;
    if (stored) {
      edge_.store(*stored);
      ++created_;
    } else {
      complain("pod " + wish.name + " was not gated: " + verdict.message);
    }
    pause(kPodPauseMs);
  }
  webhook_repeats_ += client.repeats();
}

}  // namespace subak::demo
