// Claims of many jobs in one pass, and what a pass does at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "model/bounds/pass_limits.h"

namespace subak {
namespace {

constexpr TimeMs kClaimsBegin = 1'767'225'600'000;

// A fleet of cliques of 4 nodes with 4 GPUs, where jobs of several accounts borrow. "d.own" has
// quota and uses none of it.
class ClaimedFleet {
 public:
  explicit ClaimedFleet(int cliques) {
    in::SetPolicy policy;
    policy.policy.reclaim = true;
    policy.policy.reclaim_min_run_ms = 100 * kDayMs;  // no victim ends meanwhile
    policy.policy.patience_ms = 0;  // no reserved nodes, which some claimants could use
    send(policy);
    in::SetCluster cluster;
    cluster.name = "main";
    cluster.mode = Mode::kEnforce;
    send(cluster);
    in::ImportNodes import;
    import.cluster = "main";
    for (int i = 0; i < 4 * cliques; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(i);
      node.product = "GB200";
      node.gpus = 4;
      node.clique = "x" + std::to_string(i / 4);
      import.nodes.push_back(node);
    }
    send(import);
  }

  void account(const std::string& path, std::int64_t quota, std::uint32_t shares = 1) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = shares;
    if (quota > 0) set.spec.quota = {{kAnyProduct, quota * kMilliPerGpu}};
    send(set);
  }
  JobId submit(const std::string& of, std::uint32_t pods, std::int64_t gpus,
               Topology topology = Topology::kAny, std::int32_t priority = 0,
               std::uint32_t segment = 0) {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = of;
    job.priority = priority;
    job.request.groups.resize(1);
    job.request.groups[0].count = pods;
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = gpus;
    job.request.terms.topology = topology;
    job.request.terms.segment = segment;
    return send(job).job;
  }
  Reply send(in::Body body) {
    const Reply reply = engine.apply({now, "", "ana", std::move(body)}).reply;
    EXPECT_FALSE(reply.error) << reply.error->message();
    return reply;
  }
  void pass() { send(in::Pass{}); }
  // Each claim as its claimant, nodes and victims, in the order in which they were made.
  using Row = std::tuple<JobId, std::vector<std::string>, std::vector<JobId>>;
  std::vector<Row> claims() const {
    std::vector<Row> rows;
    for (const ClaimRow& claim : engine.claims("")) {
      std::vector<JobId> victims;
      for (const ClaimRow::Victim& victim : claim.victims) victims.push_back(victim.job);
      rows.emplace_back(claim.job, claim.nodes, victims);
    }
    return rows;
  }

