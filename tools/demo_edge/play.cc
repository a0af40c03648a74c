// The demo's cluster and teams, for exploration. The service's configuration must create the
// cluster: deploy/demo.
//
//   subak-play --service SUBAKD CONFIG FOLDER [SECONDS]
// starts the service with its state in FOLDER and plays until SIGINT or SIGTERM. Most of its jobs
// have time limits from SECONDS (default 20) to three times as long, and keep them. Jobs with a
// limit of 10 minutes hold most H100s. Jobs of others run for about SECONDS. A pod that is preempted
// goes on for 10 seconds.
//   subak-play WEBHOOK GRPC CA_FILE
// plays against a running service (addresses as in its first line) until stdin ends. The test that
// queries every panel of the dashboards uses it.

#include <curl/curl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "subak/v1/account_service.grpc.pb.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "tools/demo_edge/fleet.h"
#include "tools/demo_edge/interrupt.h"
#include "tools/demo_edge/load.h"
#include "tools/demo_edge/opening.h"

namespace subak::demo {
namespace {

constexpr std::int64_t kListMs = 60'000;
constexpr int kLookMs = 300;
constexpr int kLeastQueued = 40;
constexpr int kPodsEach = 40;
constexpr int kDefaultSeconds = 20;
constexpr int kLongestLimit = 3;  // times the shortest: limit_of()
constexpr std::int64_t kTellMs = 30'000;
constexpr int kLongJobs = 7, kLongGpus = 4, kLongSeconds = 600;  // 28 of the 32 H100s
constexpr int kFirstToGive = kLongJobs, kItsPriority = -2;       // the README names this job
constexpr std::int64_t kGiveBackMs = 10'000;
// False: stop.
using Wait = std::function<bool(int ms)>;

bool stdin_goes_on(int wait_ms) {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  if (::poll(&in, 1, wait_ms) == 0) return true;
  char ignored[64];
  return ::read(STDIN_FILENO, ignored, sizeof ignored) > 0;
}

bool set_up(Door& door, Edge& edge) {
  for (const v1::UpdateAccountRequest& request : demo_accounts()) {
    const grpc::Status done = door.call<v1::AccountService>(
        [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
          v1::EditAccountResponse answer;
          return stub.UpdateAccount(context, request, &answer);
        });
    if (done.ok()) continue;
    std::fprintf(stderr, "subak-play: UpdateAccount: %s\n", done.error_message().c_str());
    return false;
  }
  edge.start();
  if (edge.wait_lists(1, kListMs)) return true;
  std::fprintf(stderr, "subak-play: the cluster's list was not acknowledged\n");
  return false;
}

// Stores a pod that was bound without the queue.
void store_foreign(Edge& edge) {
  v1::PodRecord pod;
  pod.set_uid("foreign-1");
  pod.set_namespace_("vision");
  pod.set_name("past-the-queue");
  pod.mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
  pod.mutable_shape()->set_gpus(1);
  pod.set_node("hgx-4");
  pod.set_running(true);
  edge.store(pod);
}

// Returns the number of waiting jobs; nothing if the service is gone.
std::optional<std::int64_t> queued(Door& door) {
  v1::Status status;
  const grpc::Status done =
      door.call<v1::AdminService>([&](v1::AdminService::Stub& stub, grpc::ClientContext* context) {
        return stub.GetStatus(context, {}, &status);
      });
  return done.ok() ? std::optional(status.jobs_queued()) : std::nullopt;
}

JobPlan next_job(int i) {
  constexpr std::array<std::array<int, 2>, 7> kShapes{
      {{1, 4}, {2, 4}, {1, 2}, {4, 4}, {8, 1}, {2, 2}, {1, 4}}};
  const auto [pods, gpus] = kShapes[static_cast<std::size_t>(i) % kShapes.size()];
  // The limited team gets few jobs; otherwise, in time, all waiting jobs would be its own.
  const auto team = static_cast<std::size_t>(i % 12 == 11 ? 2 : i % 2);
  const bool limited = teams()[team].limit_gpus > 0;  // the largest job would be refused
  JobPlan plan = job_plan(team, "play-" + std::to_string(i), limited ? 1 : pods, gpus);
  plan.request.mutable_job()->set_priority(i % 3 - 1);
  return plan;
}

// Jobs of a team without quota that hold most H100s for minutes. A job within quota has to claim
// its H100s from them.
class LongJobs {
 public:
  LongJobs(Door& door, Edge& edge) : door_(door), edge_(edge) {}

  // Submits as many jobs as have ended; at first, all.
  void renew() {
    std::erase_if(ids_, [this](const std::string& id) { return is_done(id); });
    while (ids_.size() < kLongJobs) {
      JobPlan plan = job_plan(0, "long-" + std::to_string(++number_), 1, kLongGpus);
      gang_of(plan).mutable_groups(0)->mutable_shape()->add_products(kH100);
      plan.request.mutable_job()->mutable_time_limit()->set_seconds(kLongSeconds);
      plan.request.mutable_job()->mutable_grace()->set_seconds(kGiveBackMs / 1000);
      if (number_ == kFirstToGive) plan.request.mutable_job()->set_priority(kItsPriority);
      submit(door_, plan);
      if (!plan.error.empty()) return;
      edge_.set_limit(plan.id, std::int64_t{kLongSeconds} * 1000);
      ids_.push_back(plan.id);
    }
  }

 private:
  bool is_done(const std::string& id) {
    v1::Job job;
    const grpc::Status found =
        door_.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
          v1::GetJobRequest request;
          request.set_job_id(id);
          return stub.GetJob(context, request, &job);
        });
    return found.ok() && job.state() == v1::JOB_STATE_DONE;
  }

