// What was accepted can be read again: the largest input of each kind is taken, or refused with its
// field, and the store of all that was taken opens with the same state, from its facts and from its
// checkpoint.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/account_limits.h"
#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/codec/codec.h"
#include "tests/server/random_input.h"
#include "tests/server/store/support/store_program.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

class StoreBounds : public testing::Test {
 protected:
  StoreBounds() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("subak_bounds_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    program_ = std::make_unique<Program>(path());
    program_->found();
  }
  ~StoreBounds() override { fs::remove_all(dir_); }

  std::string path() const { return (dir_ / "subak.db").string(); }
  Engine& engine() { return program_->engine(); }

  // True: taken. What it caused, a refusal's audit row too, is durable with the batch.
  bool take(in::Body body) {
    ApplyOutcome outcome = engine().apply({engine().now() + 1, "", "ana", std::move(body)});
    std::move(outcome.facts.begin(), outcome.facts.end(), std::back_inserter(batch_));
    if (batch_.size() > limits::kCheckpointChunkFacts) commit();
    if (!outcome.reply.error) return true;
    last_ = *outcome.reply.error;
    EXPECT_FALSE(last_.field.empty());
    EXPECT_FALSE(last_.want.empty());
    EXPECT_LE(last_.message().size(), limits::kMaxMessageBytes);
    return false;
  }
  void commit() {
    if (batch_.empty()) return;
    const auto error = program_->store().commit(std::exchange(batch_, {}));
    EXPECT_FALSE(error) << error->message();
  }
  std::string refused(in::Body body) {
    EXPECT_FALSE(take(std::move(body)));
    return last_.field;
  }

  // A start from the facts, one from the checkpoint, and a state that is the same.
  void reopen() {
    take(in::DeleteAccount{"nobody", 0, "", false});  // a fact of this instant
    commit();
    const auto before = engine().digest();
    for (int start = 0; start < 2; ++start) {
      program_.reset();
      program_ = std::make_unique<Program>(path());
      ASSERT_EQ(program_->error(), "");
      engine().check_invariants();
      ASSERT_EQ(engine().digest(), before) << (start == 0 ? "from facts" : "from a checkpoint");
      program_->checkpoint();
    }
  }

  fs::path dir_;
  std::unique_ptr<Program> program_;
  std::vector<Fact> batch_;
  Error last_;
};

std::string longest(std::size_t number, std::size_t bytes = limits::kMaxNameBytes) {
  std::string text = std::to_string(number) + "-";
  text.resize(bytes, 'x');
  return text;
}

PodShape whole(std::int64_t gpus) {
  PodShape shape;
  shape.kind = GpuKind::kWhole;
  shape.gpus = gpus;
  return shape;
}

// As near to limits::kMaxPodRequestBytes as it gets, different for each number.
PodShape large_shape(std::size_t number) {
  PodShape shape = whole(limits::kMaxGpusPerPod);
  Requirement r{"key", "NotIn", {}};
  for (std::size_t i = 0; i < 31; ++i) r.values.push_back(longest(number, limits::kMaxTextBytes));
  shape.affinity.push_back({{r}});
  return shape;
}

in::SubmitJob submit(GangRequest request) {
  in::SubmitJob job;
  job.cluster = "east";
  job.account = "ml";
  job.name = longest(0);
  job.request = std::move(request);
  return job;
}

in::PodSeen pod_seen(const std::string& gang, std::size_t number, PodShape shape,
                     std::uint32_t size) {
  in::PodSeen seen{"east", {}};
  seen.pod.uid = longest(number);
  seen.pod.ns = "ns";
  seen.pod.name = longest(number);
  seen.pod.gang = gang;
  seen.pod.gang_size = size;
  seen.pod.rank = static_cast<std::int32_t>(number % size);
  seen.pod.shape = std::move(shape);
  seen.pod.gated = true;
  return seen;
}

in::SetAccount team() {
  in::SetAccount set;
  set.spec.path = "ml";
  set.spec.namespaces = {"ns"};
  return set;
}

// 17 MB of affinity values in one job, and a gang of 24 pods of 700 KB each, were accepted once and
// no start could read them again.
TEST_F(StoreBounds, WhatCannotBeReadAgainIsNotCommitted) {
  commit();
  fact::EditRefused large;
  large.error.assign(limits::kMaxFactBytes, 'x');
  const std::vector<Fact> batch{{engine().seq() + 1, engine().now(), large}};
  const auto error = program_->store().commit(batch);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "store.fact " + std::to_string(batch.front().seq) + " edit_refused");
  EXPECT_NE(error->want.find(std::to_string(limits::kMaxFactBytes)), std::string::npos);
  reopen();  // nothing of it is there
}