  Engine engine;
  TimeMs now = kClaimsBegin;
};

struct Claimant {
  std::uint32_t pods = 1;
  std::int64_t gpus = 1;
  Topology topology = Topology::kAny;
  std::uint32_t segment = 0;
};

Claimant random_claimant(std::mt19937& random) {
  switch (random() % 8) {
    case 0:
      return {4, 4, Topology::kNvlinkExclusive, 0};
    case 1:
      return {2, 4, Topology::kNvlink, 0};
    case 2:
      return {3, 4, Topology::kAny, 0};
    case 3:
      return {3, 4, Topology::kRack, 0};
    case 4:
      return {6, 4, Topology::kNvlink, 3};
    default:
      return {1, 1 + static_cast<std::int64_t>(random() % 4), Topology::kAny, 0};
  }
}

// A fleet that jobs beyond quota fill, in accounts of two levels.
void fill_with_borrowers(ClaimedFleet& fleet, std::mt19937& random) {
  fleet.account("d", 96);
  fleet.account("d.own", 96);
  std::vector<std::string> borrowers{"d.other"};
  fleet.account("d.other", 0);
  for (int a = 0; a < 3; ++a) {
    const std::string path = "b" + std::to_string(a);
    const bool has_quota = random() % 3 != 0;  // then of at least what its two children have
    fleet.account(path, has_quota ? 6 + static_cast<std::int64_t>(random() % 6) : 0,
                  static_cast<std::uint32_t>(1 + random() % 3));
    for (int u = 0; u < 2; ++u) {
      borrowers.push_back(path + ".u" + std::to_string(u));
      fleet.account(borrowers.back(), static_cast<std::int64_t>(random() % 4),
                    static_cast<std::uint32_t>(1 + random() % 3));
    }
  }
  for (int i = 0; i < 200; ++i) {
    fleet.now += static_cast<TimeMs>(random() % 100'000);
    const std::string& of = borrowers[random() % borrowers.size()];
    const auto gpus = static_cast<std::int64_t>(1 + random() % 4);
    const auto priority = static_cast<std::int32_t>(random() % 3);
    if (random() % 5 == 0) {
      fleet.submit(of, 2, 4, Topology::kNvlink, priority);
    } else {
      fleet.submit(of, 1, gpus, Topology::kAny, priority);
    }
    if (i % 8 == 0) fleet.pass();
  }
  for (int i = 0; i < 64; ++i) fleet.submit("b0.u0", 1, 1);  // no GPU stays free
  while (fleet.engine.pass_due()) fleet.pass();
}

// What claimants of one pass share decides nothing: claims that are made one pass after the other
// are the same.
TEST(Claims, OnePassClaimsWhatManyPassesClaim) {
  std::size_t claims = 0, gangs = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    ClaimedFleet together(16), apart(16);
    for (ClaimedFleet* const fleet : {&together, &apart}) {
      std::mt19937 same(seed);
      fill_with_borrowers(*fleet, same);
    }
    std::vector<Claimant> claimants;
    for (int i = 0; i < 12; ++i) claimants.push_back(random_claimant(random));
    for (const Claimant& c : claimants) {
      together.submit("d.own", c.pods, c.gpus, c.topology, 0, c.segment);
      apart.submit("d.own", c.pods, c.gpus, c.topology, 0, c.segment);
      apart.pass();
    }
    together.pass();
    ASSERT_EQ(together.claims(), apart.claims()) << "seed " << seed;
    claims += together.claims().size();
    for (const auto& [job, nodes, victims] : together.claims()) gangs += nodes.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(claims, 200u);
  EXPECT_GT(gangs, 50u);
}

// An account never gives more to several claims than it has borrowed: the victims of the first
// count as gone.
TEST(Claims, SeveralClaimsDoNotTakeTheSameBorrowedGpusTwice) {
  ClaimedFleet fleet(1);
  fleet.account("own", 8);
  fleet.account("b", 8);
  for (int i = 0; i < 16; ++i) fleet.submit("b", 1, 1);
  fleet.pass();
  ASSERT_EQ(fleet.engine.count(JobState::kQueued), 0u);
  fleet.account("late", 2);
  for (int i = 0; i < 8; ++i) fleet.submit("own", 1, 1);
  for (int i = 0; i < 2; ++i) fleet.submit("late", 1, 1);
  fleet.pass();
  EXPECT_EQ(fleet.claims().size(), 8u);
}

TEST(Claims, APassLooksForALimitedNumber) {
  constexpr std::size_t kJobs = limits::kMaxClaimSteps + 10;
  ClaimedFleet fleet(kJobs / 16 + 1);
  fleet.account("own", kJobs);
  fleet.account("b", 0);
  for (std::size_t i = 0; i < (kJobs / 16 + 1) * 16; ++i) fleet.submit("b", 1, 1);
  fleet.pass();
  for (std::size_t i = 0; i < kJobs; ++i) fleet.submit("own", 1, 1);
  fleet.pass();
  EXPECT_EQ(fleet.claims().size(), limits::kMaxClaimSteps);
  EXPECT_TRUE(fleet.engine.pass_due());
  fleet.pass();
  EXPECT_EQ(fleet.claims().size(), kJobs);
  EXPECT_FALSE(fleet.engine.pass_due());
}

}  // namespace
}  // namespace subak
