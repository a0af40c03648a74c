// Small fleets, where every way to put a gang can be tried: a place is found if and only if there is
// one, whatever its pods are, and what explain() says is so. SUBAK_STATES sets how many states (default
// 20,000) from SUBAK_FIRST on.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>

#include "core/text.h"
#include "keeping_fleet.h"
#include "naive_fleet.h"
#include "placement/eligibility.h"
#include "random_world.h"

namespace subak {
namespace {

const ClusterId kHere(1);
constexpr std::uint32_t kMostNodes = 3, kMostPods = 6;

NodeSpec small_node(naive::Dice& dice, std::uint32_t id) {
  NodeSpec s;
  s.name = "n" + std::to_string(id);
  s.gpus = 1 + dice.below(4);
  s.product = dice.chance(60) ? "NVIDIA-H100-80GB-HBM3" : "NVIDIA-A100-SXM4-80GB";
  switch (dice.below(8)) {
    case 0:
    case 1:
      s.product = "NVIDIA-A40";
      s.gpus = 4;
      s.gpus_per_domain = dice.chance(75) ? 2 : 1;
      break;
    case 2:
    case 3:
      s.clique = "c";
      break;
    case 4:
      s.product = "NVIDIA-A100-SXM4-80GB";
      s.mig_gpus = dice.chance(50) ? 1 : s.gpus;
      s.mig = {{"1g.10gb", 1 + dice.below(3)}, {"3g.40gb", 1}};
      break;
    case 5:
      s.product = dice.chance(50) ? "NVIDIA-A10" : "NVIDIA-L40S";
      if (s.product == "NVIDIA-A10") s.replicas = 2;
      break;
    case 6:
      if (dice.chance(50)) s.gpus = 0, s.product = "";
      break;
    default:
      break;
  }
  std::vector<std::string> levels;
  for (std::int64_t k = dice.below(4); k > 0; --k) {
    levels.push_back(dice.chance(20) ? "" : dice.chance(60) ? "r" : "q");
  }
  s.set_levels(levels);
  if (dice.chance(30)) s.cpu_milli = 1000 * (1 + dice.below(6));
  if (dice.chance(10)) s.pod_slots = 1 + dice.below(3);
  s.ready = !dice.chance(5);
  s.unschedulable = dice.chance(5);
  if (dice.chance(5)) s.unfit = "no";
  if (dice.chance(8) && s.gpus > s.mig_gpus) s.unhealthy_gpus = 1;
  return s;
}

PodShape small_pod(naive::Dice& dice) {
  PodShape p;
  const std::int64_t kind = dice.below(100);
  p.kind = kind < 55   ? GpuKind::kWhole
           : kind < 70 ? GpuKind::kFraction
           : kind < 80 ? GpuKind::kMig
           : kind < 90 ? GpuKind::kShared
                       : GpuKind::kNone;
  if (p.kind == GpuKind::kWhole) p.gpus = 1 + dice.below(dice.chance(70) ? 2 : 4);
  if (p.kind == GpuKind::kFraction) p.milligpu = 250 * (1 + dice.below(3));
  if (p.kind == GpuKind::kMig) p.gpus = 1;
  if (p.kind == GpuKind::kMig) p.profile = dice.chance(60) ? "1g.10gb" : "3g.40gb";
  if (p.kind == GpuKind::kShared) p.gpus = 1;
  if (dice.chance(30)) p.cpu_milli = 1000 * (1 + dice.below(3));
  if (p.kind == GpuKind::kWhole && dice.chance(20)) p.products = {"NVIDIA-H100-80GB-HBM3"};
  return p;
}

GangRequest small_request(naive::Dice& dice) {
  GangRequest r;
  const std::size_t groups = dice.chance(50) ? 1 : dice.chance(80) ? 2 : 3;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto most = static_cast<std::int64_t>(kMostPods - r.pods() - (groups - g - 1));
    PodGroup group;
    group.count = static_cast<std::uint32_t>(
        1 + dice.below(g + 1 < groups ? std::min<std::int64_t>(2, most) : most));
    group.shape = small_pod(dice);
    r.groups.push_back(group);
  }
  constexpr Topology kTopologies[] = {Topology::kAny, Topology::kNode, Topology::kNvlink,
                                      Topology::kRack};
  r.topology = kTopologies[dice.chance(40) ? 0 : dice.below(4)];
  r.prefer = dice.chance(10);
  const auto step = static_cast<std::uint32_t>(1 + dice.below(3));
  if (dice.chance(20) && r.pods() % step == 0) r.segment = step;
  r.mixed_products = dice.chance(20);
  const bool plain = groups == 1 && r.groups[0].shape.kind != GpuKind::kMig;
  r.balanced = plain && may_balance(r.topology, r.segment) && dice.chance(50);
  return r;
}

// Tries every assignment of pods to nodes and GPUs.
class Exhaustive {
 public:
  Exhaustive(const naive::Fleet& fleet, const GangRequest& request)
      : fleet_(fleet), request_(request) {
    for (const auto& [id, node] : fleet.nodes) rooms_[id] = fleet.left(id);
    one_product_ = !request.mixed_products && agree_on_products();
  }

