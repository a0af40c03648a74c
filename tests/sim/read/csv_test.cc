#include "sim/read/csv.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "core/limits.h"
#include "tests/sim/temp_dir.h"

namespace subak::sim {
namespace {

std::unique_ptr<CsvReader> open(const std::string& path) {
  auto csv = CsvReader::open(path);
  EXPECT_TRUE(csv.ok()) << csv.error().message();
  return std::move(*csv);
}

TEST(Csv, ReadsQuotedFieldsBlankLinesAndCarriageReturns) {
  TempDir dir;
  auto csv = open(dir.write("a.csv", "a,b,c\r\n1,\"x,\"\"y\"\"\",3\r\n\r\n4,,\n"));
  ASSERT_TRUE(csv->next().ok());
  EXPECT_EQ(csv->field(0), "1");
  EXPECT_EQ(csv->field(1), "x,\"y\"");
  EXPECT_EQ(csv->field(csv->column("c")), "3");
  EXPECT_EQ(csv->field(csv->column("none")), "");
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ(csv->line(), 4u);
  EXPECT_EQ(csv->field(2), "");
  EXPECT_FALSE(*csv->next());
}

TEST(Csv, ReadsGzipAndNamesADamagedFile) {
  TempDir dir;
  const std::string path = dir.path("a.csv.gz");
  gzFile gz = gzopen(path.c_str(), "wb");
  std::string text = "a,b\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919) + ",z\n";
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  auto csv = open(path);
  int rows = 0;
  while (*csv->next()) ++rows;
  EXPECT_EQ(rows, 20'000);

  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  auto cut = open(path);
  Result<bool> more = true;
  do {
    more = cut->next();
  } while (more.ok() && *more);
  ASSERT_FALSE(more.ok());
}

TEST(Csv, NamesTheLineAndFieldOfEveryMistake) {
  TempDir dir;
  auto csv = open(dir.write("a.csv", "n,s\n1,2\n1\nx,1.5\n-1,1.2.3\n\"a,1\n\"a\"b,1\n"));
  ASSERT_TRUE(*csv->next());
  const auto short_row = csv->next();
  ASSERT_FALSE(short_row.ok());
  EXPECT_NE(short_row.error().field.find("a.csv:3"), std::string::npos);
  ASSERT_TRUE(*csv->next());
  const auto number = csv->integer(0, 0, 9);
  ASSERT_FALSE(number.ok());
  EXPECT_NE(number.error().field.find("a.csv:4: n"), std::string::npos);
  EXPECT_EQ(number.error().got, "x");
  EXPECT_EQ(*csv->seconds(1), 1500);
  ASSERT_TRUE(*csv->next());
  EXPECT_FALSE(csv->integer(0, 0, 9).ok());
  EXPECT_FALSE(csv->seconds(1).ok());
  EXPECT_FALSE(csv->next().ok());
  EXPECT_FALSE(csv->next().ok());
}

TEST(Csv, RefusesBadHeadersLongLinesAndMissingFiles) {
  TempDir dir;
  EXPECT_FALSE(CsvReader::open(dir.write("a.csv", "a,a\n")).ok());
  EXPECT_FALSE(CsvReader::open(dir.write("b.csv", "")).ok());
  const auto missing = CsvReader::open(dir.path("none.csv"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  auto csv =
      open(dir.write("c.csv", "a\n" + std::string(limits::kMaxTraceLineBytes + 1, 'x') + "\n"));
  EXPECT_FALSE(csv->next().ok());
  const auto lacking = csv->need("b");
  ASSERT_FALSE(lacking.ok());
  EXPECT_NE(lacking.error().want.find("b"), std::string::npos);
}

}  // namespace
}  // namespace subak::sim
