// Random nodes whose labels and counts may contradict each other, filled with pods until none fits: never
// more than the smallest statement allows, and nothing on a node in contradiction. What the statements allow
// is judged here from the labels and counts alone. SUBAK_NODES sets how many nodes (default 10,000) from
// SUBAK_NODE_SEED on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/node/node.h"
#include "placement/fleet/queries.h"
#include "placement/gpus/mig_cut.h"
#include "tests/placement/builders.h"
#include "tests/placement/oracle/random_world.h"

namespace subak {
namespace {

using Texts = std::map<std::string, std::string>;
using Counts = std::map<std::string, std::int64_t>;

constexpr char kCount[] = "nvidia.com/gpu.count", kReplicas[] = "nvidia.com/gpu.replicas",
               kProduct[] = "nvidia.com/gpu.product", kClique[] = "nvidia.com/gpu.clique",
               kStrategy[] = "nvidia.com/gpu.sharing-strategy", kGpu[] = "nvidia.com/gpu",
               kShared[] = "nvidia.com/gpu.shared", kMig[] = "nvidia.com/mig-",
               kGkeCount[] = "cloud.google.com/gke-accelerator-count",
               kGkeClients[] = "cloud.google.com/gke-max-shared-clients-per-gpu",
               kGkeSize[] = "cloud.google.com/gke-gpu-partition-size",
               kGkeType[] = "cloud.google.com/gke-accelerator";
constexpr std::array<const char*, 3> kProfiles{"1g.10gb", "3g.40gb", "1g.5gb"};

struct Written {
  Texts labels;
  Counts capacity, allocatable;
  bool touched = false;    // else all statements are of one truth
  std::int64_t units = 0;  // of that truth: pods that ask for one unit each
};

std::string json_of(const Written& w) {
  const auto object = [](const auto& pairs, auto&& text) {
    std::string out;
    for (const auto& [key, value] : pairs) {
      out += (out.empty() ? "\"" : ",\"") + key + "\":\"" + text(value) + '"';
    }
    return "{" + out + "}";
  };
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  return R"({"metadata":{"name":"n","labels":)" +
         object(w.labels, [](const std::string& s) { return s; }) + R"(},"status":{"capacity":)" +
         object(w.capacity, number) + R"(,"allocatable":)" + object(w.allocatable, number) + "}}";
}

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : dice_(seed) {}

  Written write() {
    const std::int64_t cards = 1 + dice_.below(8);
    switch (dice_.below(7)) {
      case 0:
        return whole(cards);
      case 1:
        return shared(cards);
      case 2:
        return single(cards);
      case 3:
        return mixed(cards);
      case 4:
        return gke_shared(cards);
      case 5:
        return gke_cut(cards);
      default:
        return rack(cards);
    }
  }

  void touch(Written& w) {
    for (std::int64_t k = 1 + dice_.below(3); k > 0; --k) touch_once(w);
    w.touched = true;
  }

  bool chance(int percent) { return dice_.chance(percent); }
  std::int64_t below(std::int64_t n) { return dice_.below(n); }

 private:
  void offer(Written& w, const std::string& name, std::int64_t units) {
    w.capacity[name] = w.allocatable[name] = w.units = units;
  }
  static std::string text(std::int64_t n) { return std::to_string(n); }

