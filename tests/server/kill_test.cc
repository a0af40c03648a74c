// kill -9 of the real service at random moments, also while it starts, under load over gRPC: jobs,
// edits of accounts, and a cluster that reports its pods. Callers repeat what was not answered. At
// the end, and after each start, everything acknowledged is there once, and the books are exact.
//
// SUBAK_KILLS: how often (default 20). SUBAK_KILL_SEED: other moments; printed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "subak/v1/account_service.grpc.pb.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "subak/v1/usage_service.grpc.pb.h"
#include "tools/demo_edge/checks/checks.h"

namespace subak::demo {
namespace {

constexpr std::size_t kSubmitters = 3;
constexpr int kJobsPerLife = 30;  // the last 10,000 ended ones can be asked for
constexpr std::uint64_t kMostLifeMs = 400;
constexpr std::uint64_t kMostStartMs = 80;
constexpr std::int64_t kListMs = 60'000;
constexpr std::int64_t kDrainMs = 180'000;
constexpr char kEdited[] = "bio";
constexpr std::int64_t shares_after(int edits) { return 1000 + edits; }

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

void sleep_ms(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// What callers have been told, and how much more they may ask for.
class Callers {
 public:
  Callers(Door& door, Edge& edge) : door_(door), edge_(edge) {}
  ~Callers() { join(); }

  void start() {
    for (std::size_t i = 0; i < kSubmitters; ++i) {
      threads_.emplace_back([this, i] { submit_jobs(i); });
    }
    threads_.emplace_back([this] { edit_account(); });
  }
  void allow(int jobs) {
    const std::lock_guard lock(mutex_);
    allowed_ += jobs;
    changed_.notify_all();
  }
  // Waits until all that was allowed is answered.
  void join() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::vector<JobPlan> jobs() const {
    const std::lock_guard lock(mutex_);
    return jobs_;
  }
  // Request ids of the edits in their order.
  std::vector<std::string> edits() const {
    const std::lock_guard lock(mutex_);
    return edits_;
  }

 private:
  // The number of the next job; nothing at the end.
  std::optional<int> next_job() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || given_ < allowed_; });
    if (given_ == allowed_) return std::nullopt;
    return ++given_;
  }
  void submit_jobs(std::size_t team) {
    while (const std::optional<int> number = next_job()) {
      constexpr int kPods[] = {1, 1, 1, 2, 4};
      JobPlan plan = job_plan(team % teams().size(), "kill-" + std::to_string(*number),
                              kPods[*number % 5], 1 + *number % 2);
      submit(door_, plan);
      edge_.set_duration(plan.id, 50 + *number % 300);
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(plan));
    }
  }
  void edit_account() {
    for (int number = 1;; ++number) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(5), [&] { return over_; });
        if (over_) return;
      }
      v1::UpdateAccountRequest request;
      request.mutable_account()->set_path(kEdited);
      request.mutable_account()->set_shares(shares_after(number));
      request.set_reason("kill test");
      request.set_request_id("kill-edit-" + std::to_string(number));
      const grpc::Status done = door_.call<v1::AccountService>(
          [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
            v1::EditAccountResponse answer;
            return stub.UpdateAccount(context, request, &answer);
          });
      EXPECT_TRUE(done.ok()) << done.error_message();
      const std::lock_guard lock(mutex_);
      edits_.push_back(request.request_id());
    }
  }

  Door& door_;
  Edge& edge_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int allowed_ = 0, given_ = 0;
  bool over_ = false;
  std::vector<JobPlan> jobs_;
  std::vector<std::string> edits_;
  std::vector<std::thread> threads_;
};

class KillTest : public testing::Test {
 protected:
  KillTest() { std::filesystem::create_directories(folder_); }
  ~KillTest() override {
    door_.shut();
    callers_.join();
    edge_.stop();
    service_.kill_hard();
    if (!HasFailure()) std::filesystem::remove_all(folder_);
  }

