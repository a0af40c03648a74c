// Plain tables for terminals. The first column is aligned left, and all other columns right, with
// two blanks between columns.
// Threads: one at a time for each table.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace subak::sim {

// Collects rows; rows may have different lengths. print() makes each column as wide as its longest
// cell.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Adds an empty line.
  void blank() { rows_.emplace_back(); }
  // Prints all rows, each with a line end.
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Returns a number with this many decimals; "-" if the number is not finite.
std::string fixed(double value, int decimals);
// Returns "0 s", "45.0 s", "12.3 min", "5.2 h" or "1.7 d".
std::string human_seconds(double seconds);
// Returns "1234" or "1.20M".
std::string human_count(double value);

}  // namespace subak::sim
