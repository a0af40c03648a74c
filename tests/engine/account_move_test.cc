// Moves of accounts in a running engine: jobs, budgets, warnings, marks, and restores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace subak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AccountMoves : public testing::Test {
 protected:
  void SetUp() override {
    send(in::SetCluster{"main", Mode::kEnforce, {}, "", false});
    in::ImportNodes fleet;
    fleet.cluster = "main";
    for (const char* name : {"n1", "n2"}) {
      NodeSpec& node = fleet.nodes.emplace_back();
      node.name = name;
      node.product = "H100";
      node.gpus = 8;
    }
    send(fleet);
  }
  ApplyOutcome send(in::Body body, const std::string& actor = "test", const std::string& id = "") {
    Input input;
    input.time_ms = now_;
    input.actor = actor;
    input.request_id = id;
    input.body = std::move(body);
    ApplyOutcome done = engine_.apply(input);
    for (const Fact& fact : done.facts) follower_.evolve(fact);
    return done;
  }
  static AccountSpec spec_of(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    return spec;
  }
  ApplyOutcome set(const AccountSpec& spec, const std::string& actor = "test") {
    in::SetAccount edit;
    edit.spec = spec;
    edit.reason = "test";
    return send(edit, actor);
  }
  void add(const std::string& path) { ASSERT_FALSE(set(spec_of(path)).reply.error); }
  static in::MoveAccount move_of(const std::string& path, const std::string& to) {
    in::MoveAccount edit;
    edit.path = path;
    edit.to = to;
    edit.reason = "test";
    return edit;
  }
  Reply move(const std::string& path, const std::string& to) {
    const ApplyOutcome done = send(move_of(path, to));
    EXPECT_FALSE(done.reply.error) << done.reply.error->message();
    engine_.check_invariants();
    return done.reply;
  }
  std::string refused(in::Body body, const std::string& actor = "test") {
    const auto digest = engine_.accounts().revision();
    const ApplyOutcome done = send(std::move(body), actor);
    EXPECT_EQ(engine_.accounts().revision(), digest);
    return done.reply.error ? done.reply.error->message() : "accepted";
  }
  JobId submit(const std::string& account, std::uint32_t gpus, DurationMs limit_ms = 0) {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = account;
    const auto slash = account.find('/');
    if (slash != std::string::npos) {
      job.account = account.substr(0, slash);
      job.user = account.substr(slash + 1);
    }
    job.time_limit_ms = limit_ms;
    job.request.groups = {{1, PodShape{}}};
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = gpus;
    const ApplyOutcome done = send(job);
    EXPECT_FALSE(done.reply.error) << done.reply.error->message();
    return done.reply.job;
  }
  JobId run(const std::string& account, std::uint32_t gpus, DurationMs limit_ms = 0) {
    const JobId job = submit(account, gpus, limit_ms);
    send(in::Pass{});
    return job;
  }
  const AccountTree& tree() const { return engine_.accounts(); }
  const AccountNode& node(const std::string& path) const { return tree().node(tree().find(path)); }
  // The state restored from a checkpoint, and the state of a follower, must be equal.
  void check_copies() {
    Engine restored;
    for (const Fact& fact : engine_.checkpoint()) restored.evolve(fact);
    restored.check_invariants();
    EXPECT_EQ(restored.digest(), engine_.digest());
    EXPECT_EQ(follower_.digest(), engine_.digest());
  }

  Engine engine_, follower_;
  TimeMs now_ = 1'772'323'200'000;
};

TEST_F(AccountMoves, JobsKeepTheirAccount) {
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  const AccountId id = tree().find("ml.a");
  run("ml.a/ana", 8);
  run("ml.a", 8);
  submit("ml.a/ana", 2);
  now_ += kHourMs;
  const Reply reply = move("ml.a", "bio.b");
  EXPECT_EQ(reply.moved_below, 1U);
  EXPECT_EQ(reply.revision, static_cast<std::int64_t>(tree().revision()));
  ASSERT_EQ(reply.edited.size(), 1U);
  EXPECT_EQ(reply.edited[0].before->path, "ml.a");
  EXPECT_EQ(reply.edited[0].after->path, "bio.b");
  EXPECT_EQ(tree().find("bio.b"), id);
  EXPECT_EQ(node("bio").alloc(), 16000);
  EXPECT_EQ(node("ml").alloc(), 0);
  EXPECT_EQ(tree().usage_undecayed(tree().find("bio"), now_), GpuTime::of(16000, kHourMs));
  EXPECT_EQ(tree().usage_undecayed(tree().find("ml"), now_), GpuTime());
  for (const JobRow& row : engine_.jobs(JobId(), 10, std::nullopt, ""))
    EXPECT_EQ(row.account, "bio.b");
  EXPECT_EQ(engine_.jobs(JobId(), 10, std::nullopt, "ml").size(), 0U);
  EXPECT_EQ(engine_.view()->accounts->of_path("ml.a"), nullptr);
  ASSERT_NE(engine_.view()->accounts->of_path("bio.b"), nullptr);
  check_copies();
}