  void start_service() {
    Ports ports;
    ASSERT_EQ(service_.start(command_, folder_ + "/subakd.log", &ports), "");
    door_.open(ports);
  }
  void set_up_accounts() {
    for (const v1::UpdateAccountRequest& request : demo_accounts()) {
      const grpc::Status done = door_.call<v1::AccountService>(
          [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
            v1::EditAccountResponse answer;
            return stub.UpdateAccount(context, request, &answer);
          });
      ASSERT_TRUE(done.ok()) << done.error_message();
    }
  }
  // A start that does not live to say that it is ready, or just so.
  void kill_while_starting(std::uint64_t after_ms) {
    const std::string log = folder_ + "/starting.log";
    std::vector<char*> argv;
    for (const std::string& word : command_) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const pid_t child = fork();
    if (child == 0) {
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(out);
    ASSERT_GT(child, 0);
    sleep_ms(after_ms);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  // Everything that had been acknowledged when the service died.
  // `from`: the jobs before have been looked for already.
  void expect_there(const std::vector<JobPlan>& jobs, std::size_t from) {
    for (std::size_t i = from; i < jobs.size(); ++i) {
      EXPECT_EQ(jobs[i].error, "");
      v1::Job job;
      const grpc::Status found =
          door_.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
            v1::GetJobRequest request;
            request.set_job_id(jobs[i].id);
            return stub.GetJob(context, request, &job);
          });
      EXPECT_TRUE(found.ok()) << jobs[i].id << ": " << found.error_message();
      EXPECT_EQ(job.spec().name(), jobs[i].request.job().name());
    }
    v1::VerifyUsageResponse books;
    const grpc::Status verified = door_.call<v1::UsageService>(
        [&](v1::UsageService::Stub& stub, grpc::ClientContext* context) {
          books.Clear();
          return stub.VerifyUsage(context, {}, &books);
        });
    EXPECT_TRUE(verified.ok()) << verified.error_message();
    for (const v1::GpuTime* t : {&books.drift(), &books.residual()}) {
      EXPECT_EQ(t->gpu_seconds(), 0) << books.ShortDebugString();
      EXPECT_EQ(t->rest_milligpu_ms(), 0) << books.ShortDebugString();
    }
  }
  void wait_until_all_is_done() {
    const std::int64_t until = wall_ms() + kDrainMs;
    while (true) {
      v1::Status now;
      door_.call<v1::AdminService>([&](v1::AdminService::Stub& stub, grpc::ClientContext* c) {
        return stub.GetStatus(c, {}, &now);
      });
      const std::int64_t open = now.jobs_queued() + now.jobs_incomplete() + now.jobs_paused() +
                                now.jobs_starting() + now.jobs_running() + now.jobs_ending();
      if (open == 0 && edge_.idle() && now.follower_sequence() >= now.durable_sequence()) return;
      ASSERT_LT(wall_ms(), until) << open << " jobs have not ended";
      sleep_ms(50);
    }
  }
  // Each acknowledged edit is in the audit log once, and the last one holds.
  void expect_edits(const std::vector<std::string>& edits) {
    std::map<std::string, int> logged;
    v1::ListAuditRequest request;
    request.set_subject(kEdited);
    request.set_page_size(1000);
    do {
      v1::ListAuditResponse page;
      const grpc::Status status = door_.call<v1::AdminService>(
          [&](v1::AdminService::Stub& stub, grpc::ClientContext* context) {
            page.Clear();
            return stub.ListAudit(context, request, &page);
          });
      ASSERT_TRUE(status.ok()) << status.error_message();
      for (const v1::AuditEntry& entry : page.entries()) ++logged[entry.request_id()];
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    for (const std::string& edit : edits) EXPECT_EQ(logged[edit], 1) << edit;
    v1::Account account;
    door_.call<v1::AccountService>(
        [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
          v1::GetAccountRequest get;
          get.set_path(kEdited);
          return stub.GetAccount(context, get, &account);
        });
    EXPECT_EQ(account.shares(), shares_after(static_cast<int>(edits.size())));
  }
  void expect_exact_books() {
    Story story;
    story.nodes = edge_.nodes();
    story.pods = edge_.pods();
    story.counts = edge_.counts();
    story.jobs = callers_.jobs();
    story.complaints = edge_.complaints();
    story.index();
    Checks checks;
    check_placement(story, checks);
    check_books(story, door_, checks);
    for (const Check& check : checks) EXPECT_TRUE(check.ok) << check.what << ": " << check.found;
  }

  const std::string folder_ =
      std::filesystem::temp_directory_path() / ("subak_kill_" + std::to_string(::getpid()));
  const std::vector<std::string> command_{SUBAKD, "--config", "deploy/demo/subak.yaml", "--state",
                                          folder_ + "/subak.db"};
  Door door_;
  Edge edge_{door_, demo_fleet()};
  Process service_;
  Callers callers_{door_, edge_};
};

TEST_F(KillTest, NothingAcknowledgedIsLostOrDoneTwice) {
  const std::uint64_t kills = setting("SUBAK_KILLS", 20);
  const std::uint64_t seed = setting("SUBAK_KILL_SEED", std::random_device()());
  std::cout << "seed " << seed << ", state in " << folder_ << std::endl;
  std::mt19937_64 random(seed);
  start_service();
  set_up_accounts();
  edge_.start();
  ASSERT_TRUE(edge_.wait_lists(1, kListMs));
  callers_.start();
  std::size_t looked_at = 0;
  for (std::uint64_t i = 0; i < kills && !HasFailure(); ++i) {
    callers_.allow(kJobsPerLife);
    sleep_ms(random() % kMostLifeMs);
    const std::vector<JobPlan> acknowledged = callers_.jobs();
    service_.kill_hard();
    door_.close();
    const bool twice = random() % 4 == 0;
    if (twice) kill_while_starting(random() % kMostStartMs);
    start_service();
    if (HasFatalFailure()) return;
    expect_there(acknowledged, looked_at);
    looked_at = acknowledged.size();
  }
  callers_.join();
  wait_until_all_is_done();
  if (HasFatalFailure()) return;
  expect_there(callers_.jobs(), 0);
  expect_edits(callers_.edits());
  expect_exact_books();
  int again = 0;
  for (const JobPlan& job : callers_.jobs()) again += job.told_again;
  std::cout << kills << " kills, " << callers_.jobs().size() << " jobs (" << again
            << " repeated after they were done), " << callers_.edits().size() << " edits, "
            << edge_.counts().ended << " pods\n";
}

}  // namespace
}  // namespace subak::demo
