// What scenario files cannot say: promises over whole runs.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/account_limits.h"
#include "core/limits.h"
#include "inputs.h"
#include "model/bounds/pass_limits.h"

namespace subak {
namespace {

NodeSpec node(const std::string& name, std::int64_t gpus) {
  NodeSpec spec;
  spec.name = name;
  spec.product = "H100";
  spec.gpus = gpus;
  return spec;
}

GangRequest whole(std::uint32_t pods, std::int64_t gpus) {
  GangRequest r;
  PodShape shape;
  shape.kind = GpuKind::kWhole;
  shape.gpus = gpus;
  r.groups.push_back({pods, shape});
  return r;
}

in::SubmitJob submit(const std::string& account, const GangRequest& request) {
  in::SubmitJob job;
  job.cluster = "main";
  job.account = account;
  job.request = request;
  return job;
}

in::SetAccount account(const std::string& path) {
  in::SetAccount a;
  a.spec.path = path;
  return a;
}

void set_up(Engine& engine, int nodes) {
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import;
  import.cluster = "main";
  for (int i = 0; i < nodes; ++i) import.nodes.push_back(node("n" + std::to_string(i), 8));
  engine.apply(at(0, import));
  engine.apply(at(0, account("a")));
  engine.apply(at(0, account("b")));
}

TEST(Engine, ALeapOverAgesMakesNoFactForEachDay) {
  Engine engine;
  set_up(engine, 2);
  const TimeMs end_ms = limits::kMaxTimeMs - limits::kMaxTimeMs % kDayMs;
  const auto outcome = engine.apply(at(end_ms, in::Tick{}));
  std::vector<TimeMs> days;  // of the first node
  for (const Fact& fact : outcome.facts) {
    const auto* billed = std::get_if<fact::NodeBilled>(&fact.body);
    if (billed != nullptr && billed->node == NodeId(1)) days.push_back(billed->as_of_ms);
  }
  ASSERT_EQ(days.size(), static_cast<std::size_t>(limits::kMaxClosedDays) + 1);
  EXPECT_EQ(days.front(), end_ms - limits::kMaxClosedDays * kDayMs);
  EXPECT_EQ(days.back(), end_ms);
  engine.check_invariants();
}

TEST(Engine, TheViewTellsTheLargestNodeOfEachProduct) {
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import;
  import.cluster = "main";
  import.nodes = {node("n0", 4), node("n1", 8), node("n2", 2)};
  import.nodes[2].product = "A30";
  import.nodes[0].mig_gpus = import.nodes[1].mig_gpus = 1;
  import.nodes[0].mig = {{"1g.10gb", 2}, { "3g.40gb", 1 }};
  import.nodes[1].mig = {{ "1g.10gb", 4 }};
  import.nodes[1].numa_gpus = 3;  // n0 has 4 GPUs, and no such bound
  import.nodes[2].numa_gpus = 1;
  for (NodeSpec& node : import.nodes) node.numa_cpu_milli = 1000 * node.gpus;
  engine.apply(at(0, import));
  const std::shared_ptr<const View> view = engine.view();
  const ClusterView& cluster = *view->cluster("main");
  ASSERT_EQ(cluster.products.size(), cluster.product_node_gpus.size());
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (std::size_t i = 0; i < cluster.products.size(); ++i) {
    sizes.emplace_back(cluster.products[i].product, cluster.product_node_gpus[i]);
  }
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<std::pair<std::string, std::int64_t>>{{"A30", 2}, {"H100", 8}}));
  const bool a30_first = cluster.products[0].product == "A30";
  EXPECT_EQ(cluster.product_container_gpus,
            (std::vector<std::int64_t>{a30_first ? 1 : 4, a30_first ? 4 : 1}));
  EXPECT_EQ(cluster.largest_node.container_cpu_milli, 8000);
  EXPECT_EQ(cluster.largest_node_gpus, 8);
  EXPECT_EQ(cluster.largest_node.mig, (std::vector<MigSlices>{{"1g.10gb", 4}, {"3g.40gb", 1}}));
}

