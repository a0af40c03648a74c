// Edits of several accounts: all or nothing, and each account judged in the tree that all make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "engine/engine.h"

namespace subak {
namespace {

using testing::HasSubstr;

AccountSpec spec_of(const std::string& path, MilliGpu quota = 0,
                    std::vector<std::string> namespaces = {}) {
  AccountSpec spec;
  spec.path = path;
  if (quota > 0) spec.quota = {{"gpu", quota}};
  spec.namespaces = std::move(namespaces);
  return spec;
}

in::AccountChange set(AccountSpec spec) {
  in::AccountChange change;
  change.spec = std::move(spec);
  return change;
}

in::AccountChange remove(const std::string& path) {
  in::AccountChange change;
  change.spec.path = path;
  change.remove = true;
  return change;
}

class AccountBatch : public testing::Test {
 protected:
  ApplyOutcome send(in::Body body, const std::string& request_id = "") {
    Input input;
    input.time_ms = ++now_;
    input.actor = "test";
    input.request_id = request_id;
    input.body = std::move(body);
    return engine_.apply(input);
  }
  ApplyOutcome apply(std::vector<in::AccountChange> changes, const std::string& request_id = "") {
    in::ApplyAccounts edit;
    edit.changes = std::move(changes);
    edit.reason = "test";
    return send(edit, request_id);
  }
  void make(std::vector<in::AccountChange> changes) {
    const ApplyOutcome done = apply(std::move(changes));
    ASSERT_FALSE(done.reply.error) << done.reply.error->message();
    engine_.check_invariants();
  }
  // Sends an edit that must be refused, and returns the text of the error. Nothing may change.
  std::string refused(std::vector<in::AccountChange> changes) {
    const std::uint64_t revision = tree().revision();
    const auto before = specs();
    const ApplyOutcome done = apply(std::move(changes));
    EXPECT_EQ(specs(), before);
    EXPECT_EQ(tree().revision(), revision);
    EXPECT_TRUE(done.reply.error);
    return done.reply.error ? done.reply.error->message() : "";
  }
  const AccountTree& tree() const { return engine_.accounts(); }
  std::map<std::string, AccountSpec> specs() const {
    std::map<std::string, AccountSpec> out;
    for (const AccountId id : tree().preorder())
      out[tree().node(id).spec.path] = tree().node(id).spec;
    return out;
  }