  bool possible() {
    return granted() || (request_.prefer && possible(Topology::kAny, request_.pods()));
  }
  // The same, all of one product, whatever its pods name.
  bool possible_of_one() {
    one_product_ = true;
    return possible();
  }
  // Its topology, be it a wish, can be had.
  bool granted() {
    if (request_.balanced) return fewest_parts() > 0;
    const bool segments = request_.segment > 0;
    const Topology topology =
        segments && request_.topology == Topology::kAny ? Topology::kNvlink : request_.topology;
    return possible(topology, segments ? request_.segment : request_.pods());
  }
  // Of a balanced gang: the fewest domains that hold it; 0: none do.
  std::uint32_t fewest_parts() {
    const std::uint32_t unit = std::max(request_.segment, 1u), units = request_.pods() / unit;
    for (std::uint32_t parts = 1; parts <= units; ++parts) {
      if (possible(Topology::kNvlink, unit, parts)) return parts;
    }
    return 0;
  }

 private:
  struct Slot {
    std::uint32_t node = 0;
    std::uint64_t mask = 0;
    auto operator<=>(const Slot&) const = default;
  };

  // Pods that name products which exclude each other take what they name; all others take one.
  bool agree_on_products() const {
    std::vector<std::string> all;
    bool any = true;
    for (const PodGroup& g : request_.groups) {
      if (g.shape.kind == GpuKind::kNone || g.shape.products.empty()) continue;
      if (any) {
        all = g.shape.products;
      } else {
        std::erase_if(all, [&](const std::string& p) {
          return std::find(g.shape.products.begin(), g.shape.products.end(), p) ==
                 g.shape.products.end();
        });
      }
      any = false;
    }
    return any || !all.empty();
  }

  // The places of a pod on a node, each with the domain that it is in.
  void each_slot(std::uint32_t id, const PodShape& pod,
                 const std::function<void(std::uint64_t, const std::string&)>& fn) const {
    const std::size_t gpus = rooms_.at(id).gpu.size();
    const bool part = pod.kind == GpuKind::kFraction || pod.kind == GpuKind::kShared;
    const int bits = pod.kind == GpuKind::kWhole ? static_cast<int>(pod.gpus) : part ? 1 : 0;
    for (std::uint64_t mask = 0; mask < std::uint64_t{1} << gpus; ++mask) {
      if (std::popcount(mask) != bits) continue;
      std::string area = area_of(id, pod, mask);
      if (area != "none") fn(bits == 0 ? naive::kAll : mask, area);
    }
  }
  std::string area_of(std::uint32_t id, const PodShape& pod, std::uint64_t mask) const {
    const bool gpu = pod.kind != GpuKind::kNone;
    if (topology_ == Topology::kNode) return std::to_string(id);
    if (!gpu || topology_ == Topology::kAny) return "";
    if (topology_ == Topology::kRack) return fleet_.rack(id);
    const NodeSpec& spec = fleet_.nodes.at(id).spec;
    if (!naive::joined(spec)) return "none";
    if (pod.kind == GpuKind::kMig || !spec.clique.empty()) return fleet_.clique(id);
    for (const std::uint64_t half : naive::Fleet::inner(spec)) {
      if ((mask & ~half) == 0) return fleet_.clique(id) + "/" + std::to_string(half);
      if ((mask & half) != 0) return "none";
    }
    return fleet_.clique(id);
  }