TEST(Engine, ARequestIdIsAnsweredOnce) {
  Engine engine;
  set_up(engine, 1);
  const auto first = engine.apply(at(1, submit("a", whole(1, 8)), "r1"));
  EXPECT_EQ(first.facts.size(), 1u);
  const auto again = engine.apply(at(2, submit("a", whole(1, 8)), "r1"));
  EXPECT_TRUE(again.facts.empty());
  EXPECT_TRUE(again.reply.repeated);
  EXPECT_EQ(again.reply.job, first.reply.job);
  EXPECT_EQ(engine.count(JobState::kQueued), 1u);
}

TEST(Engine, AllOrNothingAndOthersPassABlockedGang) {
  Engine engine;
  set_up(engine, 2);
  engine.apply(at(1, submit("a", whole(3, 8))));  // three nodes: never fits two
  engine.apply(at(1, submit("a", whole(1, 8))));
  const auto pass = engine.apply(at(1, in::Pass{}));
  ASSERT_EQ(pass.facts.size(), 1u);
  EXPECT_EQ(std::get<fact::AttemptStarted>(pass.facts[0].body).id, JobId(ClusterId(1), 2));
  EXPECT_FALSE(engine.pass_due());
  const auto why = engine.explain(JobId(ClusterId(1), 1), 1);
  ASSERT_TRUE(why.has_value());
  ASSERT_FALSE(why->reasons.empty());
  EXPECT_EQ(why->reasons[0].token, ReasonToken::kExceedsFleet);
}

TEST(Engine, PatienceKeepsNodesForTheNeediestThatDoesNotFit) {
  Engine engine;
  set_up(engine, 2);
  Policy policy;
  policy.patience_ms = kHourMs;
  policy.hold_ms = kDayMs;
  engine.apply(at(0, in::SetPolicy{policy, {}}));
  engine.apply(at(0, submit("b", whole(1, 4))));
  engine.apply(at(0, submit("b", whole(1, 4))));
  engine.apply(at(0, submit("b", whole(1, 8))));
  engine.apply(at(0, in::Pass{}));  // both nodes are full
  engine.apply(at(1, submit("a", whole(2, 8))));
  // Small jobs of the other team keep coming and would take whatever is freed.
  for (int i = 0; i < 4; ++i) engine.apply(at(2, submit("b", whole(1, 8))));
  engine.apply(at(kHourMs + 1, in::Pass{}));
  auto free_job = [&](std::uint64_t sequence, std::uint32_t ranks, TimeMs t) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      engine.apply(
          at(t, in::PodGone{"main", {"", JobId(ClusterId(1), sequence), r}, 0, Cause::kFinished}));
    }
    engine.apply(at(t, in::Pass{}));
    engine.check_invariants();
  };
  free_job(1, 1, 2 * kHourMs);
  free_job(2, 1, 2 * kHourMs + 1);
  EXPECT_EQ(engine.job(JobId(ClusterId(1), 5), false)->state, JobState::kQueued)
      << "a small job took a node that is kept free";
  free_job(3, 1, 2 * kHourMs + 2);
  EXPECT_EQ(engine.job(JobId(ClusterId(1), 4), false)->state, JobState::kStarting);
}

TEST(Engine, NumbersOfClustersEnd) {
  Engine engine;
  fact::ClusterSet last;
  last.id = ClusterId(UINT16_MAX);
  last.name = "last";
  engine.evolve({1, 0, last});
  const auto full = engine.apply(at(1, in::SetCluster{"new", Mode::kObserve, {}, "", false}));
  ASSERT_TRUE(full.reply.error.has_value());
  EXPECT_EQ(full.reply.error->code, ErrorCode::kExhausted);
  const auto known = engine.apply(at(2, in::SetCluster{"last", Mode::kEnforce, {}, "", false}));
  EXPECT_FALSE(known.reply.error.has_value());
}