  Door& door_;
  Edge& edge_;
  std::vector<std::string> ids_;
  int number_ = 0;
};

void progress(const Edge& edge, std::int64_t waiting) {
  const Edge::Counts now = edge.counts();
  tell("%3lld of 120 GPUs busy, %3lld jobs wait, %d pods have ended",
       static_cast<long long>(now.live_milligpu / 1000), static_cast<long long>(waiting),
       now.ended);
}

// Submits more jobs than fit, for all teams, until the user stops or the service is gone. `ready`
// is called once there is a queue.
void keep_busy(Door& door, Edge& edge, LongJobs& long_jobs, const Wait& more, int limit_s,
               const std::function<void()>& ready) {
  std::int64_t said = wall_ms();
  bool is_ready = false;
  for (int i = 0; more(kLookMs);) {
    const std::optional<std::int64_t> waiting = queued(door);
    if (!waiting) return;
    if (!is_ready && *waiting >= kLeastQueued / 2) {
      is_ready = true;
      ready();
    }
    for (std::int64_t missing = kLeastQueued - *waiting; missing > 0; --missing) {
      const int limit = limit_of(i, limit_s);
      JobPlan plan = next_job(i++);
      if (limit > 0) plan.request.mutable_job()->mutable_time_limit()->set_seconds(limit);
      submit(door, plan);
      if (plan.error.empty() && limit > 0) edge.set_limit(plan.id, std::int64_t{limit} * 1000);
      if (plan.error.empty()) continue;
      if (more(0)) tell("CreateJob: %s", plan.error.c_str());
      return;
    }
    if (limit_s > 0 && wall_ms() - said >= kTellMs) {
      said = wall_ms();
      progress(edge, *waiting);
      long_jobs.renew();
    }
  }
}

// Plays. `limit_s`: the shortest time limit; 0: jobs have none, and nothing is printed meanwhile.
bool play(Door& door, Pace pace, int limit_s, const std::string& ca_file, const Wait& more,
          const std::function<void()>& ready) {
  Edge edge(door, demo_fleet(), pace);
  const bool set = set_up(door, edge);
  std::vector<JobPlan> none;
  Load load(door, edge, ca_file, none, kPodsEach, limit_s);
  if (set) {
    LongJobs long_jobs(door, edge);
    if (limit_s > 0) long_jobs.renew();
    Checks answers;
    opening_reviews(door, edge, ca_file, answers, limit_s);
    store_foreign(edge);
    load.start();
    keep_busy(door, edge, long_jobs, more, limit_s, ready);
  }
  door.shut();
  load.join();
  edge.stop();
  return set;
}

void invite(const Ports& ports, const std::string& folder, int seconds) {
  std::printf(
      "\nSubak plays a cluster: 24 nodes, 120 GPUs, three teams that want more than there is.\n"
      "  console  http://%s/\n  gRPC     %s\n  log      %s/subakd.log\n\n"
      "Try in another terminal (\"Use it\" in README.md goes on from here):\n"
      "  build/bin/subak status\n"
      "  build/bin/subak queue --limit 10\n"
      "  build/bin/subak share\n\n"
      "Played jobs state time limits of %d to %d s and keep them; yours run for about %d s.\n"
      "Seven jobs of 10 minutes hold most H100s, beyond any quota: 1-1 to 1-7.\n"
      "Ctrl-C ends everything.\n\n",
      ports.http.c_str(), ports.grpc.c_str(), folder.c_str(), seconds, kLongestLimit * seconds,
      seconds);
  std::fflush(stdout);
}

void show_last_line(const std::string& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line)) last = line;
  std::fprintf(stderr, "%s\n", last.c_str());
}

int play_own(const std::string& subakd, const std::string& config, const std::string& folder,
             int seconds) {
  std::filesystem::create_directories(folder);
  Door door;
  Interrupt interrupt([&door] { door.shut(); });
  Process service;
  Ports ports;
  const std::string log = folder + "/subakd.log";
  const std::string error =
      service.start({subakd, "--config", config, "--state", folder + "/subak.db"}, log, &ports);
  if (!error.empty()) {
    std::fprintf(stderr, "subak-play: %s\n", error.c_str());
    show_last_line(log);
    return 1;
  }
  door.open(ports);
  const std::int64_t ms = std::int64_t{seconds} * 1000;
  const bool played = play(
      door, {ms / 2, ms, kGiveBackMs}, seconds, folder + "/tls/ca.crt",
      [&](int wait) { return interrupt.wait(wait); }, [&] { invite(ports, folder, seconds); });
  const bool asked = interrupt.came();
  if (!asked)
    std::fprintf(stderr, "subak-play: the service does not answer; see %s\n", log.c_str());
  const int code = service.terminate();
  if (asked) std::printf("the service has ended with exit code %d\n", code);
  return played && asked && code == 0 ? 0 : 1;
}

int play_there(const Ports& ports, const std::string& ca_file) {
  Door door;
  door.open(ports);
  return play(door, {}, 0, ca_file, stdin_goes_on, [] { tell("busy"); }) ? 0 : 1;
}

int usage() {
  std::fprintf(stderr,
               "usage: subak-play --service SUBAKD CONFIG FOLDER [SECONDS]\n"
               "       subak-play WEBHOOK GRPC CA_FILE\n");
  return 2;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 3) return play_there({words[0], words[1], ""}, words[2]);
  if (words.size() < 4 || words.size() > 5 || words[0] != "--service") return usage();
  const int seconds = words.size() == 5 ? std::atoi(words[4].c_str()) : kDefaultSeconds;
  return seconds > 0 ? play_own(words[1], words[2], words[3], seconds) : usage();
}

}  // namespace
}  // namespace subak::demo

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  return subak::demo::run({argv + 1, argv + argc});
}
