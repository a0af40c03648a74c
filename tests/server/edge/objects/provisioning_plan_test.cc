// Which ProvisioningRequests the edge makes and deletes next, and which the cache has.
#include "server/edge/provisioning/provisioning_plan.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/edge_limits.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TimeMs kNow = 100 * kHourMs;
const JobId kJob(ClusterId(1), 7), kOther(ClusterId(1), 8);

class ProvisioningPlanTest : public ::testing::Test {
 protected:
  // Adds a request to those that the edge has seen.
  ProvisioningRequest& has(JobId job, std::uint32_t number, const std::string& digest = "d") {
    ProvisioningRequest request;
    request.ns = "a";
    request.name = provisioning_name(job, number);
    request.uid = "U" + std::to_string(number);
    request.job = job;
    request.number = number;
    request.digest = digest;
    request.since_ms = kNow - kMinuteMs;
    return requests[request.ns + "/" + request.name].request = request;
  }
  void needs(JobId job, bool more = true) {
    NodeDemand demand;
    demand.job = job;
    demand.ns = "a";
    demand.pool = "h100";
    demand.class_name = "x.y";
    demand.pods = {{"P", 2}};
    demand.digest = "d";
    demand.needs_more = more;
    page.jobs.push_back(demand);
  }
  // The steps of the next plan, as "+name" and "-name".
  std::vector<std::string> steps() {
    page.known = true;
    plan = plan_provisioning(page, requests, unneeded, now);
    unneeded = plan.unneeded;
    std::vector<std::string> out;
    for (const auto& make : plan.make) out.push_back("+" + make.request.name);
    for (const auto& drop : plan.drop) out.push_back("-" + drop.name);
    return out;
  }

  TimeMs now = kNow;
  DemandPage page;
  std::map<std::string, RequestCache::Entry> requests;
  UnneededSince unneeded;
  ProvisioningPlan plan;
};

TEST_F(ProvisioningPlanTest, AJobThatWaitsForNodesGetsOneRequest) {
  EXPECT_THAT(steps(), IsEmpty());
  needs(kJob);
  ASSERT_THAT(steps(), ElementsAre("+subak-1-7-1"));
  const ProvisioningPlan::Make& make = plan.make.front();
  EXPECT_EQ(make.demand, page.jobs.data());
  EXPECT_EQ(make.request.ns, "a");
  EXPECT_EQ(make.request.class_name, "x.y");
  EXPECT_EQ(make.request.digest, "d");
  EXPECT_EQ(make.request.job, kJob);
  has(kJob, 1);
  EXPECT_THAT(steps(), IsEmpty());
  requests.begin()->second.request.state = ProvisioningState::kProvisioned;
  now += kHourMs;
  EXPECT_THAT(steps(), IsEmpty()) << "its nodes come";
}

TEST_F(ProvisioningPlanTest, NodesThatStartNeedNoRequest) {
  needs(kJob, false);
  EXPECT_THAT(steps(), IsEmpty());
  has(kJob, 1);
  EXPECT_THAT(steps(), IsEmpty()) << "but a request that was made stays";
}

TEST_F(ProvisioningPlanTest, ARequestThatEndedIsReplacedAfterAPause) {
  using State = ProvisioningState;
  for (const State state : {State::kFailed, State::kExpired, State::kRevoked}) {
    requests.clear();
    page.jobs.clear();
    now = kNow;
    needs(kJob);
    ProvisioningRequest& request = has(kJob, 3);
    request.state = state;
    request.since_ms = now;
    now += 4 * kMinuteMs - 1;
    EXPECT_THAT(steps(), IsEmpty());
    now += 1;
    EXPECT_THAT(steps(), ElementsAre("+subak-1-7-4"));
    has(kJob, 4);
    EXPECT_THAT(steps(), ElementsAre("-subak-1-7-3"));
  }
}

TEST_F(ProvisioningPlanTest, PausesDoubleUpToALimit) {
  EXPECT_EQ(provisioning_pause(0), limits::kProvisioningRetryMs);
  EXPECT_EQ(provisioning_pause(1), limits::kProvisioningRetryMs);
  EXPECT_EQ(provisioning_pause(2), 2 * limits::kProvisioningRetryMs);
  EXPECT_EQ(provisioning_pause(6), limits::kMaxProvisioningRetryMs);
  EXPECT_EQ(provisioning_pause(UINT32_MAX), limits::kMaxProvisioningRetryMs);
  needs(kJob);
  has(kJob, UINT32_MAX).state = ProvisioningState::kFailed;
  now += kDayMs;
  EXPECT_THAT(steps(), IsEmpty()) << "no number is left";
}