TEST(Engine, SurveySeesForeignPodsFragmentsAndWhoWaitsLongest) {
  Engine engine;
  set_up(engine, 2);
  engine.apply(at(0, in::SetCluster{"other", Mode::kEnforce, {}, "", false}));
  engine.apply(at(0, in::ImportNodes{"other", {node("o0", 8)}, "", false}));
  engine.apply(at(1, submit("a", whole(1, 4))));
  engine.apply(at(1, in::Pass{}));
  PodRecord stray;
  stray.uid = "u1";
  stray.ns = "x";
  stray.name = "stray";
  stray.shape = whole(1, 2).groups[0].shape;
  stray.node = "n1";
  engine.apply(at(2, in::PodSeen{"main", stray}));
  engine.apply(at(3, submit("b", whole(3, 8))));  // three nodes: never fits
  engine.apply(at(5, submit("b", whole(3, 8))));
  const Survey survey = engine.survey();
  ASSERT_EQ(survey.clusters.size(), 2u);
  EXPECT_EQ(survey.clusters[0].foreign, 2000);
  // 4 + 6 GPUs are free; of the pods 1 of 7 can use them, 6 of 7 need whole nodes.
  EXPECT_DOUBLE_EQ(survey.clusters[0].fragmentation, 6.0 / 7);
  EXPECT_EQ(survey.clusters[1].foreign, 0);
  EXPECT_EQ(survey.clusters[1].fragmentation, 0) << "nothing is wanted there";
  const AccountId b = engine.accounts().find("b");
  EXPECT_EQ(survey.oldest_submit, (std::map<AccountId, TimeMs>{{kRootAccount, 3}, {b, 3}}));
  EXPECT_EQ(survey.head.size(), 2u);
  EXPECT_EQ(survey.reasons,
            (std::map<ReasonToken, std::size_t>{{ReasonToken::kExceedsFleet, 2},
                                                {ReasonToken::kWaitingForCapacity, 2}}));
}

// It is the newest edge's word, and no fact: a service that starts knows nothing of it.
TEST(Engine, AsWhomTheEdgeIsKnownIsInTheView) {
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  const auto known_as = [&] { return engine.view()->clusters->front().known_as; };
  EXPECT_EQ(known_as(), "");
  engine.apply(at(0, in::ListBegin{"main", "", "sre@example.com"}));
  EXPECT_EQ(known_as(), "sre@example.com");
  engine.apply(at(1, in::ListComplete{"main"}));
  EXPECT_EQ(known_as(), "sre@example.com");
  engine.apply(at(2, in::ListBegin{"main", "", "other"}));
  EXPECT_EQ(known_as(), "other");
  const auto facts = engine.seq();
  engine.apply(at(3, in::Restarted{}));
  EXPECT_EQ(known_as(), "");
  engine.apply(at(4, in::ListBegin{"main", "", "other"}));
  engine.apply(at(5, in::ListBegin{"main"}));
  EXPECT_EQ(known_as(), "") << "the newest does not say";
  const auto longer =
      engine.apply(at(6, in::ListBegin{"main", "", std::string(limits::kMaxTextBytes + 1, 'u')}));
  ASSERT_TRUE(longer.reply.error);
  EXPECT_EQ(longer.reply.error->field, "known_as");
  EXPECT_GT(engine.seq(), facts);
}

// An edge that never tells of nodes without GPUs still says which pods are there.
TEST(Engine, PodsOfNodesThatNeverComeLeaveRoomForThoseThatDo) {
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  engine.apply(at(0, in::ListBegin{"main"}));
  PodRecord pod;
  pod.ns = "web";
  std::size_t waiting = 0;
  const auto said = [&](const std::string& uid, const std::string& where) {
    pod.uid = pod.name = uid;
    pod.node = where;
    return !engine.apply(at(1, in::PodSeen{"main", pod})).reply.error;
  };
  for (std::size_t i = 0; i < limits::kMaxEarlyPods; ++i) {
    waiting += said("light-" + std::to_string(i), "cpu-1") ? 1 : 0;
  }
  EXPECT_EQ(waiting, limits::kMaxEarlyPods / 2);
  pod.shape = whole(1, 8).groups[0].shape;
  EXPECT_TRUE(said("heavy", "n1"));
  EXPECT_FALSE(engine.job(JobId(ClusterId(1), 1), false));
  engine.apply(at(2, in::NodeSeen{"main", node("n1", 8)}));
  EXPECT_TRUE(engine.job(JobId(ClusterId(1), 1), false));
}

std::string refusal(Engine& engine, in::Body body) {
  const auto error = engine.apply(at(engine.now(), std::move(body))).reply.error;
  return error ? std::string(to_string(error->code)) + " " + error->message() : "";
}

