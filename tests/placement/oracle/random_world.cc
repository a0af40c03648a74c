#include "random_world.h"

namespace subak::naive {
namespace {

void common(Dice& dice, NodeSpec& s, std::uint32_t id) {
  s.name = "n" + std::to_string(id);
  s.labels = {{"kubernetes.io/hostname", s.name}, {"pool", dice.chance(70) ? "a" : "b"}};
  if (dice.chance(30)) s.labels.push_back({"speed", std::to_string(dice.below(4) * 100)});
  if (dice.chance(10)) s.taints = {{"dedicated", "x", "NoSchedule"}};
  if (dice.chance(50)) s.cpu_milli = 8000 * (1 + dice.below(8));
  if (dice.chance(50)) s.memory_bytes = (1 + dice.below(16)) << 30;
  if (dice.chance(30)) s.pod_slots = 1 + dice.below(10);
  if (dice.chance(30)) s.extended = {{"rdma/hca", dice.below(5)}};
  s.ready = !dice.chance(4);
  s.unschedulable = dice.chance(4);
  if (dice.chance(4)) s.unfit = "no";
  if (dice.chance(8)) s.unhealthy_gpus = 1 + dice.below(2);
}

GpuKind random_kind(Dice& dice) {
  const std::int64_t k = dice.below(100);
  if (k < 60) return GpuKind::kWhole;
  if (k < 70) return GpuKind::kMig;
  if (k < 80) return GpuKind::kFraction;
  return k < 90 ? GpuKind::kShared : GpuKind::kNone;
}

void constrain(Dice& dice, PodShape& p) {
  if (dice.chance(40)) p.cpu_milli = 1000 * (1 + dice.below(16));
  if (dice.chance(30)) p.memory_bytes = (1 + dice.below(4)) << 30;
  if (dice.chance(10)) p.extended = {{"rdma/hca", 1 + dice.below(2)}};
  if (dice.chance(20)) p.node_selector = {{"pool", dice.chance(50) ? "a" : "b"}};
  if (dice.chance(10)) p.affinity = {{{{"speed", "Gt", {"100"}}}}, {{{"pool", "NotIn", {"a"}}}}};
  if (dice.chance(5)) {
    const std::string name = "n" + std::to_string(1 + dice.below(24));
    p.affinity = {{{{"metadata.name", "In", {name}}}}};
  }
  if (dice.chance(20)) p.tolerations = {{"dedicated", "Exists", "", ""}};
  if (dice.chance(5)) p.tolerations = {{"", "Exists", "", ""}};
  if (dice.chance(8)) p.host_ports = {{static_cast<std::int32_t>(8080 + dice.below(2)), "", ""}};
  if (dice.chance(4)) p.host_ports = {{8080, "TCP", "10.0.0.1"}};
  if (p.kind == GpuKind::kWhole && dice.chance(20)) p.products = {"NVIDIA-H100-80GB-HBM3"};
  if (p.kind == GpuKind::kWhole && dice.chance(8)) {
    const bool slices = dice.chance(50);
    p.gpus = 1;
    p.products = {slices ? "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb" : "NVIDIA-A10-SHARED"};
  }
}

PodShape random_pod(Dice& dice, GpuKind kind) {
  static const char* const kProfiles[] = {"1g.10gb", "2g.20gb", "3g.40gb", "1g.5gb"};
  PodShape p;
  p.kind = kind;
  if (kind == GpuKind::kWhole) p.gpus = std::int64_t{1} << dice.below(4);
  if (kind == GpuKind::kWhole && dice.chance(10)) p.gpus = 3;
  if (p.gpus == 8 && dice.chance(30)) p.container_gpus = 4;
  if (kind == GpuKind::kMig) p.gpus = 1 + dice.below(2);
  if (kind == GpuKind::kMig) p.profile = kProfiles[dice.below(4)];
  if (kind == GpuKind::kShared) p.gpus = 1;
  if (kind == GpuKind::kFraction) p.milligpu = 100 * (1 + dice.below(9));
  constrain(dice, p);
  return p;
}

}  // namespace

NodeSpec random_node(Dice& dice, std::uint32_t id, std::size_t depth) {
  NodeSpec s;
  common(dice, s, id);
  std::vector<std::string> levels;
  for (std::size_t k = 0; k < depth; ++k) {
    // Not of the dice, so that worlds without levels are what they were; an edit may move the node.
    const auto salt = static_cast<std::size_t>(s.pod_slots) + id + 5 * k;
    levels.push_back(salt % 9 == 0 ? "" : "g" + std::to_string(id / (std::uint32_t{3} << k)));
  }
  s.set_levels(levels);
  if (id % 9 != 4) s.fabric = id / 6 % 2 == 0 ? "east" : "west";
  if (id % 16 == 8) s.numa_gpus = 4;
  switch (id % 8) {
    case 0:
    case 1:
      s.product = "NVIDIA-H100-80GB-HBM3";
      s.gpus = dice.chance(90) ? 8 : 6;
      break;
    case 2:  // halves that NVLink joins, bridges that are not there, or no NVLink at all
      s.product = id % 32 == 10 ? "NVIDIA-L40S" : "NVIDIA-A40";
      s.gpus = 8;
      if (id % 32 != 10) s.gpus_per_domain = id % 16 == 2 ? 4 : 1;
      break;
    case 3:
    case 4:
    case 5:
      s.product = "NVIDIA-GB200";
      s.gpus = 4;
      s.clique = "clique" + std::to_string(id / 12);
      if (dice.chance(12)) std::swap(s.clique, s.former_clique);  // its label is lost
      break;
    case 6:
      s.product = id % 16 == 6 ? "NVIDIA-A100-SXM4-80GB" : "NVIDIA-A30";
      s.gpus = 4;
      s.mig_gpus = 2;
      if (s.product == "NVIDIA-A30") break;  // its cut cards are empty: all stranded
      s.mig = {{"1g.10gb", 3}, {"2g.20gb", 1 + dice.below(2)}, {"3g.40gb", 1}};
      break;
    default:
      if (id % 16 == 7) break;  // CPUs only
      s.product = "NVIDIA-A10";
      s.gpus = 4;
      s.replicas = 3;
  }
  return s;
}

GangRequest random_request(Dice& dice, bool mixed) {
  GangRequest r;
  const GpuKind kind = random_kind(dice);
  const std::int64_t size = dice.below(100);
  PodGroup g;
  g.count = size < 50 ? 1 : static_cast<std::uint32_t>(1 + dice.below(size < 85 ? 4 : 12));
  g.shape = random_pod(dice, kind);
  r.groups.push_back(g);
  if (mixed) {
    g.count = static_cast<std::uint32_t>(1 + dice.below(3));
    g.shape = random_pod(dice, random_kind(dice));
    r.groups.push_back(g);
  }
  r.terms.topology = static_cast<Topology>(dice.chance(40) ? 0 : dice.below(5));
  r.terms.prefer = dice.chance(10);
  if (dice.chance(20) && r.terms.topology != Topology::kNvlinkExclusive) {
    const auto step = static_cast<std::uint32_t>(1 + dice.below(4));
    if (r.pods() % step == 0) r.terms.segment = step;
  }
  r.terms.mixed_products = dice.chance(15);
  r.terms.compute_domain = dice.chance(15);
  return r;
}

}  // namespace subak::naive