TEST_F(AccountMoves, AnEditWithoutAChangeAndARepeatedOneMakeNoFact) {
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  EXPECT_THAT(send(move_of("ml.a", "ml.a")).facts, IsEmpty());
  in::MoveAccount dry = move_of("ml.a", "bio.a");
  dry.validate_only = true;
  const ApplyOutcome tried = send(dry);
  EXPECT_THAT(tried.facts, IsEmpty());
  EXPECT_EQ(tried.reply.edited.at(0).after->path, "bio.a");
  const ApplyOutcome done = send(move_of("ml.a", "bio.a"), "test", "id");
  EXPECT_EQ(done.facts.size(), 1U);
  const ApplyOutcome again = send(move_of("ml.a", "bio.a"), "test", "id");
  EXPECT_TRUE(again.reply.repeated);
  EXPECT_EQ(again.reply.revision, done.reply.revision);
}

TEST_F(AccountMoves, ACallerSaysWhatItExpects) {
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  in::MoveAccount edit = move_of("ml.a", "bio.a");
  edit.revision = 7;
  EXPECT_THAT(refused(edit), HasSubstr("the current revision is 1"));
  edit.revision = 1;
  edit.expected_id = tree().find("bio");
  EXPECT_THAT(refused(edit), HasSubstr("another account has this path now"));
  edit.expected_id = tree().find("ml.a");
  edit.expected_parent = tree().find("ml");
  EXPECT_THAT(refused(edit), HasSubstr("another account has the path of the parent now"));
  edit.expected_parent = tree().find("bio");
  EXPECT_EQ(refused(move_of("none", "bio.a")), "path: was \"none\", there is no such account");
  EXPECT_FALSE(send(edit).reply.error);
}

TEST_F(AccountMoves, AQuotaOfTheNewParentBoundsTheMove) {
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  AccountSpec a = spec_of("ml.a"), bio = spec_of("bio");
  a.quota = {{"gpu", 4000}};
  bio.quota = {{"gpu", 3000}};
  set(a);
  set(bio);
  EXPECT_THAT(refused(move_of("ml.a", "bio.a")),
              HasSubstr("the accounts below bio would be promised 4"));
  bio.quota = {{"gpu", 4000}};
  set(bio);
  move("ml.a", "bio.a");
}

TEST_F(AccountMoves, AHardBudgetAboveMustCoverTheRunningJobs) {
  for (const char* path : {"ml", "ml.a", "bio", "free"}) add(path);
  AccountSpec bio = spec_of("bio");
  bio.budgets = "10h/month";
  set(bio);
  run("ml.a", 8, 2 * kHourMs);
  EXPECT_THAT(refused(move_of("ml.a", "bio.a")), HasSubstr("raise the budget first"));
  bio.budgets = "20h/month,soft=1h/month";
  set(bio);
  now_ += kHourMs;
  move("ml.a", "bio.a");
  // The hour before the move is not spent from the budget, and the rest is held.
  const BudgetFigures figures = node("bio").jobs.budgets.at(0).at(now_);
  EXPECT_EQ(figures.spent, GpuTime());
  EXPECT_GE(figures.held, GpuTime::of(8000, kHourMs));
  now_ += kHourMs / 2;
  EXPECT_EQ(node("bio").jobs.budgets.at(0).at(now_).spent, GpuTime::of(8000, kHourMs / 2));
  move("bio.a", "free.a");
  EXPECT_EQ(node("bio").jobs.budgets.at(0).at(now_).held, GpuTime());
  EXPECT_EQ(node("bio").jobs.budgets.at(0).at(now_).spent, GpuTime::of(8000, kHourMs / 2));
  run("free.a", 8);
  EXPECT_THAT(refused(move_of("free.a", "bio.a")), HasSubstr("raise the budget first"));
  check_copies();
}

