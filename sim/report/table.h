// Plain tables for terminals: the first column to the left, the others to the right,
// two blanks between. Threads: none.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace subak::sim {

class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void blank() { rows_.emplace_back(); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string fixed(double value, int decimals);  // "-" unless finite
std::string human_seconds(double seconds);      // "0 s", "45.0 s", "12.3 min", "5.2 h", "1.7 d"
std::string human_count(double value);          // "1234", "1.20M"

}  // namespace subak::sim
