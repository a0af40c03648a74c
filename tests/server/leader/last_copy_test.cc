// The copy for a start without the database: whoever reads it answers as who wrote it, or does not use it.
#include "server/leader/last_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "core/limits.h"
#include "server/api/convert/admission_snapshot.h"
#include "tests/admission/fixture.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

namespace fs = std::filesystem;
using test::container;
using test::pod;
using test::review_text;
using ::testing::HasSubstr;

std::string answer(const View& view, const std::string& text) {
  const test::Parsed parsed(text);
  return write_answer(parsed.review().uid,
                      decide(view, {}, "c1", Endpoint::kMutate, parsed.review()).answer());
}

class LastCopyTest : public testing::Test {
 protected:
  LastCopy of(const std::string& place = "db:5432/subak") { return LastCopy(path_, place, {}); }
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  // Why it cannot be used.
  std::string refusal(const std::string& place = "db:5432/subak") {
    const auto kept = of(place).read();
    return kept ? "" : kept.error().message();
  }
  // As if nobody had looked at it for an hour.
  void age() { fs::last_write_time(path_, fs::last_write_time(path_) - std::chrono::hours(1)); }
  TimeMs reserved_at() { return (*of().read())->at_ms; }

  const TempFolder folder_;
  std::string path_ = folder_.file("subak.static");
  std::shared_ptr<const View> view_ = test::fixed_view();
};

TEST_F(LastCopyTest, ThereIsNoneAtFirst) {
  const auto kept = of().read();
  ASSERT_TRUE(kept.ok());
  EXPECT_FALSE(kept->has_value());
}

TEST_F(LastCopyTest, WhoReadsItAnswersAsWhoWroteIt) {
  of().look(view_);
  const auto kept = of().read();
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  ASSERT_TRUE(kept->has_value());
  std::set<bool> denied;
  for (const char* ns : {"team-a", "team-s", "team-q", "team-w", "orphan", "nowhere"}) {
    for (const char* gpus : {"1", "8"}) {
      const std::string review = review_text(pod(container("nvidia.com/gpu", gpus)), ns);
      const std::string wanted = answer(*view_, review);
      EXPECT_EQ(answer(*(*kept)->view, review), wanted) << ns << gpus;
      denied.insert(wanted.find("\"allowed\":false") != std::string::npos);
    }
  }
  EXPECT_EQ(denied.size(), 2u) << "both kinds of answers";
  EXPECT_FALSE(fs::exists(path_ + ".new"));
}

TEST_F(LastCopyTest, IsWrittenAnewWhereAReviewCouldBeAnsweredOtherwise) {
  LastCopy copy = of();
  copy.look(view_);
  age();
  const TimeMs old_ms = reserved_at();
  const std::string first = bytes();
  auto later = std::make_shared<View>(*view_);
  later->seq += 7;  // a fact that no review is judged by
  copy.look(later);
  EXPECT_EQ(bytes(), first);
  EXPECT_GT(reserved_at(), old_ms + kMinuteMs) << "it was right until then";

  auto changed = std::make_shared<View>(*later);
  changed->policy.system_namespaces = {"infra"};
  copy.look(changed);
  EXPECT_NE(bytes(), first);
  EXPECT_EQ((*of().read())->view->policy.system_namespaces, changed->policy.system_namespaces);
  fs::remove(path_);
  copy.look(changed);
  EXPECT_TRUE(of().read()->has_value()) << "somebody took it away";
}

TEST_F(LastCopyTest, TheThreadWritesAtOnceAndOnceMoreAtTheEnd) {
  std::shared_ptr<const View> newest = view_;
  std::mutex mutex;
  LastCopy copy = of();
  copy.keep([&] {
    const std::lock_guard lock(mutex);
    return newest;
  });
  while (!fs::exists(path_)) ::usleep(1000);
  auto changed = std::make_shared<View>(*view_);
  changed->policy.system_namespaces = {"infra"};
  {
    const std::lock_guard lock(mutex);
    newest = changed;
  }
  copy.stop();
  EXPECT_EQ((*of().read())->view->policy.system_namespaces, changed->policy.system_namespaces);
}

TEST_F(LastCopyTest, ThatOfAnotherDatabaseIsNotUsed) {
  of().look(view_);
  EXPECT_EQ(refusal(), "");
  EXPECT_THAT(refusal("db:5432/other"), HasSubstr("want a file that this store has written"));
}

TEST_F(LastCopyTest, ChangedOrCutItIsNotUsed) {
  of().look(view_);
  const std::string good = bytes();
  for (std::size_t at = 0; at < good.size(); ++at) {
    put(good.substr(0, at));
    EXPECT_NE(refusal(), "") << "cut at " << at;
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    put(changed);
    EXPECT_THAT(refusal(), HasSubstr(path_)) << "changed at " << at;
  }
}

TEST_F(LastCopyTest, OneThatIsTooLargeIsNotRead) {
  of().look(view_);
  fs::resize_file(path_, limits::kMaxAdmissionSnapshotBytes + 100);
  EXPECT_THAT(refusal(), HasSubstr("134217828 bytes"));
}

TEST_F(LastCopyTest, AFolderThatIsNotThereOnlyKeepsItFromBeingKept) {
  path_ = "/nowhere/at/all/subak.static";
  LastCopy copy = of();
  copy.look(view_);
  EXPECT_FALSE(of().read()->has_value());
}

TEST(AdmissionSnapshotBytes, WhatIsNoWholeCopyIsRefused) {
  const std::string good = api::admission_snapshot_bytes(*test::fixed_view(), {});
  EXPECT_TRUE(api::read_admission_snapshot(good).ok());
  EXPECT_EQ(api::read_admission_snapshot("").error().field, "copy");
  EXPECT_EQ(api::read_admission_snapshot("no message").error().field, "copy");
  EXPECT_EQ(api::read_admission_snapshot(good + good).error().code, ErrorCode::kInvalid)
      << "each account once";
}

}  // namespace
}  // namespace subak
