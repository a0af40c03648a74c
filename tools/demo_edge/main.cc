// subak-demo SUBAKD CONFIG STATE_DIRECTORY: runs a small cluster for a minute and checks it. The
// exit code is 0 only if every figure is right.

#include <curl/curl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "subak/v1/account_service.grpc.pb.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "tools/demo_edge/checks/report.h"
#include "tools/demo_edge/opening.h"

namespace subak::demo {
namespace {

constexpr std::int64_t kListMs = 30'000;
constexpr std::int64_t kHalfMs = 11'000;
constexpr std::int64_t kDeadlineMs = 120'000;
constexpr int kPodsEach = 40;
constexpr std::size_t kVision = 0, kSpeech = 1;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

class Demo {
 public:
  Demo(std::string subakd, std::string config, const std::string& folder)
      : command_{std::move(subakd), "--config", std::move(config), "--state", folder + "/subak.db"},
        log_(folder + "/subakd.log"),
        ca_file_(folder + "/tls/ca.crt"),
        edge_(door_, demo_fleet()) {}
  ~Demo() { end_threads(); }

  int run();

 private:
  bool start_service();
  bool set_up();
  bool first_half();
  bool kill_and_restart();
  bool kill_in_a_hurry();
  bool second_half();
  bool claims();
  bool drain();
  bool finish();
  v1::Status status();
  void progress();
  void explain_queue();
  void cancel_interactive();
  void end_threads();
  bool fail(const std::string& why);

  const std::vector<std::string> command_;
  const std::string log_, ca_file_;
  const std::int64_t begin_ms_ = wall_ms();
  Door door_;
  Edge edge_;
  Process service_;
  std::vector<JobPlan> jobs_ = demo_jobs();
  JobPlan rack_, big_, interactive_;
  std::unique_ptr<Load> load_;
  Restart restart_;
  ClaimStory claims_;
  Checks checks_;
};

bool Demo::fail(const std::string& why) {
  tell("FAILED: %s", why.c_str());
  return false;
}

void Demo::end_threads() {
  door_.shut();
  if (load_) load_->join();
  edge_.stop();
}

bool Demo::start_service() {
  Ports ports;
  const std::string error = service_.start(command_, log_, &ports);
  if (!error.empty()) return fail(error);
  door_.open(ports);
  return true;
}

v1::Status Demo::status() {
  v1::Status out;
  door_.call<v1::AdminService>([&](v1::AdminService::Stub& stub, grpc::ClientContext* context) {
    return stub.GetStatus(context, {}, &out);
  });
  return out;
}

bool Demo::set_up() {
  tell("starting the service: SQLite, self-signed TLS, cluster \"demo\" in enforce");
  const std::int64_t start = wall_ms();
  if (!start_service()) return false;
  tell("ready in %lld ms; its log is %s", static_cast<long long>(wall_ms() - start), log_.c_str());
  for (const v1::UpdateAccountRequest& request : demo_accounts()) {
    const grpc::Status done = door_.call<v1::AccountService>(
        [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
          v1::EditAccountResponse answer;
          return stub.UpdateAccount(context, request, &answer);
        });
    if (!done.ok()) return fail("UpdateAccount: " + done.error_message());
  }
  tell("accounts: ml.vision 50 %%, ml.speech 25 %%, bio 25 %% (at most 16 GPUs at once)");
  edge_.start();
  if (!edge_.wait_lists(1, kListMs)) return fail("the cluster's list was not acknowledged");
  tell("fleet: 4 HGX nodes x 8 H100, one NVL72 rack of 18 x 4 GB200, 2 nodes of 8 A100 in slices");
  return true;
}

bool Demo::first_half() {
  tell("pods come to the webhook, as from a kube-apiserver:");
  opening_reviews(door_, edge_, ca_file_, checks_);
  interactive_ = job_plan(kVision, "interactive", 1, 1);
  interactive_.request.mutable_job()->set_held(true);
  submit(door_, interactive_);
  edge_.set_duration(interactive_.id, 600'000);
  door_.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
    v1::ReleaseJobRequest request;
    request.set_job_id(interactive_.id);
    request.set_reason("demo");
    v1::EditJobResponse answer;
    return stub.ReleaseJob(context, request, &answer);
  });
  tell("three teams submit more than fits, by gRPC and by pods, all at once");
  load_ = std::make_unique<Load>(door_, edge_, ca_file_, jobs_, kPodsEach);
  load_->start();
  sleep_ms(1000);
  rack_ = job_plan(kSpeech, "rack", 18, 4);
  gang_of(rack_).set_topology(v1::TOPOLOGY_NVLINK);
  rack_.request.mutable_job()->set_priority(100);
  submit(door_, rack_);
  big_ = job_plan(kVision, "two-nodes", 2, 8);
  big_.request.mutable_job()->set_priority(100);
  submit(door_, big_);
  tell("ml.speech wants the whole rack (18 pods x 4 GPUs, one NVLink domain): job %s",
       rack_.id.c_str());
  const std::int64_t until = wall_ms() + kHalfMs;
  while (wall_ms() < until) {
    sleep_ms(4000);
    progress();
  }
  explain_queue();
  return true;
}

void Demo::progress() {
  const v1::Status now = status();
  const Edge::Counts counts = edge_.counts();
  tell("  %3lld of 120 GPUs busy, %3lld jobs wait, %4d pods placed, %4d ended",
       static_cast<long long>(counts.live_milligpu / 1000),
       static_cast<long long>(now.jobs_queued()), counts.placed, counts.ended);
}

void Demo::explain_queue() {
  v1::ListQueueRequest request;
  request.set_page_size(3);
  v1::ListQueueResponse queue;
  door_.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
    return stub.ListQueue(context, request, &queue);
  });
  for (const v1::QueueRow& row : queue.rows()) {
    const std::string job = row.job().spec().name() + " (" + row.shape() + ")";
    const std::string& detail = row.waits_for().detail();
    const std::string why = detail.substr(0, detail.find(';'));
    tell("  next %lld. %s: %.60s", static_cast<long long>(row.position()), job.c_str(),
         why.c_str());
  }
}

