#include "packing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string_view>
#include <tuple>

#include "placement/search/search.h"
#include "sim/read/csv.h"
#include "sim/read/trace.h"

namespace subak::packing {
namespace {

const ClusterId kCluster(1);
constexpr double kDemand = 1.3;  // of the fleet's GPUs: nothing fits long before

struct Node {
  std::int64_t gpus = 0, free = 0, cpu_milli = 0, cpu_of = 0, memory_bytes = 0, memory_of = 0;
  std::string_view product;
  std::map<std::int64_t, int> by_size;  // tasks here
};

bool fits(const Node& n, const Task& t) {
  const auto& p = t.products;
  return n.free >= t.gpus && n.cpu_milli >= t.cpu_milli && n.memory_bytes >= t.memory_bytes &&
         (p.empty() || std::find(p.begin(), p.end(), n.product) != p.end());
}

void take(Node& n, const Task& t) {
  n.free -= t.gpus;
  n.cpu_milli -= t.cpu_milli;
  n.memory_bytes -= t.memory_bytes;
  ++n.by_size[t.gpus];
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The node with the least score takes the task; of equals the first.
using Score = std::function<double(const Node&, const Task&)>;

double first_fit(const Node&, const Task&) { return 0; }
double best_fit(const Node& n, const Task& t) {
  return share(n.free - t.gpus, n.gpus) + share(n.cpu_milli - t.cpu_milli, n.cpu_of) +
         share(n.memory_bytes - t.memory_bytes, n.memory_of);
}
double dot_product(const Node& n, const Task& t) {
  return -(share(n.free, 8) * share(t.gpus, 8) +
           share(n.cpu_milli, n.cpu_of) * share(t.cpu_milli, n.cpu_of) +
           share(n.memory_bytes, n.memory_of) * share(t.memory_bytes, n.memory_of));
}
// Nodes in use before idle ones, then those with the least left.
double packing(const Node& n, const Task&) {
  return (n.free == n.gpus ? 100.0 : 0.0) + static_cast<double>(n.free);
}
// Beside tasks of the same size, then as packing.
double clustering(const Node& n, const Task& t) {
  return (n.by_size.contains(t.gpus) ? 0.0 : 1000.0) + packing(n, t);
}

// FGD with the trace's popularity: free GPUs that a drawn task could not use grow least.
Score fgd(const std::vector<std::pair<Task, double>>& typical) {
  using State = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t>;
  const auto known = std::make_shared<std::map<State, double>>();
  const auto fragments = [&typical, known](const Node& n) {
    const auto [it, fresh] =
        known->try_emplace({n.product, n.free, n.cpu_milli, n.memory_bytes}, 0);
    if (!fresh) return it->second;
    for (const auto& [task, popularity] : typical) {
      if (!fits(n, task)) it->second += popularity * static_cast<double>(n.free);
    }
    return it->second;
  };
  return [fragments](const Node& n, const Task& t) {
    Node after{n.gpus, n.free, n.cpu_milli, n.cpu_of, n.memory_bytes, n.memory_of, n.product, {}};
    take(after, t);
    return fragments(after) - fragments(n);
  };
}

std::int64_t gpus_of(const World& w) {
  std::int64_t gpus = 0;
  for (const NodeSpec& s : w.nodes) gpus += s.gpus;
  return gpus;
}

std::vector<const Task*> drawn(const World& w, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<const Task*> out;
  const double demand = kDemand * static_cast<double>(gpus_of(w));
  for (double gpus = 0; gpus < demand;) {
    out.push_back(&w.tasks[random() % w.tasks.size()]);
    gpus += static_cast<double>(out.back()->gpus);
  }
  return out;
}

std::int64_t placed_by(const World& w, const std::vector<const Task*>& tasks, const Score& score) {
  std::vector<Node> nodes;
  for (const NodeSpec& s : w.nodes) {
    nodes.push_back(
        {s.gpus, s.gpus, s.cpu_milli, s.cpu_milli, s.memory_bytes, s.memory_bytes, s.product, {}});
  }
  std::int64_t placed = 0;
  for (const Task* t : tasks) {
    Node* best = nullptr;
    double least = 0;
    for (Node& n : nodes) {
      if (!fits(n, *t)) continue;
      const double s = score(n, *t);
      if (best == nullptr || s < least) best = &n, least = s;
    }
    if (best != nullptr) take(*best, *t), placed += t->gpus;
  }
  return placed;
}

std::int64_t placed_by_us(const World& w, const std::vector<const Task*>& tasks) {
  Fleet fleet;
  std::uint32_t id = 0;
  for (const NodeSpec& s : w.nodes) fleet.set_node(NodeId(++id), kCluster, s, false, 0);
  Search search(fleet);
  std::map<Task, ShapeUse> shapes;
  std::int64_t placed = 0;
  std::uint64_t jobs = 0;
  for (const Task* t : tasks) {
    GangRequest request;
    request.groups.emplace_back();
    PodShape& pod = request.groups[0].shape;
    pod.kind = GpuKind::kWhole;
    pod.gpus = t->gpus;
    pod.cpu_milli = t->cpu_milli;
    pod.memory_bytes = t->memory_bytes;
    pod.products = t->products;
    auto it = shapes.find(*t);
    if (it == shapes.end()) it = shapes.emplace(*t, fleet.use(kCluster, request)).first;
    const JobId job(kCluster, ++jobs);
    const auto place = search.find(FleetView(fleet), it->second, job);
    if (!place) continue;
    fleet.take(it->second, 0, place->slots[0], job, 0);
    placed += t->gpus;
  }
  return placed;
}

}  // namespace

Result<World> read(const std::string& trace, const std::string& extra, const std::string& fleet) {
  World w;
  auto nodes = sim::read_nodes(fleet);
  if (!nodes.ok()) return nodes.error();
  w.nodes = std::move(nodes.value());
  auto jobs = sim::read_trace(trace);
  if (!jobs.ok()) return jobs.error();
  auto more = sim::CsvReader::open(extra);
  if (!more.ok()) return more.error();
  sim::CsvReader& csv = *more.value();
  const auto id = csv.need("job_id"), cpus = csv.need("cpus"), mib = csv.need("memory_mib");
  for (const auto* column : {&id, &cpus, &mib}) {
    if (!column->ok()) return column->error();
  }
  std::map<std::string, Task, std::less<>> asks;
  for (auto row = csv.next(); !row.ok() || row.value(); row = csv.next()) {
    if (!row.ok()) return row.error();
    const auto cpu_ms = csv.seconds(cpus.value());  // a number with up to three decimals
    const auto memory_mib = csv.integer(mib.value(), 0, std::int64_t{1} << 30);
    if (!cpu_ms.ok()) return cpu_ms.error();
    if (!memory_mib.ok()) return memory_mib.error();
    asks[std::string(csv.field(id.value()))] = {0, cpu_ms.value(), memory_mib.value() << 20, {}};
  }
  for (const sim::TraceJob& j : jobs.value()) {
    if (j.milligpu % kMilliPerGpu != 0) continue;
    Task task = asks[j.id];
    task.gpus = j.milligpu / kMilliPerGpu;
    task.products = j.products;
    w.tasks.push_back(std::move(task));
  }
  return w;
}

std::vector<std::pair<std::string, double>> allocated(const World& w, std::uint64_t seed) {
  std::map<Task, double> popularity;
  for (const Task& t : w.tasks) popularity[t] += 1.0 / static_cast<double>(w.tasks.size());
  const std::vector<std::pair<Task, double>> typical(popularity.begin(), popularity.end());
  const Score growth = fgd(typical);
  const std::vector<std::pair<const char*, Score>> rules = {
      {"first_fit", first_fit},
      {"best_fit", best_fit},
      {"dot_product", dot_product},
      {"packing", packing},
      {"clustering", clustering},
      {"fgd", growth},
      {"fgd_then_packing",
       [&](const Node& n, const Task& t) { return growth(n, t) * 1000 + packing(n, t); }}};
  const auto tasks = drawn(w, seed);
  const std::int64_t gpus = gpus_of(w);
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, score] : rules) {
    out.emplace_back(name, 100 * share(placed_by(w, tasks, score), gpus));
  }
  out.emplace_back("", 100 * share(placed_by_us(w, tasks), gpus));
  return out;
}

}  // namespace subak::packing