// A job is refunded after a move. The part before the move was paid from the old budget.
TEST_F(AccountMoves, ARefundGoesToTheBudgetsThatPaid) {
  Policy policy;
  policy.books.refund_lost_work_ms = kHourMs;
  in::SetPolicy edit_policy;
  edit_policy.policy = policy;
  send(edit_policy);
  for (const char* path : {"ml", "ml.a", "bio"}) {
    AccountSpec spec = spec_of(path);
    if (spec.path != "ml.a") spec.budgets = "soft=1000h/total";
    ASSERT_FALSE(set(spec).reply.error);
  }
  const JobId job = run("ml.a", 8);
  send(in::PodBound{"main", PodRef{"", job, 0}, "n1"});
  now_ += 20 * kMinuteMs;
  move("ml.a", "bio.a");
  now_ += 10 * kMinuteMs;
  in::PodGone gone;
  gone.cluster = "main";
  gone.pod.job = job;
  gone.cause = Cause::kNodeLost;
  ASSERT_FALSE(send(gone).reply.error);
  for (const char* path : {"ml", "bio"}) {
    EXPECT_EQ(node(path).jobs.budgets.at(0).at(now_).spent, GpuTime()) << path;
  }
  engine_.check_invariants();
  check_copies();
}

TEST_F(AccountMoves, WarningsNameWhatTheMoveLeavesBehind) {
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  AccountSpec ml = spec_of("ml"), bio = spec_of("bio");
  ml.quota = {{"gpu", 8000}};
  bio.limit = {{"gpu", 2000}};
  set(ml);
  set(bio);
  run("ml.a", 4);
  const Reply reply = move("ml.a", "bio.a");
  EXPECT_THAT(
      reply.warnings,
      testing::Contains("quota: 4 GPUs of the account would be above quota, and now 0 are; jobs "
                        "within quota may reclaim them: 1-1 (4 GPUs)"));
  EXPECT_THAT(
      reply.warnings,
      testing::Contains("limit: account bio would hold 4 GPUs, and its limit is 2: no job below "
                        "it starts until it holds fewer"));
}

TEST_F(AccountMoves, EditsOfAManagedAccountNeedAnOverride) {
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  AccountSpec ml = spec_of("ml");
  ml.managed_by = "ci";
  ASSERT_FALSE(set(ml).reply.error);
  in::SetAccount edit;
  edit.spec = spec_of("ml.a");
  edit.spec.shares = 3;
  EXPECT_THAT(refused(edit), HasSubstr("account ml is managed by ci"));
  EXPECT_THAT(refused(in::DeleteAccount{"ml.a", 0, "test", false}), HasSubstr("managed by ci"));
  EXPECT_THAT(refused(move_of("ml.a", "bio.a")), HasSubstr("managed by ci"));
  EXPECT_THAT(refused(move_of("bio", "ml.bio")), HasSubstr("managed by ci"));
  in::ApplyAccounts all;
  all.changes.emplace_back().spec = spec_of("ml.new");
  EXPECT_THAT(refused(all), HasSubstr("ml.new: path"));
  // A change that changes nothing is no edit.
  all.changes[0].spec = spec_of("ml.a");
  EXPECT_EQ(refused(all), "accepted");
  EXPECT_FALSE(send(edit, "token:ci").reply.error);
  edit.spec.shares = 4;
  edit.override_managed = true;
  const ApplyOutcome done = send(edit);
  ASSERT_FALSE(done.reply.error);
  EXPECT_EQ(std::get<fact::AccountSet>(done.facts.at(0).body).edit.overrides, "ci");
  ml.managed_by = "anyone";
  EXPECT_THAT(refused([&] {
                in::SetAccount e;
                e.spec = ml;
                return e;
              }()),
              HasSubstr("managed by ci"));
  ASSERT_FALSE(set(ml, "token:ci").reply.error);
  EXPECT_FALSE(set(spec_of("ml.new")).reply.error);
  // A new user is no edit of a person.
  ml.managed_by = "ci";
  ASSERT_FALSE(set(ml).reply.error);
  run("ml.a/ana", 1);
  EXPECT_TRUE(tree().find("ml.a/ana"));
}