// Numbers that end are refused before they do.
TEST(Engine, ClustersProductsAndNodeIdsHaveAnEnd) {
  Engine engine;
  set_up(engine, 1);
  for (std::size_t i = 1; i < limits::kMaxClusters; ++i) {
    ASSERT_EQ(refusal(engine, in::SetCluster{"c" + std::to_string(i), Mode::kWarn, {}, "", false}),
              "");
  }
  EXPECT_EQ(refusal(engine, in::SetCluster{"more", Mode::kWarn, {}, "", false}),
            "exhausted cluster: was \"more\", want at most 1000 clusters");
  EXPECT_EQ(refusal(engine, in::SetCluster{"c1", Mode::kEnforce, {}, "", false}), "");

  std::size_t products = engine.fleet().products().size();
  for (std::size_t i = 0; products < limits::kMaxProducts; ++i) {
    in::SetAccount team = account("t" + std::to_string(i));
    while (products < limits::kMaxProducts &&
           team.spec.quota.size() < limits::kMaxProductsPerAccount) {
      team.spec.quota.push_back({"P" + std::to_string(++products), 1000});
    }
    ASSERT_EQ(refusal(engine, team), "");
  }
  in::SetAccount team = account("late");
  team.spec.limit = {{"Q", 1000}};
  EXPECT_EQ(refusal(engine, team),
            "exhausted products: was \"10001\", want at most 10000 names of GPU products");
  team.spec.limit = {{"P9", 1000}, {"gpu", 1000}};
  EXPECT_EQ(refusal(engine, team), "");
  NodeSpec stranger = node("x", 8);
  stranger.product = "Q";
  EXPECT_EQ(refusal(engine, in::ImportNodes{"c1", {stranger}, "", false}),
            "exhausted products: was \"10001\", want at most 10000 names of GPU products");

  engine.evolve({0, 0, fact::CountersSnapshot{ClusterId(), 0, limits::kMaxNodeIds}});
  EXPECT_EQ(refusal(engine, in::ImportNodes{"c1", {node("last", 8)}, "", false}), "");
  EXPECT_EQ(refusal(engine, in::ImportNodes{"c2", {node("one-more", 8)}, "", false}),
            "exhausted nodes: was \"1 new\", want at most 800000 nodes that were ever seen");
  engine.apply(at(0, in::ListBegin{"c3"}));
  EXPECT_EQ(refusal(engine, in::NodeSeen{"c3", node("one-more", 8)}),
            "exhausted nodes: was \"1 new\", want at most 800000 nodes that were ever seen");
  EXPECT_EQ(refusal(engine, in::ImportNodes{"c1", {node("last", 4)}, "", false}), "") << "known";
  engine.check_invariants();
}

