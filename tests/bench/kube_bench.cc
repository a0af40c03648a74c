// The edge's cache: pods as a watch of a real API server sends them (4 KB each, with managed fields),
// 150,000 of them, one in ten with GPUs and a gate. What one costs to read, beside parsing its JSON
// alone, and what its card takes of the heap.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/owner.h"
#include "kube/owners/kinds.h"
#include "row.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/watch_stream.h"
#include "slice_text.h"

namespace subak {
namespace {

constexpr int kPods = 150'000;

std::string filler(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) {
    text += (i > 0 ? "," : "") + std::string("\"f:key-") + std::to_string(i) + "\":{\".\":{}}";
  }
  return text;
}

std::string pod(int i, const std::string& fields) {
  const std::string n = std::to_string(i);
  const bool gpu = i % 10 == 0;
  const std::string uid = "6f1c2a3b-0000-4000-8000-" + std::string(12 - n.size(), '0') + n;
  std::string out =
      R"({"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"train-)" + n +
      R"(-abcde","namespace":"team-)" + std::to_string(i % 40) + R"(","uid":")" + uid +
      R"(","resourceVersion":")" + std::to_string(1000 + i) +
      R"(","creationTimestamp":"2026-11-01T10:00:00Z","labels":{"app":"train"},)"
      R"("managedFields":[{"manager":"kubelet","fieldsV1":{)" +
      fields + R"(}}]},"spec":{)";
  out += gpu ? R"("schedulingGates":[{"name":"subak.gpu/queue"}],)"
             : R"("nodeName":"node-)" + std::to_string(i % 1000) + R"(",)";
  out +=
      R"("containers":[{"name":"main","image":"registry.example.com/train:1","resources":{"limits":{)";
  out += gpu ? R"("nvidia.com/gpu":"8",)" : "";
  out += R"("cpu":"2","memory":"8Gi"}}}]},"status":{"phase":)";
  return out + (gpu ? R"("Pending"}}})" : R"("Running"}}})") + "\n";
}