TEST_F(StoreBounds, SeventeenMegabytesOfAffinityAreRefused) {
  PodShape shape = whole(1);
  shape.affinity.push_back({{{"zone", "In", std::vector<std::string>(17, longest(1, 1 << 20))}}});
  EXPECT_EQ(refused(submit({{{1, shape}}})),
            "request.groups[0].shape.affinity[0].requirements[0].values[0]");
  shape.affinity[0].requirements[0].values.assign(70'000, longest(1, 250));
  EXPECT_EQ(refused(submit({{{1, shape}}})),
            "request.groups[0].shape.affinity[0].requirements[0].values");
  reopen();
}

TEST_F(StoreBounds, AGangOfLargePodsIsRefusedAtItsLimit) {
  ASSERT_TRUE(take(team()));
  for (std::size_t i = 0; i < 24; ++i) {
    PodShape shape = whole(1);
    shape.node_selector.push_back({"zone", longest(i, 700'000)});
    EXPECT_EQ(refused(pod_seen("huge", i, shape, 24)), "pod.shape.node_selector[0].value");
  }
  std::size_t taken = 0;
  while (taken < 200 && take(pod_seen("large", taken, large_shape(taken), 200))) ++taken;
  EXPECT_EQ(last_.field, "pod.shape");
  EXPECT_EQ(taken, 131u) << "of 16 KB each make 2 MB";
  // A gang that asks for the same is one record, however many pods it has.
  for (std::size_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(take(pod_seen("uniform", i, large_shape(1), 200))) << last_.message();
  }
  reopen();
}

// Its pods take 8 MB in a checkpoint, incomplete and whole: no fact may hold that at once.
TEST_F(StoreBounds, TheLargestGangComesBack) {
  ASSERT_TRUE(take(team()));
  const std::uint32_t pods = limits::kMaxPodsPerJob;
  for (std::size_t i = 0; i < pods; ++i) {
    ASSERT_TRUE(take(pod_seen("gang", i, whole(8), pods))) << last_.message();
    if (i + 2 == pods) reopen();
  }
  ASSERT_EQ(engine().count(JobState::kQueued), 1u);
  reopen();
  std::size_t parts = 0;
  for (const Fact& fact : engine().checkpoint()) {
    const auto* kept = std::get_if<fact::JobSnapshot>(&fact.body);
    if (kept == nullptr) continue;
    ++parts;
    std::string bytes;
    ASSERT_TRUE(codec::encode(fact.body, bytes));
    EXPECT_LE(bytes.size(), limits::kCheckpointPartBytes + limits::kMaxPodRequestBytes);
  }
  EXPECT_GT(parts, 4u);
}

TEST_F(StoreBounds, TheLargestOfEachKindComesBack) {
  const std::string reason = longest(1, limits::kMaxReasonBytes);
  in::SetCluster cluster{std::string(63, 'c'), Mode::kEnforce, {}, reason, false};
  for (std::size_t i = 0; i < limits::kMaxNamespaceModes; ++i) {
    cluster.namespaces.push_back({longest(i), Mode::kWarn});
  }
  EXPECT_TRUE(take(cluster)) << last_.message();
  NodeSpec node;
  node.product = longest(1);
  node.gpus = limits::kMaxGpusPerNode;
  node.clique = longest(2);
  node.levels = {longest(2), longest(2), longest(2), longest(2)};
  for (std::size_t i = 0; i < 240; ++i) {
    node.labels.push_back({longest(i, limits::kMaxTextBytes), longest(i, limits::kMaxTextBytes)});
  }
  in::ImportNodes import{cluster.name, {}, reason, false};
  for (std::size_t i = 0; i < 20; ++i) import.nodes.push_back(node);
  for (std::size_t i = 0; i < 20; ++i) import.nodes[i].name = longest(i);
  EXPECT_TRUE(take(import)) << last_.message();
  EXPECT_TRUE(take(in::DrainNode{cluster.name, longest(3), true, reason})) << last_.message();
  node.labels.resize(limits::kMaxNodeListItems, node.labels[0]);
  import.nodes.assign(1, node);
  import.nodes[0].name = longest(1);
  EXPECT_EQ(refused(import), "node " + longest(1) + ": labels, taints, extended");

  in::SetAccount account;
  account.spec.path = std::string(limits::kMaxNameBytes, 'a');
  account.reason = reason;
  for (std::size_t i = 0; i < limits::kMaxNamespacesPerAccount; ++i) {
    account.spec.namespaces.push_back(longest(i));
  }
  for (std::size_t i = 0; i < limits::kMaxProductsPerAccount; ++i) {
    account.spec.quota.push_back({longest(i), limits::kMaxMilliGpu});
  }
  account.spec.limit = account.spec.quota;
  EXPECT_TRUE(take(account)) << last_.message();
  EXPECT_TRUE(take(in::DeleteAccount{account.spec.path, 0, reason, false})) << last_.message();

  GangRequest gang;
  for (std::size_t i = 0; i < 129; ++i) gang.groups.push_back({70, large_shape(i)});
  EXPECT_TRUE(take(submit(gang))) << last_.message();
  EXPECT_TRUE(take(in::HoldJob{JobId(ClusterId(1), 1), true, reason})) << last_.message();
  EXPECT_TRUE(take(in::CancelJob{JobId(ClusterId(1), 1), reason})) << last_.message();
  gang.groups.resize(140, gang.groups[0]);
  EXPECT_EQ(refused(submit(gang)), "request.groups");
  reopen();
}

// Fields at, just below and just beyond their bounds, in inputs of every kind.
TEST_F(StoreBounds, RandomInputsNearTheBoundsComeBack) {
  RandomInput random(20261122);
  std::size_t taken = 0, refusals = 0;
  ASSERT_TRUE(take(team()));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1500; ++i) ++(take(random.body()) ? taken : refusals);
    reopen();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refusals, 500u);
}

}  // namespace
}  // namespace subak