bool Demo::kill_and_restart() {
  const std::int64_t killed = wall_ms();
  service_.kill_hard();
  door_.close();
  const int lists = edge_.counts().lists;
  if (!start_service()) return false;
  const std::int64_t ready_ms = wall_ms() - killed;
  if (!edge_.wait_lists(lists + 1, kListMs)) return fail("no list after the restart");
  const std::int64_t synced_ms = wall_ms() - killed;
  tell("back: ready after %lld ms, the cluster's list acknowledged after %lld ms",
       static_cast<long long>(ready_ms), static_cast<long long>(synced_ms));
  ++restart_.kills;
  restart_.ready_ms = std::max(restart_.ready_ms, ready_ms);
  restart_.synced_ms = std::max(restart_.synced_ms, synced_ms);
  return true;
}

bool Demo::kill_in_a_hurry() {
  tell("now all clients hurry, and the service gets kill -9 in the middle of it (pid %d)",
       static_cast<int>(service_.pid()));
  const int calls = load_->submitted() + load_->created();
  load_->hurry();
  for (int i = 0; i < 1000 && load_->submitted() + load_->created() < calls + 12; ++i) sleep_ms(1);
  return kill_and_restart();
}

// The job has run since before the kill.
void Demo::cancel_interactive() {
  door_.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
    v1::CancelJobRequest request;
    request.set_job_id(interactive_.id);
    request.set_reason("the notebook is closed");
    request.set_request_id("demo-cancel");
    v1::EditJobResponse answer;
    return stub.CancelJob(context, request, &answer);
  });
  tell("an interactive job that ran through the restart is cancelled: its pod is evicted");
}

bool Demo::second_half() {
  load_->join();
  tell("all lost calls were made again: %d jobs and %d pods are in", load_->submitted(),
       load_->created());
  cancel_interactive();
  return drain();
}

bool Demo::claims() {
  const std::string error = play_claims(
      door_, edge_, [this] { return kill_and_restart(); }, claims_);
  return error.empty() ? drain() : fail(error);
}

bool Demo::drain() {
  std::int64_t said = wall_ms();
  for (;;) {
    const v1::Status now = status();
    const std::int64_t open = now.jobs_queued() + now.jobs_incomplete() + now.jobs_paused() +
                              now.jobs_starting() + now.jobs_running() + now.jobs_ending();
    if (open == 0 && edge_.idle() && now.follower_sequence() >= now.durable_sequence()) break;
    if (wall_ms() - begin_ms_ > kDeadlineMs) {
      explain_queue();
      return fail(std::to_string(open) + " jobs have not ended in time");
    }
    if (wall_ms() - said >= 4000) {
      said = wall_ms();
      progress();
    }
    sleep_ms(200);
  }
  tell("nothing waits, nothing runs");
  return true;
}

bool Demo::finish() {
  Story story;
  story.nodes = edge_.nodes();
  story.pods = edge_.pods();
  story.counts = edge_.counts();
  story.jobs = jobs_;
  for (const JobPlan& plan : {rack_, big_, interactive_}) story.jobs.push_back(plan);
  for (const auto* plans : {&claims_.borrowers, &claims_.claimants}) {
    story.jobs.insert(story.jobs.end(), plans->begin(), plans->end());
  }
  story.told = edge_.told();
  story.rack_job = rack_.id;
  story.cancelled_job = interactive_.id;
  story.complaints = edge_.complaints();
  for (const std::string& what : load_->complaints()) story.complaints.push_back(what);
  story.index();
  check_placement(story, checks_);
  const Books books = check_books(story, door_, checks_);
  const std::vector<ShareLine> shares = share_lines(story);
  check_shares(shares, story.counts.stalled_ms, checks_);
  check_claims(story, claims_, door_, checks_);
  checks_.push_back(
      {"lost work refunded = paid by the platform",
       books.refunded_milligpu_ms > 0 && books.refunded_milligpu_ms == books.taken_over_milligpu_ms,
       std::to_string(books.refunded_milligpu_ms) + " = " +
           std::to_string(books.taken_over_milligpu_ms) + " mGPU-ms"});
  checks_.push_back({"the interactive job was evicted, no other job", story.counts.evicted == 1,
                     std::to_string(story.counts.evicted)});
  restart_.repeated_calls = door_.repeats();
  restart_.repeated_reviews = load_->webhook_repeats();
  for (const JobPlan& plan : story.jobs) restart_.known_requests += plan.told_again;
  end_threads();
  const int code = service_.terminate();
  checks_.push_back({"SIGTERM ends the service with exit code 0", code == 0, std::to_string(code)});
  return report(story, books, shares, restart_, checks_);
}

int Demo::run() {
  const bool ok =
      set_up() && first_half() && kill_in_a_hurry() && second_half() && claims() && finish();
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace subak::demo

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: subak-demo SUBAKD CONFIG STATE_DIRECTORY\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::filesystem::create_directories(argv[3]);
  return subak::demo::Demo(argv[1], argv[2], argv[3]).run();
}
