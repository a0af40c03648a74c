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
// kWide columns are left out of the usual form.
// kElastic ones are cut with "…" where space is short, the others where that is not enough.
enum class Room { kUsual, kElastic, kWide };

struct Column {
  std::string header;  // may have two lines; joined without a blank where one line is wanted
  Align align = Align::kLeft;
  Room room = Room::kUsual;
  std::string zone = "";  // of its times; named in the header, except for spreadsheets
};

// What a person reads, and what a spreadsheet gets where that is another form.
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
  // As many cells as columns.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // At most kTableColumns columns wide unless `wide`. Cells are printable().
  void print(std::ostream& out, bool wide) const;
  // RFC 4180, all columns, cells printable(). A text that a spreadsheet would run as a formula begins with an
  // apostrophe, but for numbers in columns that are aligned to the right.
  void print_csv(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Columns that a text takes on a terminal: its code points.
std::size_t display_width(std::string_view text);
// At most `width` columns; what is cut ends in "…".
std::string cut_to(std::string_view text, std::size_t width);

}  // namespace subak::cli
