// A start without the store: what is judged by, and by which time a certificate is made. (Reviews: subakd_away_test.py.)
#include "server/service/reviewer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/limits.h"
#include "tests/admission/fixture.h"
#include "tests/server/runtime/runtime_fakes.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

constexpr TimeMs kNow = 1'767'225'600'000;  // 2026-01-01

class ReviewerTest : public testing::Test {
 protected:
  ReviewerTest() {
    config_.state = folder_.file("subak.db");
    config_.listen_webhook = {"127.0.0.1", 0};
    clock_.set_wall(kNow);
    begin();
  }
  void begin() {
    reviewer_ = nullptr;
    reviewer_ = std::make_unique<Reviewer>(config_, events_, clock_);
  }
  std::unique_ptr<LastCopy> copy() {
    return std::make_unique<LastCopy>(folder_.file("subak.static"), "db/subak", AdmissionConfig());
  }
  void judge_by_copy(TimeMs last_ms = kNow) { reviewer_->judge_by_copy(copy(), last_ms, {}); }
  // Of the pair that is made at a start of which this is known.
  TimeMs certificate_end_ms(TimeMs last_ms) {
    fs::remove_all(folder_.path() / "tls");
    begin();
    judge_by_copy(last_ms);
    const auto error = reviewer_->start({16, 16});
    EXPECT_FALSE(error) << error->message();
    return reviewer_->certificate_end_ms();
  }

  const TempFolder folder_;
  Config config_;
  metrics::Events events_;
  FakeClock clock_;
  MemoryStore store_;
  std::unique_ptr<Reviewer> reviewer_;
};

TEST_F(ReviewerTest, SaysWhatItJudgesByUntilTheStartHasEnded) {
  EXPECT_FALSE(reviewer_->start_state()) << "a store of its own";
  judge_by_copy();
  clock_.set_wall(kNow + 1500);
  ASSERT_TRUE(reviewer_->start_state());
  EXPECT_FALSE(reviewer_->start_state()->has_copy);
  EXPECT_FALSE(reviewer_->start_state()->away);
  EXPECT_EQ(reviewer_->start_state()->age_ms, 1500);
  reviewer_->note_away();
  EXPECT_TRUE(reviewer_->start_state()->away);
  EXPECT_TRUE(reviewer_->start_listeners().empty());
  ASSERT_FALSE(reviewer_->start({16, 16}));
  ASSERT_EQ(reviewer_->start_listeners().size(), 1u);
  EXPECT_TRUE(reviewer_->start_listeners()[0].serves);

  Runtime runtime({}, store_, clock_);
  ASSERT_TRUE(runtime.start().ok());
  reviewer_->judge_by(runtime);
  EXPECT_TRUE(reviewer_->start_state()->has_copy) << "the View is there";
  EXPECT_EQ(reviewer_->start_state()->age_ms, 0);
  reviewer_->end_start();
  EXPECT_FALSE(reviewer_->start_state());
  reviewer_ = nullptr;
  EXPECT_TRUE(copy()->read()->has_value()) << "it keeps the copy from then on";
}

TEST_F(ReviewerTest, ACopyIsAsOldAsItsLastLook) {
  copy()->look(test::fixed_view());
  clock_.set_wall((*copy()->read())->at_ms + 61'000);
  judge_by_copy();
  EXPECT_TRUE(reviewer_->start_state()->has_copy);
  EXPECT_EQ(reviewer_->start_state()->age_ms, 61'000);
  clock_.step_wall(kNow);  // before it was written
  EXPECT_EQ(reviewer_->start_state()->age_ms, 0);
}

TEST_F(ReviewerTest, ACertificateIsNotMadeByAWallClockThatIsFarOff) {
  clock_.step_wall(kNow + 400 * kDayMs);
  const TimeMs end_ms = certificate_end_ms(kNow);
  EXPECT_LE(end_ms, kNow + limits::kOwnCaMs + kDayMs);
  EXPECT_GT(certificate_end_ms(0), end_ms + 300 * kDayMs) << "nothing is known that it is far from";
}

}  // namespace
}  // namespace subak
