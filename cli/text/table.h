// Tables for people and for spreadsheets. Threads: one at a time for each table.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/printable.h"

namespace subak::cli {

// Every table fits this width, except in the form `wide`.
inline constexpr std::size_t kTableColumns = 100;

// The side to which the cells of a column are aligned.
enum class Align { kLeft, kRight };
// The usual form omits kWide columns. If space is short, the table first cuts kElastic columns with
// "…", and then all other columns.
enum class Room { kUsual, kElastic, kWide };

// A column of a table.
struct Column {
  // The header, which may have two lines. A form with a header of one line joins the two lines
  // without a blank.
  std::string header;
  Align align = Align::kLeft;
  Room room = Room::kUsual;
  // The time zone of the column's times. The header names the zone, except for spreadsheets.
  std::string zone = "";
};

// The text of a cell for people, and its text for spreadsheets if that text differs.
struct Cell {
  std::string text;
  // The text for spreadsheets. Empty: the same text as for people.
  std::string exact;
  Cell(std::string shown) : text(std::move(shown)) {}  // NOLINT: implicit on purpose
  Cell(const char* shown) : text(shown) {}             // NOLINT: implicit on purpose
  Cell(std::string shown, std::string csv) : text(std::move(shown)), exact(std::move(csv)) {}
};

// Collects rows, and prints them with columns as wide as their cells need.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Adds a row with as many cells as columns.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // Prints the table at most kTableColumns wide; with `wide`, as wide as it needs. Each cell passes
  // through printable().
  void print(std::ostream& out, bool wide) const;
  // Prints all columns in the form of RFC 4180. Each cell passes through printable(). A text that a
  // spreadsheet would run as a formula gets an apostrophe in front. Numbers in right-aligned
  // columns get no apostrophe.
  void print_csv(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Returns how many columns a text takes on a terminal: the number of its code points.
std::size_t display_width(std::string_view text);
// Returns at most `width` columns of the text. A text that it cuts ends in "…".
std::string cut_to(std::string_view text, std::size_t width);
// Returns the text in lines of at most kTableColumns columns, which break between words. A word
// longer than a line stays whole. The first line begins after `used` columns. All other lines begin
// with `indent`.
std::string wrapped(std::string_view text, std::size_t used, std::string_view indent);

}  // namespace subak::cli
