#include "sim/report/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace subak::sim {

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> width;
  for (const auto& row : rows_) {
    if (row.size() > width.size()) width.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(width[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + pad : "  " + pad + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

std::string human_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 120) return fixed(seconds, 1) + " s";
  if (seconds < 7200) return fixed(seconds / 60, 1) + " min";
  if (seconds < 2 * 86'400) return fixed(seconds / 3600, 1) + " h";
  return fixed(seconds / 86'400, 1) + " d";
}

std::string human_count(double value) {
  if (value < 1e5) return fixed(value, 0);
  if (value < 1e9) return fixed(value / 1e6, 2) + "M";
  return fixed(value / 1e9, 2) + "G";
}

}  // namespace subak::sim
