// Where gangs land on split boxes, HGX boards and NVL72 racks while they come and go: none that asks for
// NVLink crosses a domain, none has two GPU products unless it may, each segment holds consecutive ranks.
// SUBAK_PLACEMENTS sets how many places are looked at (default 100,000; `make soak`: 10^6).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "builders.h"
#include "tests/placement/oracle/naive_fleet.h"
#include "tests/placement/oracle/random_world.h"

namespace subak {
namespace {

constexpr std::int64_t kHalf = 4;  // GPUs of a split box that NVLink joins

NodeSpec machine(std::uint32_t id) {
  NodeSpec s = build::node(id, 8);
  if (id < 6) {
    s.product = "NVIDIA-A40";
    s.gpus_per_domain = kHalf;
  } else if (id < 12) {
    s.product = "NVIDIA-A100-SXM4-80GB";
  } else if (id >= 18) {
    s.product = "NVIDIA-GB200";
    s.gpus = 4;
    s.clique = id < 36 ? "a.0" : "b.0";
  }
  s.levels = {"r" + std::to_string(id / 6)};
  s.extended = {{"rdma/hca", 64}};
  if (id % 18 >= 6) s.fabric = id % 4 == 0 ? "a" : "b";
  return s;
}

GangRequest request(naive::Dice& dice) {
  constexpr Topology kTopologies[] = {Topology::kAny, Topology::kNode, Topology::kNvlink,
                                      Topology::kNvlinkExclusive, Topology::kRack};
  const auto pods = static_cast<std::uint32_t>(1 + dice.below(dice.chance(60) ? 4 : 18));
  GangRequest r =
      build::gang(pods, 1 + dice.below(dice.chance(50) ? 2 : 8), kTopologies[dice.below(5)]);
  const auto size = static_cast<std::uint32_t>(1 + dice.below(4));
  if (dice.chance(40) && pods % size == 0) r.terms.segment = size;
  if (dice.chance(20)) r.groups[0].shape.products = {"NVIDIA-A40", "NVIDIA-GB200"};
  if (dice.chance(20))
    r.groups.insert(r.groups.begin(),
                    build::gang(r.terms.segment ? r.terms.segment : 1, 2).groups[0]);
  if (dice.chance(30)) {
    for (PodGroup& group : r.groups) group.shape.extended = {{"rdma/hca", 1}};
  }
  r.terms.mixed_products = dice.chance(20);
  r.terms.compute_domain = dice.chance(30);
  r.terms.balanced = may_balance(r.terms.topology, r.terms.segment) && dice.chance(50);
  if (may_spare(r.terms.topology, r.terms.segment) && dice.chance(40)) {
    r.terms.spare = static_cast<std::uint32_t>(1 + dice.below(3));
  }
  return r;
}

// What NVLink joins the GPUs of the slot with; "" if they are of more than one half.
std::string domain_of(const NodeSpec& node, const PodSlot& slot) {
  if (!node.clique.empty()) return node.clique;
  if (node.gpus_per_domain == 0) return node.name;
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << kHalf) - 1;
  const bool first = (slot.gpu_mask & kFirst) != 0, second = (slot.gpu_mask & ~kFirst) != 0;
  return first && second ? "" : node.name + (first ? "/0" : "/1");
}

class Purity {
 public:
  explicit Purity(std::uint64_t seed) : dice_{seed} {
    for (std::uint32_t id = 0; id < 54; ++id) build::add(site_, id + 1, machine(id));
    keep_whole_ = static_cast<std::size_t>(seed % 3);
    clique_gangs_ = 1 + static_cast<std::size_t>(seed % 2);
    site_.set_domain_rules(
        {static_cast<std::uint32_t>(keep_whole_), static_cast<std::uint32_t>(clique_gangs_)});
  }

  int joined() const { return joined_; }  // segments of several pods that NVLink had to join
  int halves() const { return halves_; }  // of these on half of a split box
  int mixed() const { return mixed_; }    // gangs of several products
  int rdma() const { return rdma_; }      // gangs on several nodes, of one fabric
  int any_fabric() const { return any_fabric_; }  // gangs on several fabrics
  int balanced() const { return balanced_; }      // in several parts
  int spared() const { return spared_; }          // racks with nodes that were kept
  int computing() const { return computing_; }    // racks that were looked at with a ComputeDomain
  int whole() const { return whole_; }            // starts beside racks that were left to gangs