TEST(Engine, NodesAtOnceAreBoundedOverAllClustersAndMayBeImportedAgain) {
  Engine engine;
  set_up(engine, 1);
  engine.apply(at(0, in::SetCluster{"other", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import{"main", {}, "", false};
  for (std::size_t i = 0; i < limits::kMaxNodes; ++i) {
    import.nodes.push_back(node("n" + std::to_string(i), 1));
  }
  EXPECT_EQ(refusal(engine, import), "");
  EXPECT_EQ(refusal(engine, import), "");
  EXPECT_EQ(refusal(engine, in::ImportNodes{"other", {node("n", 1)}, "", false}),
            "exhausted nodes: was \"1 new\", want at most 200000 nodes in all");
}

// Pods that run without us under one name are one job up to its limit, and then jobs of their own.
TEST(Engine, AForeignGangEndsWhereAJobDoes) {
  Engine engine;
  set_up(engine, 0);
  engine.apply(at(0, in::ImportNodes{"main", {node("n", 8)}, "", false}));
  PodRecord stray;
  stray.shape.kind = GpuKind::kWhole;
  stray.shape.gpus = 1;
  stray.ns = "x";
  stray.gang = "deployment";
  stray.node = "n";
  for (std::uint32_t i = 0; i < limits::kMaxPodsPerJob + 2; ++i) {
    stray.uid = stray.name = "p" + std::to_string(i);
    ASSERT_EQ(refusal(engine, in::PodSeen{"main", stray}), "");
  }
  EXPECT_EQ(engine.count(JobState::kRunning), 3u);
  EXPECT_EQ(engine.job(JobId(ClusterId(1), 1), true)->pods.size(), limits::kMaxPodsPerJob);
}

// The edge asks it of all that waits, the lists of what is queued.
TEST(Engine, AJobOfNobodySaysWhyItWaits) {
  Engine engine;
  set_up(engine, 1);
  PodRecord pod;
  pod.ns = "nobodys";
  pod.uid = pod.name = "p";
  pod.gated = true;
  pod.shape = whole(1, 1).groups[0].shape;
  ASSERT_EQ(refusal(engine, in::PodSeen{"main", pod}), "");
  const std::vector<JobRow> rows = engine.jobs(JobId(), 10, JobState::kIncomplete, {});
  ASSERT_EQ(rows.size(), 1u);
  const auto first = engine.first_reason(rows[0].id, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->detail, "no account names the namespace nobodys");
  EXPECT_EQ(engine.reasons(rows[0].id, 0).front().detail, first->detail);
}

TEST(Engine, NextDeadlineIsTheEarliestHoldThenMidnight) {
  Engine engine;
  EXPECT_EQ(engine.next_deadline(), std::nullopt);
  set_up(engine, 1);
  EXPECT_EQ(engine.next_deadline(), kDayMs);
  engine.apply(at(5, submit("a", whole(1, 1))));
  engine.apply(at(5, in::Pass{}));
  EXPECT_EQ(engine.next_deadline(), 5 + Policy().hold_ms);
  engine.apply(at(5 + Policy().hold_ms, in::Tick{}));
  EXPECT_EQ(engine.count(JobState::kQueued), 1u) << "an unbound hold is taken back";
  EXPECT_TRUE(engine.pass_due());
}

// A day is closed in turns of limits::kMaxCutRowsPerTurn rows, each due at once.
TEST(Engine, ADayIsClosedInBoundedTurns) {
  constexpr std::uint32_t kPods = 6000;
  static_assert(kPods > limits::kMaxCutRowsPerTurn && kPods < 2 * limits::kMaxCutRowsPerTurn);
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import;
  import.cluster = "main";
  for (std::uint32_t i = 0; i < kPods / 8; ++i) {
    import.nodes.push_back(node("n" + std::to_string(i), 8));
  }
  engine.apply(at(0, import));
  engine.apply(at(0, account("a")));
  const JobId job = engine.apply(at(0, submit("a", whole(kPods, 1)))).reply.job;
  engine.apply(at(0, in::Pass{}));
  const auto row = engine.job(job, true);
  ASSERT_TRUE(row);
  for (const PodRow& pod : row->pods) {
    const std::string name = engine.fleet().node(pod.slot.node)->name;
    engine.apply(at(1000, in::PodBound{"main", {"", job, pod.rank}, name, 0}));
  }
  const auto rows = [](const ApplyOutcome& outcome) {
    return static_cast<std::size_t>(
        std::count_if(outcome.facts.begin(), outcome.facts.end(),
                      [](const Fact& f) { return std::holds_alternative<fact::Charged>(f.body); }));
  };
  // Two days have passed without us.
  const TimeMs now = 2 * kDayMs + limits::kDayOpenMs;
  EXPECT_LE(*engine.next_deadline(), now);
  std::vector<std::size_t> turns;
  while (engine.next_deadline().value_or(now + 1) <= now) {
    turns.push_back(rows(engine.apply(at(now, in::Tick{}))));
    ASSERT_LE(turns.size(), 10u);
  }
  EXPECT_EQ(turns, (std::vector<std::size_t>{4096, 4096, 3808}));
  EXPECT_EQ(*engine.next_deadline(), 3 * kDayMs);  // what nodes have
  engine.check_invariants();
}

// Behind more gangs than one round looks at, all as long as the one that nodes are kept for: who is short
// enough uses these nodes.
TEST(Engine, ShortJobsAreFoundBehindManyGangs) {
  constexpr TimeMs kNow = 10 * kDayMs;
  Engine engine;
  engine.apply(at(kNow, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::SetPolicy set;
  set.policy.patience_ms = 1;
  set.policy.queue.reserve_jobs = 1;
  engine.apply(at(kNow, set));
  in::ImportNodes import;
  import.cluster = "main";
  import.nodes = {node("n0", 8), node("n1", 8)};
  engine.apply(at(kNow, import));
  engine.apply(at(kNow, account("a")));
  const auto limited = [](const GangRequest& request, DurationMs limit_ms) {
    in::SubmitJob job = submit("a", request);
    job.time_limit_ms = limit_ms;
    return job;
  };
  engine.apply(at(kNow, limited(whole(1, 8), 10 * kHourMs)));
  engine.apply(at(kNow, in::Pass{}));
  std::vector<JobId> gangs;
  for (std::size_t i = 0; i < limits::kMaxFillLooks + 100; ++i) {
    gangs.push_back(engine.apply(at(kNow, limited(whole(2, 8), 10 * kHourMs))).reply.job);
  }
  engine.apply(at(kNow + kMinuteMs, in::Pass{}));
  EXPECT_TRUE(engine.job(gangs[0], false)->start_promised);
  EXPECT_EQ(engine.job(gangs[1], false)->start_ms, 0);
  const in::SubmitJob brief = limited(whole(1, 1), kMinuteMs);
  const JobId id = engine.apply(at(kNow + kMinuteMs, brief)).reply.job;
  engine.apply(at(kNow + kMinuteMs, in::Pass{}));
  EXPECT_EQ(engine.job(id, false)->state, JobState::kStarting);
}

// More shapes than are looked at before a walk begins, and only the newest has a place.
TEST(Engine, TheNewestOfManyShapesHasItsTurn) {
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  engine.apply(at(0, in::ImportNodes{"main", {node("n0", 8)}, "", false}));
  engine.apply(at(0, account("a")));
  engine.apply(at(0, submit("a", whole(1, 4))));
  engine.apply(at(0, in::Pass{}));
  for (std::size_t i = 0; i < limits::kMaxStartsPerPass + 100; ++i) {
    in::SubmitJob job = submit("a", whole(1, 8));
    job.request.groups[0].shape.cpu_milli = static_cast<std::int64_t>(i + 1);
    engine.apply(at(1, job));
  }
  const JobId last = engine.apply(at(1, submit("a", whole(1, 2)))).reply.job;
  engine.apply(at(1, in::Pass{}));
  EXPECT_EQ(engine.job(last, false)->state, JobState::kStarting);
}

// Lines that a limit stops are looked at once, and a pass that had to stop goes on behind them.
TEST(Engine, APassGoesOnWhereItStopped) {
  constexpr std::uint64_t kUsers = 270, kShapes = 250;  // of one account: a line for each pair
  static_assert(kUsers * kShapes > limits::kMaxFitChecksPerPass);
  Engine engine;
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import;
  import.cluster = "main";
  import.nodes = {node("n0", 8), node("n1", 8)};
  import.nodes[1].product = "T4";
  engine.apply(at(0, import));
  in::SetAccount a = account("a");
  a.spec.limit = {{"H100", 1000}};
  engine.apply(at(0, a));
  engine.apply(at(0, account("b")));
  GangRequest request = whole(1, 1);
  request.groups[0].shape.products = {"H100"};
  engine.apply(at(0, submit("a", request)));
  engine.apply(at(0, submit("b", whole(1, 2))));
  engine.apply(at(0, in::Pass{}));
  for (std::uint64_t user = 0; user < kUsers; ++user) {
    for (std::uint64_t shape = 0; shape < kShapes; ++shape) {
      in::SubmitJob job = submit("a", request);
      job.user = "u" + std::to_string(user);
      job.request.groups[0].shape.cpu_milli = static_cast<std::int64_t>(shape + 1);
      engine.apply(at(1, job));
    }
  }
  // b holds more than a: all of a's come first.
  const JobId last = engine.apply(at(1, submit("b", whole(1, 3)))).reply.job;
  engine.apply(at(1, in::Pass{}));
  EXPECT_TRUE(engine.pass_due());
  EXPECT_EQ(engine.job(last, false)->state, JobState::kQueued);
  engine.apply(at(1, in::Pass{}));
  EXPECT_FALSE(engine.pass_due());
  EXPECT_EQ(engine.job(last, false)->state, JobState::kStarting);
}

}  // namespace
}  // namespace subak