  // In sets of `size` pods, each together; or in so many parts of whole sets, each in a domain of its own.
  bool possible(Topology topology, std::uint32_t size, std::uint32_t parts = 0) {
    topology_ = topology;
    starts_.clear();
    const std::uint32_t sets = request_.pods() / size;
    apart_ = parts > 0;
    if (parts == 0) parts = sets;
    for (std::uint32_t p = 0, at = 0; p < parts; ++p) {
      starts_.insert(at);
      at += size * (sets / parts + (p < sets % parts ? 1 : 0));
    }
    slots_.assign(request_.pods(), {});
    areas_.clear();
    return put(0, "", "");
  }

  bool put(std::uint32_t rank, const std::string& area, const std::string& product) {
    if (rank == request_.pods()) return true;
    const PodShape& pod = naive::pod_of(request_, rank);
    const bool first = starts_.contains(rank);
    const bool same = !first && naive::pod_of(request_, rank - 1) == pod;
    for (const auto& [id, node] : fleet_.nodes) {
      if (!fleet_.open(id, pod, kHere, JobId())) continue;
      const bool gpu = pod.kind != GpuKind::kNone;
      if (gpu && one_product_ && !product.empty() && product != node.spec.product) continue;
      bool done = false;
      each_slot(id, pod, [&](std::uint64_t mask, const std::string& here) {
        const Slot slot{id, mask};
        if (done || (same && slot < slots_[rank - 1])) return;
        const std::string in = first ? "" : area;
        if (!here.empty() && !in.empty() && here != in) return;
        const bool enters = apart_ && in.empty() && !here.empty();
        if (enters && !areas_.insert(here).second) return;
        naive::Left before = rooms_[id];
        if (fleet_.put(node.spec, rooms_[id], pod, mask)) {
          slots_[rank] = slot;
          done = put(rank + 1, here.empty() ? in : here, gpu ? node.spec.product : product);
        }
        rooms_[id] = std::move(before);
        if (enters) areas_.erase(here);
      });
      if (done) return true;
    }
    return false;
  }

  const naive::Fleet& fleet_;
  const GangRequest& request_;
  std::map<std::uint32_t, naive::Left> rooms_;
  std::vector<Slot> slots_;
  Topology topology_ = Topology::kAny;
  std::set<std::uint32_t> starts_;  // ranks with which a segment, or a part, begins
  bool apart_ = false;              // they are parts:
  std::set<std::string> areas_;     // of those that are placed
  bool one_product_ = true;
};

class SmallWorld {
 public:
  explicit SmallWorld(std::uint64_t seed) : dice_(seed) {
    const auto nodes = static_cast<std::uint32_t>(1 + dice_.below(kMostNodes));
    for (std::uint32_t id = 1; id <= nodes; ++id) {
      const NodeSpec spec = small_node(dice_, id);
      const bool drained = dice_.chance(3);
      fleet_.set_node(NodeId(id), kHere, spec, drained, 0);
      naive::Node& n = naive_.nodes[id];
      n.spec = spec;
      n.cluster = kHere;
      n.present = true;
      n.drained = drained;
    }
    for (std::int64_t i = dice_.below(5); i > 0; --i) hold_one();
  }

  std::uint64_t mixed() const { return mixed_; }    // gangs that got several products
  std::uint64_t parted() const { return parted_; }  // balanced ones that got several domains

