// What is kept beside a checkpoint, as bytes and as a file: whole, or refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "engine/forecast/start_calibration.h"
#include "server/codec/calibration.h"
#include "server/store/file/side_files.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

CalibrationRecord some() {
  StartCalibration book;
  constexpr TimeMs kNow = 1'767'225'600'000;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    book.announced(JobId(ClusterId(1), i), kNow, kNow + static_cast<TimeMs>(i) * kHourMs);
    if (i % 3 != 0) book.started(JobId(ClusterId(1), i), kNow + 90 * kMinuteMs);
  }
  CalibrationRecord record = book.record();
  record.seq = 1234;
  return record;
}

TEST(ToldCodec, ThereAndBack) {
  const std::string bytes = codec::encode_calibration(some());
  const Result<CalibrationRecord> again = codec::decode_calibration(bytes);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again->seq, 1234u);
  EXPECT_EQ(again->waiting.size(), 13u);
  EXPECT_EQ(again->ratios.size(), 27u);
  EXPECT_EQ(codec::encode_calibration(*again), bytes);
  EXPECT_TRUE(StartCalibration::from(*again).ok());
}

// A cut between two fields is a message too: what is missing is judged by StartCalibration.
TEST(ToldCodec, WhatIsCutOrChangedIsRefusedOrWhole) {
  const std::string bytes = codec::encode_calibration(some());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<CalibrationRecord> cut = codec::decode_calibration(bytes.substr(0, size));
    if (cut.ok()) (void)StartCalibration::from(*cut);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] = static_cast<char>(random());
    const Result<CalibrationRecord> read = codec::decode_calibration(changed);
    if (!read.ok()) continue;
    const Result<StartCalibration> told = StartCalibration::from(*read);
    EXPECT_TRUE(!told.ok() || StartCalibration::from(told->record()).ok());
  }
}

TEST(ToldCodec, AFieldOfANewerProgramIsRefused) {
  std::string bytes = codec::encode_calibration(some());
  bytes += "\x58\x01";  // field 11
  const Result<CalibrationRecord> read = codec::decode_calibration(bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kPrecondition);
  EXPECT_EQ(read.error().got, "field 11");
}

class ToldFileTest : public testing::Test {
 protected:
  ToldFileTest()
      : path_((fs::temp_directory_path() / ("subak_told_" + std::to_string(::getpid()))).string()) {
  }
  ~ToldFileTest() override { fs::remove(path_); }

  void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string text() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const std::string path_;
};

TEST_F(ToldFileTest, IsReplacedWhole) {
  EXPECT_EQ(*read_summed_file(path_, kCalibrationFile, 7), "") << "there is none";
  const std::string zeros("a\0b\n", 4);
  ASSERT_FALSE(write_summed_file(path_, kCalibrationFile, 7, "first"));
  ASSERT_FALSE(write_summed_file(path_, kCalibrationFile, 7, zeros));
  EXPECT_EQ(*read_summed_file(path_, kCalibrationFile, 7), zeros);
  EXPECT_FALSE(fs::exists(path_ + ".new"));
  EXPECT_FALSE(read_summed_file(path_, kCalibrationFile, 8).ok()) << "of another store";
}

TEST_F(ToldFileTest, ChangedOrCutItIsRefused) {
  ASSERT_FALSE(write_summed_file(path_, kCalibrationFile, 7, "what was told"));
  const std::string good = text();
  for (std::size_t at = 0; at < good.size(); ++at) {
    put(good.substr(0, at));
    EXPECT_FALSE(read_summed_file(path_, kCalibrationFile, 7).ok()) << "cut at " << at;
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    put(changed);
    const auto read = read_summed_file(path_, kCalibrationFile, 7);
    ASSERT_FALSE(read.ok()) << "changed at " << at;
    EXPECT_EQ(read.error().field, path_);
  }
}

TEST_F(ToldFileTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_TRUE(write_summed_file("/nowhere/at/all/x.told", kCalibrationFile, 7, "x"));
  EXPECT_EQ(*read_summed_file("/nowhere/at/all/x.told", kCalibrationFile, 7), "");
}

}  // namespace
}  // namespace subak
