#include "cli/text/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace subak::cli {
namespace {

std::string printed(const Table& table, bool wide = false) {
  std::ostringstream out;
  table.print(out, wide);
  return out.str();
}

TEST(Table, AlignsAndHidesWideColumns) {
  Table table({{"NAME"}, {"GPUS", Align::kRight}, {"NOTE", Align::kLeft, Room::kWide}});
  table.row({"a", "16", "x"});
  table.row({"long", "4", ""});
  EXPECT_EQ(printed(table), "NAME  GPUS\na       16\nlong     4\n");
  EXPECT_EQ(printed(table, true), "NAME  GPUS  NOTE\na       16  x\nlong     4\n");
}

TEST(Table, HeadersOfTwoLinesAreOneInWide) {
  Table table({{"A"}, {"Raw\nShares", Align::kRight}});
  table.row({"x", "1"});
  EXPECT_EQ(printed(table), "      Raw\nA  Shares\nx       1\n");
  EXPECT_EQ(printed(table, true), "A  RawShares\nx          1\n");
}

TEST(Table, TimesNameTheirZoneToPeopleAndAreExactInSpreadsheets) {
  Table table({{"AT", Align::kLeft, Room::kUsual, "CET"}});
  table.row({Cell("13:00", "2026-03-01T12:00:00.000Z")});
  EXPECT_EQ(printed(table), "AT (CET)\n13:00\n");
  std::ostringstream csv;
  table.print_csv(csv);
  EXPECT_EQ(csv.str(), "AT\n2026-03-01T12:00:00.000Z\n");
}

TEST(Table, NeverWiderThanAHundredColumns) {
  Table table({{"A", Align::kLeft, Room::kElastic},
               {"N", Align::kRight},
               {"B", Align::kLeft, Room::kElastic}});
  table.row({std::string(90, 'a'), "123456", std::string(40, 'b')});
  std::istringstream lines(printed(table));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), kTableColumns);
  EXPECT_NE(printed(table).find("123456"), std::string::npos);
  EXPECT_NE(printed(table).find("…"), std::string::npos);
  EXPECT_NE(printed(table, true).find(std::string(90, 'a')), std::string::npos);
}

// Where elastic columns are at their least, the widest of the others are cut.
TEST(Table, NeverWiderEvenWithoutElasticColumns) {
  Table table({{"A"}, {"B"}, {"N", Align::kRight}, {"E", Align::kLeft, Room::kElastic}});
  table.row({std::string(80, 'a'), std::string(60, 'b'), "123456", std::string(40, 'e')});
  std::istringstream lines(printed(table));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), kTableColumns);
  EXPECT_NE(printed(table).find(std::string(42, 'a') + "…"), std::string::npos) << printed(table);
  EXPECT_NE(printed(table).find("123456 eee…"), std::string::npos) << printed(table);
}

TEST(Table, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to("äöüß", 4), "äöüß");
  EXPECT_EQ(cut_to("äöüßx", 4), "äöü…");
  EXPECT_EQ(cut_to("abc", 1), "…");
  EXPECT_EQ(cut_to("abc", 0), "");
}

TEST(Table, NoCellMovesTheCursor) {
  Table table({{"A"}});
  table.row({"\x1b[31mred\nnext\xc2\x9b"});
  EXPECT_EQ(printed(table), "A\n\\u001b[31mred\\nnext\\u009b\n");
}

TEST(Table, NoCellOfCsvIsAFormula) {
  Table table({{"NAME"}, {"GPUS", Align::kRight}});
  for (const auto& [name, amount] : std::vector<std::pair<std::string, std::string>>{
           {"=1+1", "-4"},
           {"+1", "-0.25"},
           {"-1", "-1+1"},
           {"@a", "+1"},
           {"\t=1", "=1"},
           {"\xEF\xBC\x9D"
            "1",
            "4"},
           {"-", "-"},
           {"a;=1", "'"},
           {"=a,b", ""},
       }) {
    table.row({name, amount});
  }
  std::ostringstream out;
  table.print_csv(out);
  EXPECT_EQ(out.str(),
            "NAME,GPUS\n'=1+1,-4\n'+1,-0.25\n'-1,'-1+1\n'@a,'+1\n'\\t=1,'=1\n'\xEF\xBC\x9D"
            "1,4\n-,-\n\"a;=1\",'\n\"'=a,b\",\n");
}

TEST(Table, CsvHasAllColumnsAndQuotes) {
  Table table({{"A"}, {"Raw\nShares"}, {"W", Align::kLeft, Room::kWide}});
  table.row({"x,y", "say \"hi\"", "w"});
  std::ostringstream out;
  table.print_csv(out);
  EXPECT_EQ(out.str(), "A,RawShares,W\n\"x,y\",\"say \"\"hi\"\"\",w\n");
}

}  // namespace
}  // namespace subak::cli