  Written whole(std::int64_t cards) {
    Written w;
    w.labels = {{kProduct, "NVIDIA-H100-80GB-HBM3"}, {kCount, text(cards)}};
    if (chance(50)) w.labels[kReplicas] = "1", w.labels[kStrategy] = "none";
    offer(w, kGpu, cards);
    return w;
  }
  Written rack(std::int64_t cards) {
    Written w = whole(cards);
    w.labels[kProduct] = "NVIDIA-GB200";
    w.labels[kClique] = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1";
    return w;
  }
  Written shared(std::int64_t cards) {
    Written w = whole(cards);
    const std::int64_t replicas = 2 + below(6);
    const bool renamed = chance(50);
    w.labels[kProduct] = renamed ? "Tesla-T4" : "Tesla-T4-SHARED";
    w.labels[kReplicas] = text(replicas);
    w.labels[kStrategy] = chance(50) ? "time-slicing" : "mps";
    w.capacity.clear(), w.allocatable.clear();
    offer(w, renamed ? kShared : kGpu, cards * replicas);
    return w;
  }
  Written single(std::int64_t cards) {
    Written w;
    w.labels = {{kProduct, "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}, {kCount, text(7 * cards)}};
    offer(w, kGpu, 7 * cards);
    return w;
  }
  Written mixed(std::int64_t cards) {
    Written w;
    const std::int64_t cut = 1 + below(cards);
    w.labels = {{kProduct, "NVIDIA-H100-80GB-HBM3"}, {kCount, text(cards)}};
    w.labels[kMig + std::string("1g.10gb.count")] = text(cut);
    w.labels[kMig + std::string("3g.40gb.count")] = text(cut);
    offer(w, kMig + std::string("1g.10gb"), cut);
    offer(w, kMig + std::string("3g.40gb"), cut);
    offer(w, kGpu, cards - cut);
    w.units = cards + cut;
    return w;
  }
  Written gke_shared(std::int64_t cards) {
    Written w;
    const std::int64_t clients = 2 + below(47);
    w.labels = {{kGkeType, "nvidia-l4"},
                {kGkeCount, text(cards)},
                {kGkeClients, text(clients)},
                {"cloud.google.com/gke-gpu-sharing-strategy", "time-sharing"}};
    offer(w, kGpu, cards * clients);
    return w;
  }
  Written gke_cut(std::int64_t cards) {
    Written w;
    w.labels = {{kGkeType, "nvidia-tesla-a100"}, {kGkeCount, text(cards)}, {kGkeSize, "1g.5gb"}};
    offer(w, kGpu, 7 * cards);
    return w;
  }

  std::string any_number() {
    switch (below(8)) {
      case 0:
        return "eight";
      case 1:
        return "0";
      case 2:
        return "100";
      default:
        return text(1 + below(16));
    }
  }
  void touch_once(Written& w) {
    const std::string profile = kProfiles[static_cast<std::size_t>(below(kProfiles.size()))];
    const std::vector<std::string> counted{kCount,      kReplicas, kMig + profile + ".count",
                                           kGkeClients, kGkeCount, kMig + profile + ".replicas"};
    const std::vector<std::string> offered{kGpu, kShared, kMig + profile,
                                           kMig + profile + ".shared"};
    const auto any = [&](const auto& list) {
      return list[static_cast<std::size_t>(below(std::ssize(list)))];
    };
    switch (below(6)) {
      case 0:
        w.labels[any(counted)] = any_number();
        return;
      case 1:
        w.labels.erase(any(counted));
        return;
      case 2:
        w.labels[kClique] = any(std::vector<std::string>{"00000000-0000-0000-0000-000000000000.0",
                                                         ".", "a", "a.", "7b968a6d.1"});
        return;
      case 3:
        w.labels[kProduct] = any(std::vector<std::string>{
            "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-80GB-HBM3-MIG-INVALID", "Tesla-T4-SHARED",
            "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "NVIDIA-GB200"});
        return;
      default: {
        const std::string name = any(offered);
        w.allocatable[name] = below(chance(50) ? 9 : 60);
        w.capacity[name] = std::max(w.allocatable[name], chance(50) ? below(9) : 0);
      }
    }
  }

  naive::Dice dice_;
};

// What the statements of a node allow.
class Judge {
 public:
  explicit Judge(const Written& w) : w_(w) {}

  std::optional<std::int64_t> number(const std::string& label) const {
    const auto found = w_.labels.find(label);
    if (found == w_.labels.end()) return std::nullopt;
    std::int64_t n = 0;
    const std::string& text = found->second;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
  }
  std::int64_t works(const std::string& resource) const {
    const auto found = w_.allocatable.find(resource);
    return found == w_.allocatable.end() ? 0 : found->second;
  }
  std::string label(const char* key) const {
    const auto found = w_.labels.find(key);
    return found == w_.labels.end() ? "" : found->second;
  }
  // Of slices that are called nvidia.com/gpu.
  std::string profile() const {
    const std::string product = label(kProduct);
    const std::size_t mark = product.find("-MIG-");
    return mark == std::string::npos ? label(kGkeSize) : product.substr(mark + 5);
  }
  std::int64_t cards() const {
    const bool counts_slices = label(kProduct).find("-MIG-") != std::string::npos;
    std::int64_t most = number(kGkeCount).value_or(1000);
    if (!counts_slices) most = std::min(most, number(kCount).value_or(1000));
    return most;
  }
  std::int64_t slices(const std::string& of) const {
    if (!profile().empty()) {
      if (of != profile()) return 0;
      const bool counts_slices = label(kProduct).find("-MIG-") != std::string::npos;
      const std::int64_t counted = counts_slices ? number(kCount).value_or(1000) : 1000;
      return std::min(works(kGpu) + works(kShared), counted);
    }
    const std::string name = kMig + of;
    return std::min(works(name) + works(name + ".shared"), number(name + ".count").value_or(1000));
  }
  bool says_shared() const {
    return number(kReplicas).value_or(1) > 1 || number(kGkeClients).value_or(1) > 1 ||
           label(kProduct).ends_with("-SHARED") || w_.labels.contains(kStrategy) ||
           w_.labels.contains("cloud.google.com/gke-gpu-sharing-strategy");
  }

  // The contradictions that docs/kubernetes-nodes.md lists, each by itself.
  bool contradicts() const {
    const bool any = std::any_of(w_.allocatable.begin(), w_.allocatable.end(),
                                 [](const auto& entry) { return entry.second > 0; });
    if (!any) return false;
    const bool cut = !profile().empty();
    const std::int64_t gpus = works(kGpu);
    if (!cut && !says_shared() && gpus > cards()) return true;
    if (works(kShared) > 0 && number(kReplicas).value_or(1) <= 1 &&
        number(kGkeClients).value_or(1) <= 1 && cards() == 1000 && !cut) {
      return true;
    }
    const bool slices = std::any_of(kProfiles.begin(), kProfiles.end(), [&](const char* p) {
      return works(kMig + std::string(p)) > 0;
    });
    if (!cut && slices && !says_shared() && gpus >= cards()) return true;
    const std::string clique = label(kClique);
    if (clique.empty()) return false;
    const std::size_t dot = clique.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == clique.size()) return true;
    if (clique.starts_with("00000000-")) return true;
    return label(kProduct).starts_with("NVIDIA-H100") || label(kProduct).starts_with("Tesla-T4");
  }

 private:
  const Written& w_;
};

struct Placed {
  std::int64_t whole = 0, shares = 0;
  std::map<std::string, std::int64_t> slices;
  std::uint64_t mask = 0;  // GPUs with whole pods or shares

  std::int64_t units() const {
    std::int64_t sum = whole + shares;
    for (const auto& [profile, count] : slices) sum += count;
    return sum;
  }
};

GangRequest pod_of(GpuKind kind, const std::string& profile = "") {
  GangRequest request = build::gang(1, 1);
  request.groups[0].shape.kind = kind;
  request.groups[0].shape.profile = profile;
  return request;
}

// Puts pods there, of kinds by turns, until none fits.
Placed fill(const NodeSpec& node, Writer& dice) {
  build::Site site;
  build::add(site, 1, node);
  std::vector<GangRequest> kinds{pod_of(GpuKind::kWhole), pod_of(GpuKind::kShared)};
  for (const char* profile : kProfiles) kinds.push_back(pod_of(GpuKind::kMig, profile));
  Placed placed;
  std::uint64_t jobs = 0;
  while (!kinds.empty()) {
    const std::int64_t at = dice.below(std::ssize(kinds));
    const PodShape pod = kinds[static_cast<std::size_t>(at)].groups[0].shape;
    const auto slots = build::start(site, ++jobs, kinds[static_cast<std::size_t>(at)]);
    if (slots.empty()) {
      kinds.erase(kinds.begin() + at);
      continue;
    }
    placed.mask |= slots[0].gpu_mask;
    if (pod.kind == GpuKind::kWhole) ++placed.whole;
    if (pod.kind == GpuKind::kShared) ++placed.shares;
    if (pod.kind == GpuKind::kMig) ++placed.slices[pod.profile];
  }
  site.check_invariants();
  EXPECT_FALSE(over_allocated(site, NodeId(1)));
  return placed;
}

void expect_within(const Judge& judge, const NodeSpec& node, const Placed& placed) {
  const bool cut = !judge.profile().empty();
  EXPECT_LE(placed.whole, cut ? 0 : judge.works(kGpu));
  EXPECT_LE(placed.shares, cut ? 0 : judge.works(kGpu) + judge.works(kShared));
  std::vector<MigSlices> slices;
  for (const auto& [profile, count] : placed.slices) {
    EXPECT_LE(count, judge.slices(profile)) << profile;
    slices.push_back({profile, count});
  }
  const std::int64_t cards = std::popcount(placed.mask) + mig_least_cards(node.product, slices);
  EXPECT_LE(cards, judge.cards());
}

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(NodePlacement, NeverMoreThanTheSmallestStatementAllows) {
  const std::uint64_t first = setting("SUBAK_NODE_SEED", 1), nodes = setting("SUBAK_NODES", 10'000);
  std::uint64_t refused = 0, contradicting = 0, filled = 0;
  for (std::uint64_t seed = first; seed < first + nodes; ++seed) {
    Writer writer(seed);
    Written written = writer.write();
    if (writer.chance(75)) writer.touch(written);
    const std::string json = json_of(written);
    SCOPED_TRACE("SUBAK_NODE_SEED=" + std::to_string(seed) + " " + json);
    const auto read = read_kube_nodes(json);
    if (!read.ok()) {
      EXPECT_TRUE(written.touched) << read.error().message();
      ++refused;
      continue;
    }
    const NodeSpec& node = read->front();
    const Judge judge(written);
    const Placed placed = fill(node, writer);
    EXPECT_TRUE(node.contradicts || !judge.contradicts());
    if (node.contradicts) {
      EXPECT_NE(node.unfit, "");
      EXPECT_GT(node.gpus, 0);
      EXPECT_EQ(placed.units(), 0) << node.unfit;
    }
    expect_within(judge, node, placed);
    if (!written.touched) {
      EXPECT_FALSE(node.contradicts) << node.unfit;
      EXPECT_EQ(placed.units(), written.units);
    }
    if (::testing::Test::HasFailure()) return;
    contradicting += node.contradicts;
    filled += written.touched && placed.units() > 0;
  }
  EXPECT_LE(refused, nodes / 100);
  EXPECT_GE(contradicting, nodes / 4);
  EXPECT_GE(filled, nodes / 20) << "of those with odd statements that do not contradict";
}

}  // namespace
}  // namespace subak
