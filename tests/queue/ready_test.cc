#include "queue/ready.h"

#include "fixture.h"

namespace subak {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST_F(ReadyFixture, AnEmptyQueueGivesNothing) {
  auto p = pass();
  EXPECT_EQ(p.next(), std::nullopt);
  EXPECT_EQ(queue_.size(), 0u);
  EXPECT_TRUE(queue_.waiting_shapes().empty());
  EXPECT_EQ(queue_.queued_jobs(kRootAccount), 0u);
  EXPECT_TRUE(queue_.line(AccountId(99)).empty());
}

TEST_F(ReadyFixture, CountsAndListsWhatWaits) {
  set({"a"});
  set({"a/u"});
  add(1, "a/u", 30, 0, 7, 2000);
  add(2, "a/u", 20, 0, 5, 1000);
  add(3, "a", 10, 0, 7, 2000);
  EXPECT_EQ(queue_.queued_milligpu(id("a")), 5000);
  EXPECT_EQ(queue_.queued_jobs(id("a/u")), 2u);
  EXPECT_EQ(queue_.waiting_shapes(), (std::vector<ShapeId>{ShapeId(5), ShapeId(7)}));
  EXPECT_EQ(queue_.oldest(ShapeId(7)), JobId(3));
  EXPECT_EQ(numbers(queue_.line(id("a/u"))), (Numbers{2, 1}));
  queue_.remove(JobId(3));
  EXPECT_EQ(queue_.oldest(ShapeId(7)), JobId(1));
  EXPECT_EQ(queue_.oldest(ShapeId(9)), std::nullopt);
  EXPECT_FALSE(queue_.contains(JobId(3)));
  queue_.check_invariants();
}

TEST_F(ReadyFixture, ALeafGoesByClassThenSubmitTimeThenId) {
  set({"a"});
  add(4, "a", 5);
  add(3, "a", 5);
  add(2, "a", 9, 1, 2);
  add(1, "a", 7, 1, 3);
  auto p = pass();
  EXPECT_EQ(drain(p), (Numbers{1, 2, 3, 4}));
}

TEST_F(ReadyFixture, StartsAlternateBetweenEqualAccounts) {
  set({"a"});
  set({"b"});
  for (std::uint64_t i = 1; i <= 3; ++i) add(i, "a");
  for (std::uint64_t i = 4; i <= 6; ++i) add(i, "b");
  auto p = pass();
  EXPECT_EQ(drain(p), (Numbers{1, 4, 2, 5, 3, 6}));
}

TEST_F(ReadyFixture, SharesWeighAndZeroSharesComeLast) {
  set({"a", 2});
  set({"b", 1});
  set({"z", 0});
  for (std::uint64_t i = 1; i <= 4; ++i) add(i, "a");
  for (std::uint64_t i = 5; i <= 6; ++i) add(i, "b");
  add(7, "z");
  auto p = pass(OrderPolicy::kDrf);
  EXPECT_EQ(drain(p), (Numbers{1, 5, 2, 3, 6, 4, 7}));
}

TEST_F(ReadyFixture, WithinQuotaComesFirstUntilTheNextJobWouldPassIt) {
  set({"a"});
  set({"q", 1, 2500});
  add(1, "a");
  for (std::uint64_t i = 2; i <= 4; ++i) add(i, "q");
  auto p = pass();
  EXPECT_EQ(drain(p), (Numbers{2, 3, 1, 4}));
}

TEST_F(ReadyFixture, AQuotaSpeaksForUsersThatHaveNone) {
  set({"a"});
  set({"t", 1, 1000});
  set({"t/u"});
  add(1, "a");
  add(2, "t/u");
  auto p = pass();
  EXPECT_EQ(p.next(), JobId(2));
}

TEST_F(ReadyFixture, ASumOfQuotasBelongsToTheChildrenThatHaveThem) {
  set({"a"});
  set({"d"});
  set({"d.guaranteed", 1, 8000});
  set({"d.other"});
  add(1, "a");
  add(2, "d.other");
  auto p = pass();
  EXPECT_EQ(p.next(), JobId(1));  // d counts as over: its 8 GPUs are not for d.other
}

TEST_F(ReadyFixture, ALineThatBorrowsComesAmongThoseThatBorrow) {
  const AccountId d = set({"d", 1, 64'000});
  set({"d.a", 1, 32'000});
  set({"d.b"});
  set({"e", 1, 64'000});
  add(1, "d.a");
  add(2, "d.b");
  add(3, "e");
  auto p = pass();
  EXPECT_EQ(p.next(), JobId(1));
  p.line_borrows(JobId(1), d);  // within quota only below d
  EXPECT_EQ(p.next(), JobId(3));
  start(p, JobId(3));
  EXPECT_EQ(p.next(), JobId(1));  // below d it still comes before d.b
  start(p, JobId(1));
  EXPECT_EQ(p.next(), JobId(2));
}

TEST_F(ReadyFixture, ALineThatBorrowsAtItsOwnAccountIsWithinQuotaNowhere) {
  set({"d", 1, 64'000});
  set({"d.a", 1, 32'000});
  set({"d.b", 1, 32'000});
  set({"e"});
  add(1, "d.a");
  add(2, "d.a", 5);  // of the same line
  add(3, "d.b");
  auto p = pass();
  EXPECT_EQ(p.next(), JobId(1));
  p.line_borrows(JobId(1), AccountId());
  EXPECT_EQ(p.next(), JobId(3));
  EXPECT_EQ(drain(p), (Numbers{3, 1, 2}));
}

TEST_F(ReadyFixture, OnlyUsersOfTheHighestClassTakePart) {
  set({"t"});
  set({"t/a"});
  set({"t/b"});
  set({"t.sub"});
  add(1, "t/a", 0, 0);
  add(2, "t/b", 9, 1);
  add(3, "t/b", 9, 0);
  add(4, "t.sub", 9, 0);
  auto p = pass();
  // b's class 1 keeps a out at first; the sub-account takes part at any class.
  EXPECT_EQ(drain(p), (Numbers{2, 1, 4, 3}));
}

TEST_F(ReadyFixture, AnAccountsOwnJobsStandBesideItsChildren) {
  set({"t"});
  set({"t.x"});
  add(1, "t");
  add(2, "t");
  add(3, "t.x");
  auto p = pass();
  EXPECT_EQ(drain(p), (Numbers{1, 3, 2}));
}

TEST_F(ReadyFixture, HeldAccountsHaveNoDemand) {
  set({"a", 1, 0, true});
  set({"a/u"});
  set({"b"});
  add(1, "a/u");
  add(2, "b");
  {
    auto p = pass();
    EXPECT_EQ(drain(p), (Numbers{2}));
  }
  auto fifo = pass(OrderPolicy::kFifo);
  EXPECT_EQ(fifo.next(), std::nullopt);
}

TEST_F(ReadyFixture, BlocksEndWithTheirPass) {
  set({"a"});
  add(1, "a", 0, 0, 1, 4000);
  add(2, "a", 0, 0, 2, 1000);
  add(3, "a", 0, 0, 2, 1000);
  {
    auto p = pass();
    EXPECT_EQ(p.next(), JobId(1));
    p.block_account(id("a"), 4000);
    EXPECT_EQ(p.next(), JobId(2));
    p.block_job(JobId(2));
    EXPECT_EQ(p.next(), JobId(3));
    p.block_shape(ShapeId(2));
    EXPECT_EQ(p.next(), std::nullopt);
  }
  auto p = pass();
  EXPECT_EQ(p.next(), JobId(1));
}

TEST_F(ReadyFixture, ABlockedLineIsPassedOverAsAWhole) {
  set({"a"});
  set({"b"});
  add(1, "a", 0, 0, 1);
  add(2, "a", 0, 0, 1);
  add(3, "a", 0, 0, 2);
  add(4, "b", 0, 0, 1);
  for (const OrderPolicy policy : {OrderPolicy::kTargetShare, OrderPolicy::kFifo}) {
    auto p = pass(policy);
    EXPECT_EQ(p.next(), JobId(1));
    p.block_line(JobId(1));
    const auto next = p.next();
    EXPECT_TRUE(next == JobId(3) || next == JobId(4));  // neither 1 nor 2
    p.block_line(*next);
    const auto last = p.next();
    EXPECT_EQ(last, next == JobId(3) ? JobId(4) : JobId(3));
    p.block_line(*last);
    EXPECT_EQ(p.next(), std::nullopt);
  }
}

TEST_F(ReadyFixture, SharesAreNormalisedOverThoseThatCanStart) {
  // b's past surplus counts only while b could start: without it, a and c are alike.
  set({"a"});
  set({"b"});
  set({"c"});
  tree_.hold(id("b"), ProductId(1), 9000, now_);
  tree_.hold(id("c"), ProductId(1), 1000, now_);
  now_ += kDayMs;
  add(1, "a", 0, 0, 1);
  add(2, "b", 0, 0, 2);
  add(3, "c", 0, 0, 1);
  auto p = pass();
  EXPECT_EQ(p.next(), JobId(1));
  p.block_shape(ShapeId(1));
  EXPECT_EQ(p.next(), JobId(2));
}

TEST_F(ReadyFixture, FifoIgnoresTheTreeAndTheClass) {
  set({"a"});
  set({"b"});
  add(1, "a", 50, 9);
  add(2, "a", 10);
  add(3, "b", 30);
  add(4, "b", 10);
  auto p = pass(OrderPolicy::kFifo);
  EXPECT_EQ(drain(p), (Numbers{2, 4, 3, 1}));
}

TEST_F(ReadyFixture, TheOrderIsThatOfADrainAndLeavesEverythingAlone) {
  for (int i = 0; i < 30; ++i) set({"w" + std::to_string(i), i % 4});
  for (std::uint64_t i = 1; i <= 200; ++i) {
    add(i, "w" + std::to_string(i * 7 % 30), static_cast<TimeMs>(i % 13), 0,
        static_cast<std::uint32_t>(i % 3 + 1), 1000);
  }
  for (const OrderPolicy policy :
       {OrderPolicy::kTargetShare, OrderPolicy::kExact, OrderPolicy::kDrf, OrderPolicy::kFifo}) {
    const auto order = numbers(queue_.order(tree_, policy, rule_, nullptr, now_, 1000));
    EXPECT_EQ(order.size(), 200u);
    EXPECT_EQ(queue_.size(), 200u);
    EXPECT_EQ(numbers(queue_.order(tree_, policy, rule_, nullptr, now_, 50)),
              Numbers(order.begin(), order.begin() + 50));
  }
  const auto order =
      numbers(queue_.order(tree_, OrderPolicy::kTargetShare, rule_, nullptr, now_, 1000));
  auto p = pass();
  EXPECT_EQ(drain(p), order);
}

}  // namespace
}  // namespace subak
