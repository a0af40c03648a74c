// Tables for people and for spreadsheets. Threads: none.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/printable.h"

namespace subak::cli {

inline constexpr std::size_t kTableColumns = 100;  // every table fits, except in the form `wide`

enum class Align { kLeft, kRight };
// kWide columns are omitted in the usual form. If space is short, kElastic columns are cut with "…"
// first, and others only after that.
enum class Room { kUsual, kElastic, kWide };

struct Column {
  std::string header;  // may have two lines; joined without a blank for one line
  Align align = Align::kLeft;
  Room room = Room::kUsual;
  std::string zone = "";  // of its times; named in the header, except for spreadsheets
};

// The text for people, and the text for spreadsheets if it differs.
struct Cell {
  std::string text;
  std::string exact;                                   // empty: the text
  Cell(std::string shown) : text(std::move(shown)) {}  // NOLINT: implicit on purpose
  Cell(const char* shown) : text(shown) {}             // NOLINT: implicit on purpose
  Cell(std::string shown, std::string csv) : text(std::move(shown)), exact(std::move(csv)) {}
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Adds a row with as many cells as columns.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // Prints at most kTableColumns columns wide unless `wide`. Cells are printable().
  void print(std::ostream& out, bool wide) const;
  // Prints RFC 4180, all columns, cells printable(). A text that a spreadsheet would run as a
  // formula gets an apostrophe in front, except numbers in right-aligned columns.
  void print_csv(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Returns the columns that a text takes on a terminal: its code points.
std::size_t display_width(std::string_view text);
// Returns at most `width` columns; a cut text ends in "…".
std::string cut_to(std::string_view text, std::size_t width);

}  // namespace subak::cli