// Another clock may have set the time of the condition.
TEST_F(ProvisioningPlanTest, ATimeToComeCountsAsNow) {
  needs(kJob);
  ProvisioningRequest& request = has(kJob, 1);
  request.state = ProvisioningState::kFailed;
  request.since_ms = now + kDayMs;
  EXPECT_THAT(steps(), IsEmpty());
  request.since_ms = 0;
  EXPECT_THAT(steps(), ElementsAre("+subak-1-7-2")) << "no time: long ago";
}

TEST_F(ProvisioningPlanTest, ARequestForOtherPodsIsReplaced) {
  needs(kJob);
  has(kJob, 1, "other").since_ms = now;
  EXPECT_THAT(steps(), IsEmpty()) << "not at once, since it may change again";
  now += limits::kProvisioningRetryMs;
  EXPECT_THAT(steps(), ElementsAre("+subak-1-7-2"));
}

TEST_F(ProvisioningPlanTest, ARequestThatSomebodyDeletesIsMadeAnew) {
  needs(kJob);
  has(kJob, 1).going = true;
  EXPECT_THAT(steps(), ElementsAre("+subak-1-7-2")) << "not under the name that is still in use";
  has(kJob, 2);
  EXPECT_THAT(steps(), IsEmpty()) << "the first is deleted already";
}

TEST_F(ProvisioningPlanTest, AJobThatIsGoneOrRunsHasNoRequest) {
  has(kJob, 1);
  has(kJob, 2).state = ProvisioningState::kProvisioned;
  has(kOther, 1);
  EXPECT_THAT(steps(), ElementsAre("-subak-1-7-1", "-subak-1-7-2", "-subak-1-8-1"));
  EXPECT_THAT(unneeded, IsEmpty());
}

TEST_F(ProvisioningPlanTest, AJobThatWaitsForOtherThingsKeepsItsRequestForAMinute) {
  has(kJob, 1);
  page.unbound = {kJob};
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_THAT(unneeded, SizeIs(1));
  now += limits::kProvisioningUnneededMs - 1;
  EXPECT_THAT(steps(), IsEmpty());
  needs(kJob);
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_THAT(unneeded, IsEmpty()) << "it waits for nodes again";
  page.jobs.clear();
  EXPECT_THAT(steps(), IsEmpty());
  now += limits::kProvisioningUnneededMs;
  EXPECT_THAT(steps(), ElementsAre("-subak-1-7-1"));
}

TEST_F(ProvisioningPlanTest, NodesThatHaveComeStayBookedUntilTheJobRuns) {
  ProvisioningRequest& request = has(kJob, 1);
  request.state = ProvisioningState::kProvisioned;
  request.since_ms = now;
  page.unbound = {kJob};
  EXPECT_THAT(steps(), IsEmpty());
  now += limits::kProvisionedKeptMs - 1;
  EXPECT_THAT(steps(), IsEmpty());
  now += 1;
  EXPECT_THAT(steps(), ElementsAre("-subak-1-7-1")) << "the job does not use them";
}

TEST(RequestCacheTest, HasTheRequestsOfSubakAndForgetsThoseOfNoList) {
  RequestCache cache;
  simdjson::dom::parser parser;
  const auto see = [&](const std::string& name, const std::string& label, WatchKind kind) {
    WatchEvent event;
    event.kind = kind;
    event.object =
        parser.parse(R"({"metadata":{"namespace":"a","uid":"U","name":")" + name +
                     R"(","labels":{"subak.gpu/provisioning":")" + label +
                     R"("}},"status":{"conditions":[{"type":"Provisioned","status":"True"}]}})");
    return cache.see(event);
  };
  EXPECT_EQ(see("x", "1-7.1", WatchKind::kAdded), std::nullopt);
  see("y", "1-7.2", WatchKind::kModified);
  see("z", "no", WatchKind::kAdded);
  EXPECT_THAT(cache.all(), SizeIs(2));
  EXPECT_EQ(see("", "1-7.1", WatchKind::kAdded)->field, "metadata.name");
  EXPECT_EQ(cache.provisioned(kJob, "a")->name, "y") << "the newest";
  EXPECT_EQ(cache.provisioned(kJob, "b"), nullptr);
  EXPECT_EQ(cache.provisioned(kOther, "a"), nullptr);
  see("y", "1-7.2", WatchKind::kDeleted);
  EXPECT_EQ(cache.provisioned(kJob, "a")->name, "x");
  cache.begin();
  see("w", "1-8.1", WatchKind::kAdded);
  cache.complete();
  ASSERT_THAT(cache.all(), SizeIs(1));
  EXPECT_EQ(cache.all().begin()->first, "a/w");
  cache.clear();
  EXPECT_THAT(cache.all(), IsEmpty());
}

}  // namespace
}  // namespace subak
