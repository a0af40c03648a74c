#include "sim/read/csv.h"
#include "sim/read/trace.h"

namespace subak::sim {

Result<std::vector<std::pair<std::string, std::int64_t>>> read_team_table(
    const std::string& path, std::string_view value_column) {
  auto csv = CsvReader::open(path);
  if (!csv.ok()) return csv.error();
  const auto team = (*csv)->need("team");
  if (!team.ok()) return team.error();
  auto value = (*csv)->column(value_column);
  if (!value) value = (*csv)->column(std::string(value_column) + "s");
  if (!value && (*csv)->columns().size() == 2) value = 1 - *team;
  if (!value) return (*csv)->need(value_column).error();
  std::vector<std::pair<std::string, std::int64_t>> table;
  while (true) {
    const auto more = (*csv)->next();
    if (!more.ok()) return more.error();
    if (!*more) return table;
    const std::string name((*csv)->field(*team));
    for (const auto& row : table) {
      if (row.first == name) return (*csv)->error(*team, "each team once");
    }
    if (name.empty()) return (*csv)->error(*team, "the name of a team");
    const auto amount = (*csv)->milligpu(*value);
    if (!amount.ok()) return amount.error();
    table.emplace_back(name, *amount);
  }
}

}  // namespace subak::sim