  // True: it found a place, which was looked at.
  bool step() {
    const GangRequest r = request(dice_);
    const std::set<std::string> left = left_racks();
    const std::vector<PodSlot> slots = build::start(site_, ++jobs_, r);
    if (slots.empty()) {
      stop_one();
      return false;
    }
    look(r, slots);
    look_at_left(r, slots, left);
    held_.push_back({jobs_, r, slots});
    look_at_spares();
    look_at_computing();
    if (held_.size() > 60 || dice_.chance(45)) stop_one();
    return true;
  }

 private:
  struct Held {
    std::uint64_t job;
    GangRequest request;
    std::vector<PodSlot> slots;
  };

  const NodeSpec& node_of(const PodSlot& slot) const { return *site_.node(slot.node); }

  void look(const GangRequest& r, const std::vector<PodSlot>& slots) {
    ASSERT_EQ(slots.size(), r.pods());
    std::set<std::string> products;
    for (const PodSlot& slot : slots) products.insert(node_of(slot).product);
    EXPECT_TRUE(products.size() == 1 || r.terms.mixed_products) << to_text(r);
    mixed_ += products.size() > 1 ? 1 : 0;
    std::set<std::string> fabrics, nodes;
    for (const PodSlot& slot : slots) fabrics.insert(node_of(slot).fabric);
    for (const PodSlot& slot : slots) nodes.insert(node_of(slot).name);
    const bool rdma = asks_rdma(r.groups[0].shape);
    EXPECT_TRUE(fabrics.size() == 1 || !rdma) << to_text(r);
    rdma_ += rdma && nodes.size() > 1 ? 1 : 0;
    any_fabric_ += fabrics.size() > 1 ? 1 : 0;
    if (r.terms.balanced) look_at_parts(r, slots);
    if (r.terms.balanced && r.terms.segment == 0) return;
    const std::size_t size = r.terms.segment > 0 ? r.terms.segment : slots.size();
    for (std::size_t from = 0; from < slots.size(); from += size) {
      look_at_segment(r, {slots.begin() + static_cast<std::ptrdiff_t>(from),
                          slots.begin() + static_cast<std::ptrdiff_t>(from + size)});
    }
  }

  // Of gangs with a ComputeDomain as many as may are in a rack, and one on a node.
  void look_at_computing() {
    std::map<std::string, std::set<std::uint64_t>> on, in;
    for (const Held& h : held_) {
      for (const PodSlot& slot : h.slots) {
        const NodeSpec& node = node_of(slot);
        if (!h.request.terms.compute_domain) continue;
        on[node.name].insert(h.job);
        if (!node.clique.empty()) in[node.clique].insert(h.job);
      }
    }
    for (const auto& [name, jobs] : on) EXPECT_EQ(jobs.size(), 1u) << name;
    for (const auto& [rack, jobs] : in) EXPECT_LE(jobs.size(), clique_gangs_) << rack;
    computing_ += static_cast<int>(in.size());
  }

  // The racks that nothing is in, the last first: as many as the rule says.
  std::set<std::string> left_racks() const {
    std::set<std::string> empty{"a.0", "b.0"};
    for (const Held& h : held_) {
      for (const PodSlot& slot : h.slots) empty.erase(node_of(slot).clique);
    }
    while (empty.size() > keep_whole_) empty.erase(empty.begin());
    return empty;
  }

  // Only who needs several nodes that NVLink joins may be there.
  void look_at_left(const GangRequest& r, const std::vector<PodSlot>& slots,
                    const std::set<std::string>& left) {
    std::int64_t most = 0;
    const std::uint32_t size = r.terms.segment > 0 ? r.terms.segment : r.pods();
    for (std::uint32_t first = 0; first < r.pods(); first += size) {
      std::int64_t gpus = 0;
      for (std::uint32_t k = first; k < first + size; ++k) gpus += naive::pod_of(r, k).gpus;
      most = std::max(most, gpus);
    }
    if (naive::asks_nvlink(r) && most > 4) return;
    for (const PodSlot& slot : slots) {
      EXPECT_FALSE(left.contains(node_of(slot).clique)) << to_text(r) << " breaks into a rack";
    }
    whole_ += left.empty() ? 0 : 1;
  }

  // Whoever came, each gang has of each rack that it is in as many nodes left as it asked for.
  void look_at_spares() {
    std::map<std::string, std::size_t> wanted;
    std::set<std::string> used;
    for (const Held& h : held_) {
      std::set<std::string> racks;
      for (const PodSlot& slot : h.slots) {
        const NodeSpec& node = node_of(slot);
        used.insert(node.name);
        if (!node.clique.empty()) racks.insert(node.clique);
      }
      for (const std::string& rack : racks) wanted[rack] += h.request.terms.spare;
    }
    for (const auto& [rack, nodes] : wanted) {
      std::size_t free = 0;
      for (std::uint32_t id = 0; id < 54; ++id) {
        const NodeSpec& node = *site_.node(NodeId(id + 1));
        free += node.clique == rack && !used.contains(node.name) ? 1 : 0;
      }
      EXPECT_GE(free, nodes) << rack;
      spared_ += nodes > 0 ? 1 : 0;
    }
  }