  // One question, and the same after each end of what is held.
  void judge() {
    const GangRequest request = small_request(dice_);
    ASSERT_NO_FATAL_FAILURE(judge(request));
    while (end_one()) ASSERT_NO_FATAL_FAILURE(judge(request));
  }

  void judge(const GangRequest& request) {
    const ShapeId shape = fleet_.intern(kHere, request);
    const auto placement = search_.find(Picture(fleet_, kept_), shape, JobId(kHere, 999));
    const bool possible = Exhaustive(naive_, request).possible();
    ASSERT_EQ(placement.has_value(), possible) << describe(request);
    if (placement) {
      GangRequest placed = request;
      const bool granted = Exhaustive(naive_, request).granted();
      if (request.balanced) placed.prefer = !granted;
      ASSERT_EQ(naive_.broken(placed, kHere, JobId(kHere, 999), *placement), "")
          << describe(request);
      if (request.balanced && granted) confirm_parts(request, *placement);
      if (request.mixed_products && naive_.several_products(request, *placement)) {
        GangRequest of_one = request;
        of_one.mixed_products = false;
        of_one.prefer = request.prefer && !granted;
        // Pods whose lists exclude each other are of several anyway.
        ASSERT_FALSE(Exhaustive(naive_, of_one).possible_of_one())
            << "one would do " << describe(request);
        ++mixed_;
      }
      return;
    }
    const auto reasons = search_.explain(Picture(fleet_, kept_), shape, JobId(kHere, 999));
    ASSERT_FALSE(reasons.empty()) << describe(request);
    const bool empty = possible_if(request, /*held=*/false, /*closed=*/false, false);
    ASSERT_EQ(search_.fits_empty_fleet(shape), empty) << describe(request);
    bool structural = false;
    for (const Reason& r : reasons) structural |= confirm(request, r, empty);
    ASSERT_EQ(structural, !empty) << describe(request) << to_text_of(reasons);
  }

 private:
  // As few parts as will do, the larger ones first, each in a domain of its own (naive_.broken).
  void confirm_parts(const GangRequest& request, const Placement& placement) {
    if (request.groups[0].shape.kind == GpuKind::kNone) return;
    GangRequest of_one = request;
    of_one.mixed_products = naive_.several_products(request, placement);
    std::set<std::string> domains;
    for (const PodSlot& slot : placement.slots) domains.insert(naive_.domain(slot));
    EXPECT_EQ(domains.size(), Exhaustive(naive_, of_one).fewest_parts()) << describe(request);
    parted_ += domains.size() > 1 ? 1 : 0;
  }

  // True: it says that the fleet could never hold it.
  bool confirm(const GangRequest& request, const Reason& r, bool empty) {
    const std::string all = describe(request) + to_text_of({&r, 1});
    switch (r.token) {
      case ReasonToken::kExceedsFleet:
      case ReasonToken::kNoMatchingFlavor:
        EXPECT_FALSE(empty) << all;
        return true;
      case ReasonToken::kMigGeometry:
        return r.have == 0 && !empty;
      case ReasonToken::kWaitingForCapacity:
        EXPECT_LT(r.have, r.need) << all;
        EXPECT_FALSE(possible_if(request, true, true, true)) << all;
        return false;
      case ReasonToken::kTopologyPlacementFailed:
        EXPECT_FALSE(possible_if(request, true, true, true)) << all;
        return false;
      case ReasonToken::kNodeResources:
        EXPECT_TRUE(possible_if(request, true, true, true)) << all;
        return false;
      case ReasonToken::kNodeConditions:
        EXPECT_TRUE(possible_if(request, true, false, false)) << all;
        return false;
      default:
        ADD_FAILURE() << "a reason of others: " << all;
        return false;
    }
  }

