#include "cli/map/map_reader.h"

#include <utility>

namespace subak::cli {
namespace {

constexpr std::int32_t kStates = 16;  // the factor of runs and parts, as in the proto file
constexpr std::int64_t kMostCells = 64'000'000;  // of all nodes; a map with more is damaged

// The first column that contradicts the others ends the reading.
struct Contradiction {
  const char* column;
};

template <class Column>
auto at(const Column& column, int index, const char* name) {
  if (index < 0 || index >= column.size()) throw Contradiction{name};
  return column.Get(index);
}

bool has_job(v1::GpuState state) {
  return state == v1::GPU_STATE_RUNNING || state == v1::GPU_STATE_HELD ||
         state == v1::GPU_STATE_RESERVED || state == v1::GPU_STATE_FOREIGN;
}

v1::GpuState state_of(std::int32_t code, const char* column) {
  const std::int32_t state = code % kStates;
  if (code < 0 || !v1::GpuState_IsValid(state) || state == 0) throw Contradiction{column};
  return static_cast<v1::GpuState>(state);
}

// Gives one cell after another.
class Cells {
 public:
  explicit Cells(const v1::FleetMap& map) : map_(map) {}
  MapCell next(std::int64_t milligpu) {
    if (left_ == 0) begin_run();
    --left_;
    MapCell out{state_, {}};
    out.whole.milligpu = milligpu;
    if (state_.state == v1::GPU_STATE_DIVIDED) add_parts(out);
    return out;
  }
  bool at_end() const { return left_ == 0 && run_ == map_.runs_size(); }

 private:
  void begin_run() {
    const std::int32_t code = at(map_.runs(), run_++, "runs");
    state_ = {state_of(code, "runs"), -1, 0};
    left_ = code / kStates;
    if (left_ == 0) throw Contradiction{"runs"};
    if (!has_job(state_.state)) return;
    job_ += at(map_.run_jobs(), job_run_++, "run_jobs");
    state_.job = checked(job_, "run_jobs");
  }
  std::int32_t checked(std::int64_t job, const char* column) const {
    if (job < 0 || job >= map_.job_numbers_size()) throw Contradiction{column};
    return static_cast<std::int32_t>(job);
  }
  void add_parts(MapCell& cell) {
    const std::int32_t count = at(map_.part_counts(), divided_++, "part_counts");
    for (std::int32_t i = 0; i < count; ++i) {
      const std::int32_t code = at(map_.parts(), part_++, "parts");
      MapPart& part = cell.parts.emplace_back();
      part.state = state_of(code, "parts");
      part.milligpu = code / kStates;
      if (has_job(part.state))
        part.job = checked(at(map_.part_jobs(), part_job_++, "part_jobs"), "part_jobs");
    }
  }

  const v1::FleetMap& map_;
  int run_ = 0, job_run_ = 0, divided_ = 0, part_ = 0, part_job_ = 0;
  std::int64_t job_ = 0;
  std::int32_t left_ = 0;
  MapPart state_;
};

std::vector<MapNode> read_nodes(const v1::FleetMap& map) {
  std::vector<MapNode> out;
  std::string before;
  std::int32_t area = -1, left_in_area = 0;
  for (int i = 0; i < map.name_rests_size(); ++i) {
    while (left_in_area == 0) left_in_area = at(map.areas(), ++area, "areas").nodes();
    if (--left_in_area < 0) throw Contradiction{"areas"};
    const std::int32_t keeps = at(map.name_keeps(), i, "name_keeps");
    if (keeps < 0 || static_cast<std::size_t>(keeps) > before.size())
      throw Contradiction{"name_keeps"};
    MapNode& node = out.emplace_back();
    before = before.substr(0, static_cast<std::size_t>(keeps)) + map.name_rests(i);
    node.name = before + map.name_end();
    node.area = area;
    node.kind = at(map.node_kinds(), i, "node_kinds");
    node.condition = at(map.node_conditions(), i, "node_conditions") - 1;
    if (node.condition < -1 || node.condition >= map.conditions_size())
      throw Contradiction{"node_conditions"};
  }
  return out;
}

void read_cells(const v1::FleetMap& map, std::vector<MapNode>& nodes) {
  Cells cells(map);
  std::int64_t read = 0;
  const auto add = [&](MapNode& node, std::int64_t count, std::int64_t milligpu) {
    read += count;
    if (count < 0 || read > kMostCells) throw Contradiction{"kinds"};
    for (std::int64_t i = 0; i < count; ++i) node.cells.push_back(cells.next(milligpu));
  };
  for (MapNode& node : nodes) {
    if (node.kind < 0 || node.kind >= map.kinds_size()) throw Contradiction{"node_kinds"};
    const v1::MapNodeKind& kind = map.kinds(node.kind);
    add(node, kind.uncut_gpus(), kind.gpu_milligpu());
    for (const v1::MapSlices& s : kind.slices()) add(node, s.count(), s.milligpu());
  }
  if (!cells.at_end()) throw Contradiction{"runs"};
}

}  // namespace

Result<MapView> read_map(const v1::FleetMap& map) {
  try {
    MapView out;
    out.nodes = read_nodes(map);
    read_cells(map, out.nodes);
    std::uint64_t number = 0;  // without a sign, so that no sum of damaged numbers overflows
    for (const std::int64_t more : map.job_numbers()) {
      number += static_cast<std::uint64_t>(more);
      out.jobs.push_back(std::to_string(map.cluster_id()) + "-" + std::to_string(number));
    }
    return out;
  } catch (const Contradiction& wrong) {
    return Error{ErrorCode::kInvalid, wrong.column, "", "the column contradicts the others"};
  }
}

}  // namespace subak::cli