  // Each in a domain of its own, as even as whole segments allow.
  void look_at_parts(const GangRequest& r, const std::vector<PodSlot>& slots) {
    std::vector<std::size_t> sizes;
    std::set<std::string> domains;
    std::string before;
    for (const PodSlot& slot : slots) {
      const std::string here = domain_of(node_of(slot), slot);
      EXPECT_NE(here, "") << to_text(r) << " crosses halves";
      if (here != before) {
        EXPECT_TRUE(domains.insert(here).second) << to_text(r) << " comes back to " << here;
        sizes.push_back(0);
      }
      ++sizes.back();
      before = here;
    }
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LE(*most - *least, std::max(r.terms.segment, 1u)) << to_text(r);
    balanced_ += sizes.size() > 1 ? 1 : 0;
  }

  void look_at_segment(const GangRequest& r, const std::vector<PodSlot>& slots) {
    std::set<std::string> nodes, domains, racks;
    for (const PodSlot& slot : slots) {
      const NodeSpec& node = node_of(slot);
      nodes.insert(node.name);
      domains.insert(domain_of(node, slot));
      racks.insert(node.clique.empty() ? node.level(0) : node.clique);
    }
    const bool nvlink = r.terms.topology == Topology::kNvlink ||
                        r.terms.topology == Topology::kNvlinkExclusive ||
                        (r.terms.topology == Topology::kAny && r.terms.segment > 0);
    if (nvlink) {
      joined_ += slots.size() > 1 ? 1 : 0;
      halves_ += slots.size() > 1 && node_of(slots[0]).gpus_per_domain > 0 ? 1 : 0;
      EXPECT_EQ(domains.size(), 1u) << to_text(r);
      EXPECT_FALSE(domains.contains(""))
          << to_text(r) << " crosses the halves of " << *nodes.begin();
    }
    EXPECT_TRUE(r.terms.topology != Topology::kNode || nodes.size() == 1) << to_text(r);
    EXPECT_TRUE(r.terms.topology != Topology::kRack || racks.size() == 1) << to_text(r);
  }

  void stop_one() {
    if (held_.empty()) return;
    const auto at = held_.begin() + dice_.below(std::ssize(held_));
    build::stop(site_, at->job, at->request, at->slots);
    held_.erase(at);
  }

  naive::Dice dice_;
  build::Site site_;
  std::vector<Held> held_;
  std::uint64_t jobs_ = 0;
  int joined_ = 0, halves_ = 0, mixed_ = 0, balanced_ = 0, spared_ = 0, whole_ = 0;
  int computing_ = 0, rdma_ = 0, any_fabric_ = 0;
  std::size_t keep_whole_ = 0, clique_gangs_ = 0;
};

TEST(Purity, NoGangCrossesADomain) {
  const char* const text = std::getenv("SUBAK_PLACEMENTS");
  const int wanted = text != nullptr ? std::atoi(text) : 100'000;
  int placed = 0, joined = 0, halves = 0, mixed = 0, balanced = 0, spared = 0, whole = 0;
  int computing = 0, rdma = 0, any_fabric = 0;
  for (std::uint64_t seed = 1; placed < wanted; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Purity world(seed);
    int here = 0;
    for (int i = 0; i < 400; ++i) here += world.step() ? 1 : 0;
    ASSERT_GT(here, 50) << "the world is full";
    if (::testing::Test::HasFailure()) return;
    placed += here;
    joined += world.joined();
    halves += world.halves();
    mixed += world.mixed();
    balanced += world.balanced();
    spared += world.spared();
    whole += world.whole();
    computing += world.computing();
    rdma += world.rdma();
    any_fabric += world.any_fabric();
  }
  EXPECT_GT(joined, placed / 10);
  EXPECT_GT(halves, placed / 100);
  EXPECT_GT(mixed, placed / 1000);
  EXPECT_GT(balanced, placed / 100);
  EXPECT_GT(spared, placed / 10);
  EXPECT_GT(whole, placed / 20);
  EXPECT_GT(computing, placed / 10);
  EXPECT_GT(rdma, placed / 100);
  EXPECT_GT(any_fabric, placed / 100);
}

}  // namespace
}  // namespace subak
