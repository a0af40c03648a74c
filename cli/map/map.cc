// subak cluster map: prints each GPU of a cluster as a character.
#include <algorithm>
#include <array>
#include <map>

#include "cli/commands.h"
#include "cli/map/map_reader.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"

namespace subak::cli {
namespace {

struct MapCommand {
  std::string cluster;
  std::string by = "node";
  MomentOptions at;
  WatchOptions watch;
};

constexpr std::size_t kGroup = 8;      // cells between two blanks
constexpr std::size_t kRowCells = 48;  // cells of a row; the rest is in further rows

// The character and the name of a state, in the order of the enum.
struct Mark {
  char mark;
  const char* name;
};
constexpr std::array<Mark, v1::GpuState_ARRAYSIZE> kMarks{{{'?', "unknown"},
                                                           {'.', "free"},
                                                           {'#', "running"},
                                                           {'+', "held"},
                                                           {'r', "reserved"},
                                                           {'k', "kept"},
                                                           {'d', "drained"},
                                                           {'x', "unfit"},
                                                           {'f', "foreign"},
                                                           {'/', "divided"}}};

// The characters of cells in rows, with a blank after each group.
class Rows {
 public:
  void add(char mark) {
    if (cells_ == kRowCells) next();
    if (cells_ > 0 && cells_ % kGroup == 0) rows_.back() += ' ';
    rows_.back() += mark;
    ++cells_;
  }
  // Begins a node, in the same row if its cells fit.
  void next_node(std::size_t cells) {
    if (cells_ == 0) return;
    cells_ = (cells_ + kGroup - 1) / kGroup * kGroup;  // groups begin again with the node
    if (cells_ + cells > kRowCells) next();
  }
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  void next() {
    rows_.emplace_back();
    cells_ = 0;
  }
  std::vector<std::string> rows_{1};
  std::size_t cells_ = 0;
};

// Returns "block b1, rack r7".
std::string area_text(const v1::FleetMap& map, int area) {
  std::string text;
  for (int at = area; at >= 0 && at < map.areas_size();) {
    const v1::MapArea& a = map.areas(at);
    const bool is_named = !a.name().empty() && a.kind() != "product";
    if (is_named) text = a.kind() + " " + a.name() + (text.empty() ? "" : ", ") + text;
    if (a.parent() > at) break;  // a map whose areas are out of order
    at = a.parent() - 1;
  }
  return text;
}

// Returns the jobs of the node with their GPUs: "1-42 x4, 1-43 x0.5".
std::string jobs_text(const MapView& view, const MapNode& node) {
  std::map<std::int32_t, std::int64_t> held;
  const auto add = [&held](const MapPart& part) {
    if (part.job >= 0) held[part.job] += part.milligpu;
  };
  for (const MapCell& cell : node.cells) {
    add(cell.whole);
    for (const MapPart& part : cell.parts) add(part);
  }
  std::string text;
  for (const auto& [job, milligpu] : held)
    text += (text.empty() ? "" : ", ") + view.jobs[static_cast<std::size_t>(job)] + " x" +
            gpus_text(milligpu);
  return text;
}

char mark_of(const MapCell& cell) { return kMarks[cell.whole.state].mark; }

Table node_rows(const v1::FleetMap& map, const MapView& view) {
  Table table({{"NODE", Align::kLeft, Room::kElastic},
               {"GPUS"},
               {"AREA", Align::kLeft, Room::kElastic},
               {"CONDITION", Align::kLeft, Room::kElastic},
               {"JOBS", Align::kLeft, Room::kWide},
               {"PRODUCT", Align::kLeft, Room::kWide}});
  for (const MapNode& node : view.nodes) {
    Rows rows;
    for (const MapCell& cell : node.cells) rows.add(mark_of(cell));
    const std::string condition = node.condition < 0 ? "" : map.conditions(node.condition).text();
    for (const std::string& row : rows.rows()) {
      const bool is_first = &row == &rows.rows().front();
      table.row({is_first ? node.name : "", row.empty() ? "-" : row,
                 is_first ? area_text(map, node.area) : "", is_first ? condition : "",
                 is_first ? jobs_text(view, node) : "",
                 is_first ? map.kinds(node.kind).product() : ""});
    }
  }
  return table;
}

Table area_rows(const v1::FleetMap& map, const MapView& view) {
  Table table({{"AREA", Align::kLeft, Room::kElastic},
               {"NODES", Align::kRight},
               {"GPUS"},
               {"PRODUCT", Align::kLeft, Room::kElastic}});
  for (auto first = view.nodes.begin(); first != view.nodes.end();) {
    const auto end = std::find_if(first, view.nodes.end(),
                                  [&](const MapNode& n) { return n.area != first->area; });
    Rows rows;
    for (auto node = first; node != end; ++node) {
      rows.next_node(node->cells.size());
      for (const MapCell& cell : node->cells) rows.add(mark_of(cell));
    }
    const std::string name = area_text(map, first->area);
    for (const std::string& row : rows.rows()) {
      const bool is_first = &row == &rows.rows().front();
      table.row({is_first ? name : "", is_first ? std::to_string(end - first) : "",
                 row.empty() ? "-" : row, is_first ? map.kinds(first->kind).product() : ""});
    }
    first = end;
  }
  return table;
}

// Prints each state that occurs, with its GPUs.
void say_legend(Session& s, const v1::FleetMap& map, const MapView& view) {
  std::array<std::int64_t, v1::GpuState_ARRAYSIZE> milligpu{};
  std::int64_t divided = 0, excess = 0;
  for (const MapNode& node : view.nodes) {
    for (const MapCell& cell : node.cells) {
      divided += cell.parts.empty() ? 0 : 1;
      if (cell.parts.empty()) milligpu[cell.whole.state] += cell.whole.milligpu;
      for (const MapPart& part : cell.parts) milligpu[part.state] += part.milligpu;
    }
  }
  for (const v1::MapExcess& e : map.excess()) excess += e.milligpu();
  std::string text;
  for (std::size_t state = 1; state < kMarks.size(); ++state) {
    if (milligpu[state] == 0) continue;
    text += std::string(1, kMarks[state].mark) + " " + kMarks[state].name + " " +
            gpus_text(milligpu[state]) + "   ";
  }
  if (divided > 0) text += "/ divided among jobs: " + std::to_string(divided) + " cells   ";
  if (excess > 0) text += "beyond what nodes have: " + gpus_text(excess) + "   ";
  s.say("");
  s.say(wrapped(text, 0, ""));
}

void show_map(Session& s, const MapCommand& o) {
  v1::GetFleetMapRequest request;
  request.set_cluster(o.cluster);
  const auto map = s.call<v1::FleetMap>("ClusterService/GetFleetMap", request);
  const Result<MapView> view = read_map(map);
  if (!view) throw Failure{kExitRefused, view.error().message(), "upgrade subak", "", ""};
  s.show(map, [&] { return o.by == "area" ? area_rows(map, *view) : node_rows(map, *view); });
  say_legend(s, map, *view);
}

}  // namespace

void add_cluster_map(Command cluster) {
  auto o = std::make_shared<MapCommand>();
  Command c = cluster.add("map", "each GPU and MIG slice with its state");
  c.option("--cluster", o->cluster, "name of the cluster; needed if there are several clusters",
           "NAME");
  c.choice("--by", o->by, "what a row shows", {"node", "area"});
  c.details(
      "Each character is a GPU, or a MIG slice after the GPUs that are not cut. The position of a\n"
      "character need not be the index of the device.");
  add_at(c, o->at);
  add_watch(c, o->watch);
  c.run([o](Session& s) { return draw_at(s, o->at, o->watch, [&] { show_map(s, *o); }); });
}

}  // namespace subak::cli