  // With what is held, where `held`; on nodes that are open, or, where not `closed`, on all; with GPUs
  // as all that counts, where `only_gpus`.
  bool possible_if(const GangRequest& request, bool held, bool closed, bool only_gpus) const {
    naive::Fleet other = naive_;
    for (auto& [id, n] : other.nodes) {
      if (!held) n.held.clear(), n.spec.unhealthy_gpus = 0;
      if (!closed) {
        n.spec.ready = true;
        n.spec.unfit.clear();
        n.spec.unschedulable = n.drained = false;
      }
      if (only_gpus) n.spec.cpu_milli = n.spec.pod_slots = 0;
    }
    return Exhaustive(other, request).possible();
  }

  void hold_one() {
    GangRequest request;
    request.groups.emplace_back();
    request.groups[0].shape = small_pod(dice_);
    const PodShape& pod = request.groups[0].shape;
    const auto id = static_cast<std::uint32_t>(1 + dice_.below(std::ssize(naive_.nodes)));
    naive::Node& n = naive_.nodes[id];
    if (!eligibility::matches(pod, n.spec)) return;
    naive::Left left = naive_.left(id);
    std::uint64_t mask = 0;
    const bool part = pod.kind == GpuKind::kFraction || pod.kind == GpuKind::kShared;
    const std::int64_t bits = pod.kind == GpuKind::kWhole ? pod.gpus : part ? 1 : 0;
    if (bits > std::ssize(left.gpu)) return;
    while (std::popcount(mask) < bits)
      mask |= std::uint64_t{1} << dice_.below(std::ssize(left.gpu));
    if (!naive_.put(n.spec, left, pod, bits == 0 ? naive::kAll : mask)) return;
    const JobId job(kHere, ++jobs_);
    const PodSlot slot{NodeId(id), mask, naive::cost(n.spec, pod)};
    const ShapeId shape = fleet_.intern(kHere, request);
    n.held.push_back({shape, 0, slot, job, pod, {}, ""});
    fleet_.take(shape, 0, slot, job, 0);
  }

  bool end_one() {
    for (auto& [id, n] : naive_.nodes) {
      if (n.held.empty()) continue;
      const naive::Held h = n.held.back();
      n.held.pop_back();
      fleet_.give(h.shape, h.rank, h.slot, h.owner, 0);
      return true;
    }
    return false;
  }

  static std::string to_text_of(std::span<const Reason> reasons) {
    std::string text;
    for (const Reason& r : reasons) {
      text += "\n  says " + std::string(enum_name(r.token)) + " " + r.subject + " need " +
              std::to_string(r.need) + " have " + std::to_string(r.have) + ": " + r.detail;
    }
    return text;
  }
  std::string describe(const GangRequest& request) const {
    std::string text = to_text(request);
    for (const auto& [id, n] : naive_.nodes) {
      text += "\n  node " + to_text(n.spec) + (n.drained ? " drained" : "");
      for (const naive::Held& h : n.held) {
        text += "\n    held " + to_text(h.pod) + " gpu_mask=" + std::to_string(h.slot.gpu_mask);
      }
    }
    return text;
  }

  naive::Dice dice_;
  KeepingFleet fleet_;
  KeptNodes kept_;
  Search search_{fleet_};
  naive::Fleet naive_;
  std::uint64_t jobs_ = 0, mixed_ = 0, parted_ = 0;
};

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(Exhaustive, FindsAPlaceIfThereIsOne) {
  const std::uint64_t first = setting("SUBAK_FIRST", 1), states = setting("SUBAK_STATES", 20'000);
  std::uint64_t mixed = 0, parted = 0;
  for (std::uint64_t seed = first; seed < first + states; ++seed) {
    SCOPED_TRACE("SUBAK_FIRST=" + std::to_string(seed));
    SmallWorld world(seed);
    ASSERT_NO_FATAL_FAILURE(world.judge());
    if (::testing::Test::HasFailure()) return;
    mixed += world.mixed();
    parted += world.parted();
  }
  EXPECT_GE(mixed, states / 500);
  EXPECT_GE(parted, states / 500);
}

}  // namespace
}  // namespace subak
