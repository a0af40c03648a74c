// Reads a Prometheus server's answer with 60,000 series of DCGM's metrics (20,000 GPUs on 2,500
// nodes), and joins it with the pods that hold the GPUs. The loop's thread does neither.
#include <cstdint>
#include <cstdio>
#include <string>

#include "row.h"
#include "server/activity/book.h"

namespace subak {
namespace {

constexpr int kNodes = 2'500;
constexpr int kGpusOfNode = 8;
constexpr double kGoalMs = 1'000;

std::string series(const char* metric, int node, int gpu, const std::string& value) {
  const std::string n = std::to_string(node), g = std::to_string(gpu);
  return R"({"metric":{"Hostname":"gpu-node-)" + n +
         R"(.eu-west.example.com","UUID":"GPU-6f1c2a3b-)" + n + "-" + g +
         R"(-8000-123456789abc","__name__":")" + metric + R"(","gpu":")" + g +
         R"(","exported_namespace":"team-)" + std::to_string(node % 40) +
         R"(","exported_pod":"train-)" + n + R"(-worker-abcde","namespace":"gpu-operator","pod":)" +
         R"("nvidia-dcgm-exporter-)" + n + R"("},"value":[1767225600.123,")" + value + R"("]})";
}

std::string answer() {
  std::string out = R"({"status":"success","data":{"resultType":"vector","result":[)";
  for (int node = 0; node < kNodes; ++node) {
    for (int gpu = 0; gpu < kGpusOfNode; ++gpu) {
      out += node + gpu == 0 ? "" : ",";
      out += series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", node, gpu,
                    "0." + std::to_string(10 + node % 80)) +
             "," + series("DCGM_FI_DEV_FB_USED", node, gpu, "61440") + "," +
             series("DCGM_FI_DEV_POWER_USAGE", node, gpu, "512.25");
    }
  }
  return out + "]}}";
}

HeldGpus holders() {
  HeldGpus held;
  for (int node = 0; node < kNodes; ++node) {
    const std::string n = std::to_string(node);
    const NodeId id(static_cast<std::uint32_t>(node + 1));
    held.nodes.push_back({id, ClusterId(1), "gpu-node-" + n, "bench"});
    OpenUsage pod;
    pod.payer = AccountId(static_cast<std::uint32_t>(node % 40 + 1));
    pod.product = "H100";
    pod.milligpu = kGpusOfNode * kMilliPerGpu;
    pod.job = JobId(ClusterId(1), static_cast<std::uint64_t>(node + 1));
    pod.node = id;
    pod.gpus = kGpusOfNode;
    pod.pod = "team-" + std::to_string(node % 40) + "/train-" + n + "-worker-abcde";
    held.pods.push_back(pod);
  }
  return held;
}

int run() {
  const std::string body = answer();
  const HeldGpus held = holders();
  bench::Stopwatch reading;
  const auto samples = read_samples(body);
  const double read_ms = reading.ns() / 1e6;
  if (!samples.ok() || samples->series != 3u * kNodes * kGpusOfNode) return 1;
  ActivityBook book;
  bench::Stopwatch adding;
  book.add(held, &*samples, 1'767'225'600'000, 30 * kMinuteMs);
  const double add_ms = adding.ns() / 1e6;
  std::fprintf(stderr, "%zu series, %zu bytes: read %.0f ms, joined and added %.0f ms\n",
               samples->series, body.size(), read_ms, add_ms);
  if (book.figures().unknown_nodes != 0 || !book.figures().unheld.empty()) return 1;
  bench::row("activity_read_60k_ms", read_ms + add_ms, "ms", kGoalMs, bench::Better::kLess,
             "goal: 60,000 series of DCGM within a second, off the loop");
  return 0;
}

}  // namespace
}  // namespace subak

int main() { return subak::run(); }
