// How full a fleet gets: the openb trace's tasks of whole GPUs, drawn again and again until nothing more
// fits, placed by our own search and by rules that others use, each on a simple model of its own. After
// Weng et al., "Beware of Fragmentation", USENIX ATC'23. Arguments: trace, its CPU and memory, fleet, seeds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "placement/search.h"
#include "row.h"
#include "sim/csv.h"
#include "sim/trace.h"

namespace subak {
namespace {

const ClusterId kCluster(1);
constexpr double kDemand = 1.3;  // of the fleet's GPUs: nothing fits long before

struct Task {
  std::int64_t gpus = 0, cpu_milli = 0, memory_bytes = 0;
  std::vector<std::string> products;
  auto operator<=>(const Task&) const = default;
};

struct Node {
  std::int64_t gpus = 0, free = 0, cpu_milli = 0, cpu_of = 0, memory_bytes = 0, memory_of = 0;
  std::string product;
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
  const auto fragments = [&typical](const Node& n) {
    double sum = 0;
    for (const auto& [task, popularity] : typical) {
      if (!fits(n, task)) sum += popularity * static_cast<double>(n.free);
    }
    return sum;
  };
  return [fragments](const Node& n, const Task& t) {
    Node after = n;
    take(after, t);
    return fragments(after) - fragments(n);
  };
}

struct World {
  std::vector<Task> tasks;
  std::vector<NodeSpec> specs;
  std::int64_t gpus = 0;
};

std::vector<const Task*> drawn(const World& w, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<const Task*> out;
  for (double gpus = 0; gpus < kDemand * static_cast<double>(w.gpus);) {
    out.push_back(&w.tasks[random() % w.tasks.size()]);
    gpus += static_cast<double>(out.back()->gpus);
  }
  return out;
}

std::int64_t placed_by(const World& w, const std::vector<const Task*>& tasks, const Score& score) {
  std::vector<Node> nodes;
  for (const NodeSpec& s : w.specs) {
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
  for (const NodeSpec& s : w.specs) fleet.set_node(NodeId(++id), kCluster, s, false, 0);
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
    const auto place = search.find(Picture(fleet), it->second, job);
    if (!place) continue;
    fleet.take(it->second, 0, place->slots[0], job, 0);
    placed += t->gpus;
  }
  return placed;
}

Result<World> read(const std::string& trace, const std::string& extra, const std::string& fleet) {
  World w;
  auto nodes = sim::read_nodes(fleet);
  if (!nodes.ok()) return nodes.error();
  w.specs = std::move(nodes.value());
  for (const NodeSpec& s : w.specs) w.gpus += s.gpus;
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

void print(const World& w, std::uint64_t seeds) {
  std::map<Task, double> popularity;
  for (const Task& t : w.tasks) popularity[t] += 1.0 / static_cast<double>(w.tasks.size());
  const std::vector<std::pair<Task, double>> typical(popularity.begin(), popularity.end());
  const Score growth = fgd(typical);
  const std::vector<std::pair<const char*, Score>> rules = {
      {"pack_openb_first_fit", first_fit},
      {"pack_openb_best_fit", best_fit},
      {"pack_openb_dot_product", dot_product},
      {"pack_openb_packing", packing},
      {"pack_openb_clustering", clustering},
      {"pack_openb_fgd", growth},
      {"pack_openb_fgd_then_packing",
       [&](const Node& n, const Task& t) { return growth(n, t) * 1000 + packing(n, t); }}};
  std::map<std::string, double> sums;  // % of the fleet's GPUs
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto tasks = drawn(w, seed);
    const double part = 100.0 / static_cast<double>(seeds);
    for (const auto& [name, score] : rules) {
      sums[name] += part * share(placed_by(w, tasks, score), w.gpus);
    }
    sums["pack_openb"] += part * share(placed_by_us(w, tasks), w.gpus);
  }
  for (const auto& [name, score] : rules) bench::row(name, sums[name], "% of GPUs");
  bench::row("pack_openb", sums["pack_openb"], "% of GPUs", sums["pack_openb_fgd"],
             bench::Better::kMore, "FGD, which knows beforehand what will come");
}

}  // namespace
}  // namespace subak

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_packing TRACE EXTRA FLEET SEEDS\n");
    return 2;
  }
  const auto world = subak::read(argv[1], argv[2], argv[3]);
  if (!world.ok()) {
    std::fprintf(stderr, "bench_packing: %s\n", world.error().message().c_str());
    return 1;
  }
  subak::print(world.value(), std::strtoull(argv[4], nullptr, 10));
}