void run() {
  const std::string fields = filler(3'000);
  std::vector<std::string> lines;
  lines.reserve(1000);
  double bare_ns = 0, read_ns = 0;
  ClusterCache cache("bench", {}, default_other_schedulers());
  cache.begin_pods(0);
  WatchStream stream;
  simdjson::dom::parser parser;
  std::size_t bytes = 0;
  const std::size_t heap = bench::heap_bytes();
  for (int first = 0; first < kPods; first += 1000) {
    for (int i = first; i < first + 1000; ++i) lines.push_back(pod(i, fields));
    bench::Stopwatch bare;
    for (const std::string& line : lines) bench::keep(parser.parse(line).error());
    bare_ns += bare.ns();
    bench::Stopwatch reading;
    for (const std::string& line : lines) {
      const auto error =
          stream.feed(line, [&](const WatchEvent& event) { cache.see_pod(event, 0); });
      bench::keep(error);
      while (cache.outbox().next(Outbox::kAllPodsKnown)) continue;  // told at once
    }
    read_ns += reading.ns();
    for (const std::string& line : lines) bytes += line.size();
    lines.clear();
  }
  const double entry = static_cast<double>(bench::heap_bytes() - heap) / kPods;
  std::fprintf(stderr, "kube: %d pods of %zu bytes\n", kPods, bytes / kPods);
  bench::row("watch_pod_us", read_ns / kPods / 1000, "us", bare_ns / kPods / 1000,
             bench::Better::kLess, "parsing the same line with simdjson alone (goal: 20 us)");
  bench::row("watch_pod_bytes", entry, "bytes", 600, bench::Better::kLess, "the goal");
}

// One owner of each kind, with 3 KB of managed fields: with two templates of pods if the kind has any.
std::vector<std::string> owners(const std::string& fields) {
  const std::string made =
      R"("template":{"metadata":{"labels":{"app":"train"}},"spec":{"containers":[{"name":"main","image":"registry.example.com/train:1","resources":{"limits":{"nvidia.com/gpu":"8","cpu":"64","memory":"512Gi"}}}]}})";
  const auto roles = [&](const std::string& key, const std::string& first) {
    return "\"" + key + R"(":{")" + first + R"(":{"replicas":1,)" + made +
           R"(},"Worker":{"replicas":63,)" + made + "}}";
  };
  const std::string job =
      R"({"name":"w","replicas":2,"template":{"spec":{"parallelism":8,"completions":8,)" + made +
      "}}}";
  const std::string ray = R"("headGroupSpec":{)" + made +
                          R"(},"workerGroupSpecs":[{"groupName":"w","replicas":7,)" + made + "}]";
  const std::string group = made.substr(std::string(R"("template":)").size());
  const std::vector<std::pair<OwnerKind, std::string>> specs{
      {OwnerKind::kJob, R"("completionMode":"Indexed","parallelism":8,"completions":8,)" + made},
      {OwnerKind::kJobSet, R"("replicatedJobs":[)" + job + "," + job + "]"},
      {OwnerKind::kLeaderWorkerSet, R"("leaderWorkerTemplate":{"size":2,"leaderTemplate":)" +
                                        group + R"(,"workerTemplate":)" + group + "}"},
      {OwnerKind::kPyTorchJob, roles("pytorchReplicaSpecs", "Master")},
      {OwnerKind::kTfJob, roles("tfReplicaSpecs", "PS")},
      {OwnerKind::kXgboostJob, roles("xgbReplicaSpecs", "Master")},
      {OwnerKind::kPaddleJob, roles("paddleReplicaSpecs", "Master")},
      {OwnerKind::kJaxJob, roles("jaxReplicaSpecs", "Master")},
      {OwnerKind::kMpiJob, roles("mpiReplicaSpecs", "Launcher")},
      {OwnerKind::kRayCluster, ray},
      {OwnerKind::kVolcanoJob,
       R"("tasks":[{"replicas":1,)" + made + R"(},{"replicas":7,)" + made + "}]"},
      {OwnerKind::kCoschedulingGroup, R"("minMember":64)"},
      {OwnerKind::kVolcanoGroup, R"("minMember":64)"},
      {OwnerKind::kKaiGroup,
       R"("minMember":64,"subGroups":[{"name":"a","minMember":32},{"name":"b","minMember":32}])"},
      {OwnerKind::kPodGroup, R"("schedulingPolicy":{"gang":{"minCount":64}})"},
      {OwnerKind::kWorkload, R"("podGroups":[{"name":"w","policy":{"gang":{"minCount":64}}}])"}};
  std::vector<std::string> lines;
  for (const auto& [kind, spec] : specs) {
    const OwnerKindRow& row = row_of(kind);
    lines.push_back(
        R"({"apiVersion":")" + std::string(row.group) + "/" + std::string(row.versions.front()) +
        R"(","kind":")" + std::string(row.name) +
        R"(","metadata":{"name":"train","namespace":"team","uid":"u","resourceVersion":"7","managedFields":[{"fieldsV1":{)" +
        fields + R"(}}]},"spec":{)" + spec + R"(},"status":{}})");
  }
  return lines;
}

// The slowest kind counts.
void read_owners() {
  constexpr int kTimes = 2'000;
  double slowest_ns = 0, bare_ns = 0;
  for (const std::string& line : owners(filler(3'000))) {
    simdjson::dom::parser parser;
    bench::Stopwatch bare;
    for (int i = 0; i < kTimes; ++i) bench::keep(parser.parse(line).error());
    const double parse_ns = bare.ns() / kTimes;
    bench::Stopwatch reading;
    for (int i = 0; i < kTimes; ++i) {
      const auto owner = read_owner(parser.parse(line), {});
      if (!owner.ok()) std::fprintf(stderr, "owner: %s\n", owner.error().message().c_str());
      bench::keep(owner.ok());
    }
    const double ns = reading.ns() / kTimes;
    if (ns > slowest_ns) bare_ns = parse_ns;
    slowest_ns = std::max(slowest_ns, ns);
  }
  bench::row("read_owner_us", slowest_ns / 1000, "us", bare_ns / 1000, bench::Better::kLess,
             "parsing the same object with simdjson alone (goal: 20 us, of the slowest kind)");
}

void read_slices() {
  constexpr int kNodes = 12'500;
  const ExtraGpuResources extra;
  DeviceCache cache(extra);
  WatchStream stream;
  simdjson::dom::parser parser;
  double bare_ns = 0, read_ns = 0;
  const std::size_t heap = bench::heap_bytes();
  for (int i = 0; i < kNodes; ++i) {
    const std::string line = bench::slice_text(i);
    bench::Stopwatch bare;
    bench::keep(parser.parse(line).error());
    bare_ns += bare.ns();
    bench::Stopwatch reading;
    bench::keep(stream.feed(line, [&](const WatchEvent& event) { cache.see_slice(event); }));
    read_ns += reading.ns();
    cache.take_changed_nodes();
  }
  const double node = static_cast<double>(bench::heap_bytes() - heap) / kNodes;
  bench::row("watch_slice_us", read_ns / kNodes / 1000, "us", bare_ns / kNodes / 1000,
             bench::Better::kLess, "parsing the same line with simdjson alone (goal: 50 us)");
  bench::row("watch_slice_bytes", node, "bytes", 2'000, bench::Better::kLess,
             "the goal for a node with 8 devices");
}

}  // namespace
}  // namespace subak

int main() {
  subak::run();
  subak::read_owners();
  subak::read_slices();
}