  Engine engine_;
  TimeMs now_ = 0;
};

TEST_F(AccountBatch, CreatesATreeInAnyOrder) {
  make({set(spec_of("ml.vision", 3000)), set(spec_of("ml", 8000)), set(spec_of("ml.audio", 5000))});
  EXPECT_EQ(specs().size(), 4U);
  EXPECT_EQ(tree().node(tree().find("ml.audio")).spec.quota, (ProductAmounts{{"gpu", 5000}}));
}

TEST_F(AccountBatch, QuotaGoesFromOneSiblingToTheNextInEitherOrder) {
  make({set(spec_of("ml", 8000)), set(spec_of("ml.a", 8000)), set(spec_of("ml.b"))});
  EXPECT_THAT(refused({set(spec_of("ml.b", 4000))}), HasSubstr("ml.b: quota"));
  make({set(spec_of("ml.b", 4000)), set(spec_of("ml.a", 4000))});
  make({set(spec_of("ml.a", 1000)), set(spec_of("ml.b", 7000))});
  EXPECT_THAT(refused({set(spec_of("ml.a", 2000)), set(spec_of("ml.b", 7000))}),
              HasSubstr("9 GPUs"));
}

TEST_F(AccountBatch, OneWrongChangeRefusesAll) {
  make({set(spec_of("ml"))});
  EXPECT_THAT(refused({set(spec_of("bio")), set(spec_of("none.below"))}),
              HasSubstr("none.below: path"));
  EXPECT_THAT(refused({set(spec_of("bio")), remove("nobody")}), HasSubstr("nobody: path"));
  EXPECT_THAT(refused({set(spec_of("bio")), set(spec_of("bio", 1000))}),
              HasSubstr("want each account once"));
  EXPECT_THAT(refused({remove("")}), HasSubstr("the root"));
}

TEST_F(AccountBatch, NamespacesAreExchanged) {
  make({set(spec_of("a", 0, {"x", "y"})), set(spec_of("b", 0, {"z"}))});
  make({set(spec_of("a", 0, {"z"})), set(spec_of("b", 0, {"x"}))});
  EXPECT_EQ(tree().names().owner_of("z"), tree().find("a"));
  EXPECT_EQ(tree().names().owner_of("x"), tree().find("b"));
  EXPECT_EQ(tree().names().owner_of("y"), AccountId());
  EXPECT_THAT(refused({set(spec_of("c", 0, {"z"}))}), HasSubstr("it is a's"));
}

TEST_F(AccountBatch, ANamespaceGoesFromADeletedAccountToANewOne) {
  make({set(spec_of("old", 0, {"x"}))});
  make({set(spec_of("new", 0, {"x"})), remove("old")});
  EXPECT_EQ(tree().names().owner_of("x"), tree().find("new"));
}

TEST_F(AccountBatch, DeletesASubtreeButNoParentAlone) {
  make({set(spec_of("ml")), set(spec_of("ml.a")), set(spec_of("ml.a.x"))});
  EXPECT_THAT(refused({remove("ml.a")}), HasSubstr("accounts or users below it"));
  make({remove("ml"), remove("ml.a"), remove("ml.a.x")});
  EXPECT_EQ(specs().size(), 1U);
  EXPECT_THAT(refused({remove("ml")}), HasSubstr("no such account"));
}

TEST_F(AccountBatch, NoAccountWithJobsIsDeleted) {
  send(in::SetCluster{"main", Mode::kEnforce, {}, "", false});
  make({set(spec_of("ml")), set(spec_of("bio"))});
  in::SubmitJob job;
  job.cluster = "main";
  job.account = "ml";
  job.request.groups = {{1, PodShape{}}};
  job.request.groups[0].shape.kind = GpuKind::kWhole;
  job.request.groups[0].shape.gpus = 1;
  ASSERT_FALSE(send(job).reply.error);
  EXPECT_THAT(refused({remove("bio"), remove("ml")}), HasSubstr("ml: path"));
  make({remove("bio")});
}

TEST_F(AccountBatch, JobsThatAnEditLeavesAboveQuotaAreNamed) {
  send(in::SetCluster{"main", Mode::kEnforce, {}, "", false});
  in::ImportNodes fleet;
  fleet.cluster = "main";
  NodeSpec node;
  node.name = "n";
  node.product = "H100";
  node.gpus = 8;
  fleet.nodes.push_back(node);
  send(fleet);
  make({set(spec_of("ml", 8000)), set(spec_of("ml.a", 6000)), set(spec_of("ml.b", 2000))});
  for (const std::uint32_t gpus : {2U, 4U}) {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = "ml.a";
    job.request.groups = {{1, PodShape{}}};
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = gpus;
    ASSERT_FALSE(send(job).reply.error);
    send(in::Pass{});
  }
  const std::vector changes{set(spec_of("ml.a", 3000)), set(spec_of("ml.b", 5000))};
  const ApplyOutcome done = apply(changes);
  ASSERT_FALSE(done.reply.error);
  EXPECT_THAT(done.reply.warnings,
              testing::ElementsAre("ml.a: quota: 3 GPUs in use would be above it, and now 0 are; "
                                   "jobs within quota may reclaim them: 1-2 (4 GPUs)"));
  in::SetAccount alone;
  alone.spec = spec_of("ml.a", 1000);
  alone.validate_only = true;
  EXPECT_THAT(send(alone).reply.warnings,
              testing::ElementsAre("quota: 5 GPUs in use would be above it, and now 3 are; jobs "
                                   "within quota may reclaim them: 1-2 (4 GPUs), 1-1 (2 GPUs)"));
}

TEST_F(AccountBatch, RevisionsOfTheTreeAndOfAccountsCount) {
  make({set(spec_of("ml"))});
  const std::uint64_t seen = tree().revision();
  in::ApplyAccounts edit;
  edit.changes = {set(spec_of("ml", 1000))};
  edit.revision = seen;
  EXPECT_FALSE(send(edit).reply.error);
  EXPECT_GT(tree().revision(), seen);
  edit.changes = {set(spec_of("ml", 2000))};
  EXPECT_EQ(send(edit).reply.error->code, ErrorCode::kConflict);
  in::AccountChange change = set(spec_of("ml", 3000));
  change.revision = 1;
  EXPECT_THAT(refused({change}), HasSubstr("the current revision is 2"));
  change.revision = 2;
  make({change});
}

TEST_F(AccountBatch, ExpectedSettingsCount) {
  make({set(spec_of("ml", 1000))});
  in::AccountChange change = set(spec_of("ml", 2000));
  change.expects = true;
  change.expected = spec_of("ml", 5000);
  EXPECT_THAT(refused({change}), HasSubstr("was changed since"));
  change.expected = spec_of("ml", 1000);
  make({change});
  in::AccountChange again = set(spec_of("ml"));
  again.must_create = true;
  EXPECT_THAT(refused({again}), HasSubstr("this account exists"));
}

TEST_F(AccountBatch, ADryRunSaysTheSameAndChangesNothing) {
  make({set(spec_of("ml", 8000)), set(spec_of("ml.a", 8000))});
  in::ApplyAccounts edit;
  edit.changes = {set(spec_of("ml.b", 4000)), set(spec_of("ml.a", 4000)), set(spec_of("ml", 8000))};
  edit.validate_only = true;
  const ApplyOutcome dry = send(edit);
  ASSERT_FALSE(dry.reply.error);
  EXPECT_TRUE(dry.facts.empty());
  edit.validate_only = false;
  const ApplyOutcome done = send(edit);
  ASSERT_EQ(done.reply.edited.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(dry.reply.edited[i].before, done.reply.edited[i].before);
    EXPECT_EQ(dry.reply.edited[i].after, done.reply.edited[i].after);
    EXPECT_EQ(dry.reply.edited[i].revision, done.reply.edited[i].revision);
  }
  EXPECT_FALSE(done.reply.edited[0].before);
  EXPECT_EQ(done.reply.edited[2].before, done.reply.edited[2].after);
  // The account that stays as it is has no fact. Each fact says how many follow.
  ASSERT_EQ(done.facts.size(), 2U);
  EXPECT_EQ(std::get<fact::AccountSet>(done.facts[0].body).edit.following, 1U);
  EXPECT_EQ(std::get<fact::AccountSet>(done.facts[1].body).edit.following, 0U);
  EXPECT_EQ(done.reply.revision, static_cast<std::int64_t>(done.facts[1].seq));
}

TEST_F(AccountBatch, ARepeatedRequestChangesNothing) {
  const std::vector changes{set(spec_of("a")), set(spec_of("b"))};
  EXPECT_EQ(apply(changes, "id").facts.size(), 2U);
  const ApplyOutcome again = apply(changes, "id");
  EXPECT_TRUE(again.reply.repeated);
  EXPECT_TRUE(again.facts.empty());
  EXPECT_TRUE(apply({set(spec_of("c"))}, "id").reply.error);
}

TEST_F(AccountBatch, JobsOfANewNamespaceGetTheirAccount) {
  send(in::SetCluster{"main", Mode::kEnforce, {}, "", false});
  in::PodSeen seen;
  seen.cluster = "main";
  seen.pod.uid = "u1";
  seen.pod.ns = "team";
  seen.pod.name = "p";
  seen.pod.gated = true;
  seen.pod.shape.kind = GpuKind::kWhole;
  seen.pod.shape.gpus = 1;
  Input input;
  input.time_ms = ++now_;
  input.session = kAnySession;
  input.body = seen;
  ASSERT_FALSE(engine_.apply(input).reply.error);
  make({set(spec_of("ml", 0, {"team"}))});
  EXPECT_EQ(engine_.jobs(JobId(), 10, std::nullopt, "").at(0).account, "ml");
}

// Any tree can be made another one in one edit, and the result does not depend on the order of the
// changes. An edit whose last tree promises too much is refused, whatever lies between.
TEST_F(AccountBatch, RandomTreesBecomeEachOther) {
  std::mt19937 random(7);
  const std::vector<std::string> paths{"a", "a.b", "a.c", "a.b.d", "e", "e.f"};
  int made = 0, refusals = 0;
  for (int round = 0; round < 2000; ++round) {
    std::map<std::string, AccountSpec> wanted;
    std::vector<std::string> spaces{"n1", "n2", "n3"};
    std::shuffle(spaces.begin(), spaces.end(), random);
    for (const std::string& path : paths) {
      const auto cut = path.rfind('.');
      if (cut != std::string::npos && !wanted.contains(path.substr(0, cut))) continue;
      if (random() % 4 == 0) continue;
      AccountSpec spec = spec_of(path, static_cast<MilliGpu>(random() % 5) * 1000);
      if (!spaces.empty() && random() % 2 == 0) {
        spec.namespaces = {spaces.back()};
        spaces.pop_back();
      }
      wanted[path] = spec;
    }
    std::vector<in::AccountChange> changes;
    for (const auto& [path, spec] : wanted) changes.push_back(set(spec));
    for (const auto& [path, spec] : specs()) {
      if (!path.empty() && !wanted.contains(path)) changes.push_back(remove(path));
    }
    std::shuffle(changes.begin(), changes.end(), random);
    // The quotas below an account with a quota are at most that quota.
    bool fits = true;
    std::map<std::string, MilliGpu> worth;
    for (auto it = wanted.rbegin(); it != wanted.rend(); ++it) {
      const MilliGpu own = it->second.quota.empty() ? 0 : it->second.quota[0].milligpu;
      if (own > 0 && worth[it->first] > own) fits = false;
      const auto cut = it->first.rfind('.');
      const std::string parent = cut == std::string::npos ? "" : it->first.substr(0, cut);
      worth[parent] += own > 0 ? own : worth[it->first];
    }
    if (!fits) {
      ++refusals;
      refused(changes);
      continue;
    }
    ++made;
    make(changes);
    auto now = specs();
    now.erase("");
    ASSERT_EQ(now, wanted);
  }
  EXPECT_GT(made, 200);
  EXPECT_GT(refusals, 200);
}

}  // namespace
}  // namespace subak
