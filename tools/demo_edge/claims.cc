#include "tools/demo_edge/claims.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "subak/v1/account_service.grpc.pb.h"
#include "tools/demo_edge/opening.h"
#include "tools/demo_edge/webhook.h"

namespace subak::demo {
namespace {

constexpr std::size_t kBorrower = 0, kLender = 1;
constexpr int kBorrowers = 10, kFit = 8;  // of 4 GPUs each, on 32
constexpr int kQuotaGpus = 24;
constexpr std::int64_t kLongMs = 600'000, kShortMs = 1000;
constexpr std::int64_t kWaitMs = 45'000;

class ClaimPart {
 public:
  ClaimPart(Door& door, Edge& edge, const std::function<bool()>& restart, ClaimStory& story)
      : door_(door), edge_(edge), restart_(restart), story_(story) {}

  std::string run() {
    tell("quota: ml.speech gets 24 H100s; ml.vision borrows all 32 for jobs of 10 minutes");
    if (const std::string error = give_quota(); !error.empty()) return error;
    edge_.keep_victims(true);
    for (int i = 0; i < kBorrowers; ++i) add(kBorrower, "borrower-" + std::to_string(i), 1, 4);
    if (!wait([&] { return bound_pods(story_.borrowers) == kFit; }))
      return "the borrowers did not start";
    add(kLender, "within-quota-0", 2, 8);
    add(kLender, "within-quota-1", 1, 4);
    add(kLender, "within-quota-2", 1, 4);
    const std::size_t jobs = story_.claimants.size();
    if (!wait([&] { return look().size() == jobs; })) return "jobs within quota claim nothing";
    story_.claims = look();
    tell("3 jobs within quota claim GPUs: %d jobs will end for them; kill -9", victims());
    if (const std::string error = kill(); !error.empty()) return error;
    if (!wait([&] { return edge_.counts().told >= victims(); }))
      return "the victims were not asked to give back";
    tell("the victims are asked, and write their checkpoints; kill -9 once more");
    if (const std::string error = kill(); !error.empty()) return error;
    edge_.keep_victims(false);
    if (!wait([&] { return look().empty() && bound_pods(story_.claimants) == kLenderPods; }))
      return "a job within quota did not start";
    count_broken();
    for (const JobPlan& plan : story_.borrowers) edge_.set_duration(plan.id, kShortMs);
    tell("all 3 have started where their claims said; the victims wait again, and start later");
    return "";
  }

 private:
  static constexpr int kLenderPods = 4;

  std::string give_quota() {
    v1::UpdateAccountRequest request;
    request.mutable_account()->set_path(teams()[kLender].account);
    auto* const quota = request.mutable_account()->add_quota();
    quota->set_product(kH100);
    quota->set_milligpu(std::int64_t{kQuotaGpus} * 1000);
    request.set_reason("the team bought 3 nodes");
    request.set_request_id("demo-quota");
    const grpc::Status done = door_.call<v1::AccountService>(
        [&](v1::AccountService::Stub& stub, grpc::ClientContext* context) {
          v1::EditAccountResponse answer;
          return stub.UpdateAccount(context, request, &answer);
        });
    return done.ok() ? "" : "UpdateAccount: " + done.error_message();
  }

  void add(std::size_t team, const std::string& name, int pods, int gpus) {
    JobPlan plan = job_plan(team, name, pods, gpus);
    gang_of(plan).mutable_groups(0)->mutable_shape()->add_products(kH100);
    plan.request.mutable_job()->mutable_grace()->set_seconds(kGraceMs / 1000);
    submit(door_, plan);
    edge_.set_duration(plan.id, team == kBorrower ? kLongMs : kShortMs);
    (team == kBorrower ? story_.borrowers : story_.claimants).push_back(std::move(plan));
  }

  // Returns how many pods of these jobs have been bound, of all attempts.
  int bound_pods(const std::vector<JobPlan>& plans) const {
    int out = 0;
    for (const Pod& pod : edge_.pods()) {
      const bool ours = std::any_of(plans.begin(), plans.end(),
                                    [&](const JobPlan& plan) { return plan.id == pod.job; });
      out += ours && pod.bound_ms != 0;
    }
    return out;
  }

  int victims() const {
    int out = 0;
    for (const v1::Claim& claim : story_.claims) out += claim.victim_count();
    return out;
  }

  static std::int64_t made_ms(const v1::Claim& claim) {
    return google::protobuf::util::TimeUtil::TimestampToMilliseconds(claim.made());
  }

  // Returns the present claims, and notes them.
  std::vector<v1::Claim> look() {
    v1::ListClaimsResponse answer;
    door_.call<v1::JobService>([&](v1::JobService::Stub& stub, grpc::ClientContext* context) {
      answer.Clear();
      return stub.ListClaims(context, {}, &answer);
    });
    for (const v1::Claim& claim : answer.claims()) {
      story_.seen.emplace(claim.job_id(), made_ms(claim));
    }
    return {answer.claims().begin(), answer.claims().end()};
  }

  // Adds up what this process of the service has counted.
  void count_broken() {
    const auto link = door_.wait();
    if (!link) return;
    std::istringstream lines(http_get("http://" + link->ports.http + "/metrics").body);
    bool any = false;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("subak_claims_ended_total{")) continue;
      any = true;
      story_.broken += std::strtoll(line.c_str() + line.rfind(' '), nullptr, 10);
    }
    story_.broken += !any;
  }

  std::string kill() {
    count_broken();
    story_.killed_ms = wall_ms();
    if (!restart_()) return "the service did not come back";
    ++story_.kills;
    const std::vector<v1::Claim> now = look();
    for (const v1::Claim& claim : story_.claims) {
      story_.unchanged += std::any_of(now.begin(), now.end(), [&](const v1::Claim& other) {
        return other.job_id() == claim.job_id() && made_ms(other) == made_ms(claim) &&
               other.victim_count() == claim.victim_count() &&
               std::equal(other.nodes().begin(), other.nodes().end(), claim.nodes().begin(),
                          claim.nodes().end());
      });
    }
    return "";
  }

  // False: it did not come true in time.
  template <class Condition>
  static bool wait(const Condition& condition) {
    const std::int64_t until = wall_ms() + kWaitMs;
    while (!condition()) {
      if (wall_ms() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  Door& door_;
  Edge& edge_;
  const std::function<bool()>& restart_;
  ClaimStory& story_;
};

}  // namespace

std::string play_claims(Door& door, Edge& edge, const std::function<bool()>& restart,
                        ClaimStory& story) {
  return ClaimPart(door, edge, restart, story).run();
}

}  // namespace subak::demo