TEST_F(AccountMoves, PromisesThatAnEditBreaksAreNamed) {
  Policy policy;
  policy.patience_ms = kHourMs;
  in::SetPolicy edit_policy;
  edit_policy.policy = policy;
  send(edit_policy);
  for (const char* path : {"ml", "ml.a", "bio"}) add(path);
  run("bio", 8, 4 * kHourMs);
  run("bio", 8, 5 * kHourMs);
  const JobId waits = submit("ml.a", 8, kHourMs);
  now_ += 2 * kHourMs;
  send(in::Pass{});
  in::SetAccount edit;
  edit.spec = spec_of("ml");
  edit.spec.limit = {{"gpu", 4000}};
  edit.validate_only = true;
  const ApplyOutcome dry = send(edit);
  EXPECT_THAT(dry.facts, IsEmpty());
  EXPECT_THAT(
      dry.reply.warnings,
      testing::Contains(testing::AllOf(
          HasSubstr("promises that would not hold: job 1-3 of ml.a: its reservation (start by "),
          HasSubstr("would end"))));
  EXPECT_EQ(text::job_id_text(waits), "1-3");
  // An edit of shares breaks no promise.
  edit.spec = spec_of("ml");
  edit.spec.shares = 5;
  EXPECT_THAT(send(edit).reply.warnings, IsEmpty());
}

// Jobs run and wait, budgets count, and accounts move. The engine's own checks compare all counts
// with the jobs; a checkpoint and a follower must agree.
TEST_F(AccountMoves, RandomMovesKeepAllCounts) {
  std::mt19937_64 random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int moves = 0, names = 0;
  std::vector<JobId> jobs;
  const auto any_path = [&] {
    const auto ids = tree().preorder();
    return tree().node(ids[below(ids.size())]).spec.path;
  };
  for (const char* path : {"a", "b", "c", "a.x", "a.y", "b.z", "a.x.w"}) add(path);
  for (int step = 0; step < 1500; ++step) {
    now_ += static_cast<DurationMs>(below(static_cast<std::size_t>(10 * kMinuteMs)));
    const std::string path = any_path();
    const bool user = path.find('/') != std::string::npos;
    switch (below(6)) {
      case 0: {
        if (path.empty() || user) break;
        AccountSpec spec = node(path).spec;
        spec.budgets = below(3) == 0 ? "" : below(2) == 0 ? "soft=5h/day" : "100h/day";
        spec.namespaces = {"ns" + std::to_string(tree().find(path).value)};
        set(spec);
        break;
      }
      case 1:
        if (!path.empty())
          jobs.push_back(submit(path + (user || below(2) == 0 ? "" : "/u"),
                                static_cast<std::uint32_t>(1 + below(8)),
                                static_cast<DurationMs>(1 + below(3)) * kHourMs));
        break;
      case 2: {
        if (jobs.empty()) break;
        const std::size_t at = below(jobs.size());
        in::CancelJob cancel;
        cancel.job = jobs[at];
        cancel.reason = "test";
        send(cancel);
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      default: {
        const std::string parent = user ? path.substr(0, path.find('/')) : any_path();
        const std::string to = parent +
                               (user             ? "/"
                                : parent.empty() ? ""
                                                 : ".") +
                               "m" + std::to_string(++names);
        const ApplyOutcome done = send(move_of(path, to));
        moves += done.reply.error || done.facts.empty() ? 0 : 1;
      }
    }
    send(in::Tick{});
    send(in::Pass{});
    std::map<AccountId, std::size_t> queued;
    for (const JobRow& row : engine_.jobs(JobId(), 10000, JobState::kQueued, "")) {
      AccountId id = tree().find(row.user.empty() ? row.account : row.account + "/" + row.user);
      for (; id; id = tree().node(id).parent) ++queued[id];
    }
    for (const AccountRow& row : engine_.account_rows(now_))
      ASSERT_EQ(row.jobs_queued, queued[row.id]) << row.spec.path << " step " << step;
    if (step % 25 != 0) continue;
    engine_.check_invariants();
    ASSERT_NO_FATAL_FAILURE(check_copies());
  }
  EXPECT_GT(moves, 300);
}

}  // namespace
}  // namespace subak
