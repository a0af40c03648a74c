// Small fleets, where every way to put a gang can be tried: a place is found if and only if there is
// one, whatever its pods are, and what explain() says is so. SUBAK_STATES sets how many states (default
// 20,000) from SUBAK_FIRST on.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <string>

#include "core/text.h"
#include "naive_fleet.h"
#include "placement/gpus/eligibility.h"
#include "random_world.h"
#include "tests/placement/every_way.h"
#include "tests/placement/keeping_fleet.h"

namespace subak {
namespace {

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
  r.terms.topology = kTopologies[dice.chance(40) ? 0 : dice.below(4)];
  r.terms.prefer = dice.chance(10);
  const auto step = static_cast<std::uint32_t>(1 + dice.below(3));
  if (dice.chance(20) && r.pods() % step == 0) r.terms.segment = step;
  r.terms.mixed_products = dice.chance(20);
  r.terms.compute_domain = dice.chance(30);
  const bool plain = groups == 1 && r.groups[0].shape.kind != GpuKind::kMig;
  r.terms.balanced = plain && may_balance(r.terms.topology, r.terms.segment) && dice.chance(50);
  if (may_spare(r.terms.topology, r.terms.segment) && dice.chance(40)) {
    r.terms.spare = static_cast<std::uint32_t>(1 + dice.below(2));
  }
  return r;
}

// Of segments that share nodes one after the other may break into more than it need.
bool may_miss(const GangRequest& r) { return r.terms.spare > 0 && r.terms.segment > 0; }

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
    naive_.keep_whole = dice_.chance(40) ? 1 : 0;
    naive_.clique_gangs = static_cast<std::uint32_t>(dice_.below(3));
    fleet_.set_domain_rules({naive_.keep_whole, naive_.clique_gangs});
    if (seed % 4 == 0) set_headroom(seed);
  }

  std::uint64_t mixed() const { return mixed_; }        // gangs that got several products
  std::uint64_t parted() const { return parted_; }      // balanced ones that got several domains
  std::uint64_t spared() const { return spared_; }      // that left nodes to spare
  std::uint64_t headroom() const { return headroom_; }  // that something kept was in the way of
  std::uint64_t clashes() const { return clashes_; }    // that a ComputeDomain was in the way of
  std::uint64_t refused() const { return refused_; }    // that a clique was not broken into for

  // One question, and the same after each end of what is held.
  void judge() {
    GangRequest request = small_request(dice_);
    if (naive_.headroom.any()) add_launcher(request);
    ASSERT_NO_FATAL_FAILURE(judge(request));
    while (end_one()) ASSERT_NO_FATAL_FAILURE(judge(request));
  }

  void judge(const GangRequest& request) {
    naive_.ask(request);
    fleet_.check_invariants();
    const ShapeId shape = fleet_.intern(kHere, request);
    const auto placement = search_.find(FleetView(fleet_, kept_), shape, JobId(kHere, 999));
    const bool possible = EveryWay(naive_, request).possible();
    if (!placement && possible && may_miss(request)) return;
    ASSERT_EQ(placement.has_value(), possible) << describe(request);
    if (placement) {
      GangRequest placed = request;
      const bool granted = EveryWay(naive_, request).granted();
      if (request.terms.balanced || request.terms.spare > 0) placed.terms.prefer = !granted;
      if (request.terms.prefer && request.terms.spare > 0 &&
          !granted) {  // the naive fleet knows of no spares
        placed.terms.topology = Topology::kAny;
        placed.terms.segment = 0;
        placed.terms.prefer = placed.terms.balanced = false;
      }
      if (request.terms.spare > 0 && granted) confirm_spares(request, *placement);
      ASSERT_EQ(naive_.broken(placed, kHere, JobId(kHere, 999), *placement), "")
          << describe(request);
      if (request.terms.balanced && granted) confirm_parts(request, *placement);
      if (request.terms.mixed_products && naive_.several_products(request, *placement)) {
        GangRequest of_one = request;
        of_one.terms.mixed_products = false;
        of_one.terms.prefer = request.terms.prefer && !granted;
        // Pods whose lists exclude each other are of several anyway.
        ASSERT_FALSE(EveryWay(naive_, of_one).possible_of_one())
            << "one would do " << describe(request);
        ++mixed_;
      }
      return;
    }
    const auto reasons = search_.explain(FleetView(fleet_, kept_), shape, JobId(kHere, 999));
    ASSERT_FALSE(reasons.empty()) << describe(request);
    if (naive_.headroom.any()) confirm_headroom(request, reasons);
    const bool empty = possible_if(request, /*held=*/false, /*closed=*/false, false);
    if (empty && may_miss(request) && !search_.fits_empty_fleet(shape)) return;
    ASSERT_EQ(search_.fits_empty_fleet(shape), empty) << describe(request);
    bool structural = false;
    const bool by_rule = possible_if_left_to_nobody(request);
    if (by_rule && may_miss(request)) return;
    ASSERT_EQ(by_rule, reasons[0].token == ReasonToken::kReservedForOther)
        << describe(request) << to_text_of(reasons);
    for (const Reason& r : reasons) structural |= confirm(request, r, empty);
    ASSERT_EQ(structural, !empty) << describe(request) << to_text_of(reasons);
  }

 private:
  // Nodes that work are left, if they can be.
  void confirm_spares(const GangRequest& request, const Placement& placement) {
    EveryWay all(naive_, request);
    const bool working = request.terms.segment == 0 && all.granted_with_spares();
    const bool left = all.leaves_spares(placement.slots, /*spent=*/!working);
    if (!request.terms.prefer || request.terms.segment == 0) {
      EXPECT_TRUE(left) << describe(request);
    }
    spared_ += left ? 1 : 0;
  }
  // As few parts as will do, the larger ones first, each in a domain of its own (naive_.broken).
  void confirm_parts(const GangRequest& request, const Placement& placement) {
    if (request.groups[0].shape.kind == GpuKind::kNone) return;
    GangRequest of_one = request;
    of_one.terms.mixed_products = naive_.several_products(request, placement);
    std::set<std::string> domains;
    for (const PodSlot& slot : placement.slots) domains.insert(naive_.domain(slot));
    EveryWay ways(naive_, of_one);
    (void)ways.granted();  // with the nodes to spare that there are
    const bool other_spares = request.terms.spare > 0 && request.terms.mixed_products;
    if (!other_spares) {
      EXPECT_EQ(domains.size(), ways.fewest_parts()) << describe(request);
    }
    parted_ += domains.size() > 1 ? 1 : 0;
  }

  // Where what is kept beside GPUs is all that is in the way, a reason says so.
  void confirm_headroom(const GangRequest& request, const std::vector<Reason>& reasons) {
    naive::Fleet other = naive_;
    other.headroom = {};
    if (request.terms.spare > 0 || !EveryWay(other, request).possible()) return;
    ++headroom_;
    EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(),
                            [](const Reason& r) {
                              return r.token == ReasonToken::kNodeResources &&
                                     r.detail.find("PerGpu") != std::string::npos;
                            }))
        << describe(request) << to_text_of(reasons);
  }

  // Of dice of their own, so that other worlds are what they were: something is kept, nodes say what CPU and
  // memory they have, and the gang has a launcher.
  void set_headroom(std::uint64_t seed) {
    launcher_dice_ = naive::Dice(seed * 7919);
    for (auto& [id, n] : naive_.nodes) {
      if (launcher_dice_.chance(70)) n.spec.cpu_milli = 1000 * (1 + launcher_dice_.below(8));
      if (launcher_dice_.chance(30)) n.spec.memory_bytes = 1 + launcher_dice_.below(8);
      fleet_.set_node(NodeId(id), kHere, n.spec, n.drained, 0);
    }
    naive_.headroom.cpu_milli = 1000 * (1 + launcher_dice_.below(3));
    if (launcher_dice_.chance(30)) naive_.headroom.memory_bytes = 1 + launcher_dice_.below(2);
    fleet_.set_gpu_headroom(naive_.headroom);
  }
  void add_launcher(GangRequest& request) {
    if (request.pods() >= kMostPods || request.terms.balanced || launcher_dice_.chance(30)) return;
    PodGroup launcher;
    launcher.count = 1;
    launcher.shape.cpu_milli = 1000 * launcher_dice_.below(4);
    launcher.shape.memory_bytes = launcher_dice_.below(3);
    const bool first = launcher_dice_.chance(60);
    request.groups.insert(first ? request.groups.begin() : request.groups.end(), launcher);
    if (request.terms.segment > 0 && request.pods() % request.terms.segment != 0)
      request.terms.segment = 0;
    if (!may_spare(request.terms.topology, request.terms.segment)) request.terms.spare = 0;
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
        EXPECT_TRUE(may_miss(request) || !possible_if(request, true, true, true)) << all;
        return false;
      case ReasonToken::kTopologyPlacementFailed:
        if (r.subject == "compute-domain") {
          EXPECT_TRUE(possible_if_together(request)) << all;
          EXPECT_FALSE(r.blockers.empty()) << all;
          ++clashes_;
          return false;
        }
        EXPECT_TRUE(may_miss(request) || !possible_if_together(request)) << all;
        EXPECT_TRUE(may_miss(request) || !possible_if(request, true, true, true)) << all;
        return false;
      case ReasonToken::kReservedForOther:
        EXPECT_TRUE(possible_if_left_to_nobody(request)) << all;
        EXPECT_NE(r.detail.find("1 empty NVLink domain that keepWhole leaves to gangs"),
                  std::string::npos)
            << all;
        ++refused_;
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
    if (!held) other.headroom = {};
    for (auto& [id, n] : other.nodes) {
      if (!held) n.held.clear(), n.spec.unhealthy_gpus = 0, other.leave_nothing();
      if (!closed) {
        n.spec.ready = true;
        n.spec.unfit.clear();
        n.spec.unschedulable = n.drained = false;
      }
      if (only_gpus) n.spec.cpu_milli = n.spec.memory_bytes = n.spec.pod_slots = 0;
    }
    return EveryWay(other, request).possible();
  }

  bool possible_if_left_to_nobody(const GangRequest& request) const {
    naive::Fleet other = naive_;
    other.leave_nothing();
    return EveryWay(other, request).possible();
  }

  // Where gangs with a ComputeDomain may be beside others.
  bool possible_if_together(const GangRequest& request) const {
    naive::Fleet other = naive_;
    other.compute_together();
    return EveryWay(other, request).possible();
  }

  void hold_one() {
    GangRequest request;
    request.groups.emplace_back();
    request.groups[0].shape = small_pod(dice_);
    request.terms.compute_domain = dice_.chance(30);
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
    n.held.push_back({shape, 0, slot, job, pod, {}, "", request.terms.compute_domain});
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
    std::string text = to_text(request) + " beside " + std::to_string(naive_.headroom.cpu_milli) +
                       "/" + std::to_string(naive_.headroom.memory_bytes);
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
  ReservedNodes kept_;
  Search search_{fleet_};
  naive::Fleet naive_;
  naive::Dice launcher_dice_{0};
  std::uint64_t jobs_ = 0, mixed_ = 0, parted_ = 0, spared_ = 0, headroom_ = 0, refused_ = 0,
                clashes_ = 0;
};

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(Exhaustive, FindsAPlaceIfThereIsOne) {
  const std::uint64_t first = setting("SUBAK_FIRST", 1), states = setting("SUBAK_STATES", 20'000);
  std::uint64_t mixed = 0, parted = 0, spared = 0, headroom = 0, refused = 0, clashes = 0;
  for (std::uint64_t seed = first; seed < first + states; ++seed) {
    SCOPED_TRACE("SUBAK_FIRST=" + std::to_string(seed));
    SmallWorld world(seed);
    ASSERT_NO_FATAL_FAILURE(world.judge());
    if (::testing::Test::HasFailure()) return;
    mixed += world.mixed();
    parted += world.parted();
    spared += world.spared();
    headroom += world.headroom();
    refused += world.refused();
    clashes += world.clashes();
  }
  EXPECT_GE(mixed, states / 500);
  EXPECT_GE(parted, states / 500);
  EXPECT_GE(spared, states / 500);
  EXPECT_GE(headroom, states / 500);
  EXPECT_GE(refused, states / 500);
  EXPECT_GE(clashes, states / 500);
}

}  // namespace
}  // namespace subak
