#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/runtime/input_trace.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

TEST(InputTrace, RotatesAndReadsBack) {
  const fs::path dir = fs::temp_directory_path() / ("subak_trace_" + std::to_string(::getpid()));
  fs::create_directories(dir);
  const fs::path path = dir / "inputs";
  std::vector<std::string> want;
  {
    InputTrace trace(path.string(), 200);
    for (int i = 0; i < 40; ++i) {
      const Input input{1000 + i, "r" + std::to_string(i), "ana",
                        in::HoldJob{JobId(7), true, "x y"}};
      want.push_back(input_to_text(input));
      trace.append(input);
    }
  }
  std::vector<std::string> got;
  for (std::size_t n = limits::kTraceFiles; n-- > 0;) {
    const fs::path part = n == 0 ? path : fs::path(path.string() + "." + std::to_string(n));
    EXPECT_LE(fs::file_size(part), 200u);
    for (const std::string& line : lines(part)) got.push_back(line);
  }
  EXPECT_FALSE(fs::exists(path.string() + "." + std::to_string(limits::kTraceFiles)));
  ASSERT_GT(got.size(), 4u);
  EXPECT_TRUE(std::equal(got.rbegin(), got.rend(), want.rbegin()));  // the newest, in order
  const auto back = input_from_text(got.back());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(input_to_text(*back), got.back());
  fs::remove_all(dir);
}

TEST(InputTrace, UnwritableFileEndsTheTraceOnly) {
  InputTrace trace("/nonexistent/folder/inputs");
  trace.append(Input{1, "", "", in::Tick{}});
  trace.append(Input{2, "", "", in::Tick{}});
}

}  // namespace
}  // namespace subak
