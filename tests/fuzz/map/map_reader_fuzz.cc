// The map of a fleet as a command reads it: damaged columns end with an error that names a column, and what is
// accepted has a job for each cell that names one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/map/map_reader.h"

namespace {

void need(bool right) {
  if (!right) std::abort();
}

void need_job(const subak::cli::MapPart& part, std::size_t jobs) {
  need(part.job >= -1 && (part.job < 0 || static_cast<std::size_t>(part.job) < jobs));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  subak::v1::FleetMap map;
  if (!map.ParseFromArray(data, static_cast<int>(size))) return 0;
  // So that a few bytes do not ask for millions of cells.
  std::int64_t cells = 0;
  for (const subak::v1::MapNodeKind& kind : map.kinds()) {
    cells += kind.uncut_gpus() > 0 ? kind.uncut_gpus() : 0;
    for (const subak::v1::MapSlices& s : kind.slices()) cells += s.count() > 0 ? s.count() : 0;
  }
  if (cells > 10'000 || map.name_rests_size() > 1'000) return 0;
  const auto read = subak::cli::read_map(map);
  if (!read.ok()) {
    need(!read.error().field.empty());
    return 0;
  }
  need(read->nodes.size() == static_cast<std::size_t>(map.name_rests_size()));
  for (const subak::cli::MapNode& node : read->nodes) {
    need(node.kind >= 0 && node.kind < map.kinds_size());
    need(node.condition >= -1 && node.condition < map.conditions_size());
    need(node.area >= 0 && node.area < map.areas_size());
    for (const subak::cli::MapCell& cell : node.cells) {
      need_job(cell.whole, read->jobs.size());
      for (const subak::cli::MapPart& part : cell.parts) need_job(part, read->jobs.size());
    }
  }
  return 0;
}
