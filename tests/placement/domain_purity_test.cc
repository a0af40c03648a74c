// Where gangs with a ComputeDomain of Kubernetes land on NVL72 racks while they come and go, beside
// gangs without one. Such a pod asks for the channel of its node, as kube/pod.h reads it.
// SUBAK_PLACEMENTS sets how many places are looked at (default 100,000; `make soak`: 10^6).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "builders.h"
#include "kube/domain/domain_objects.h"
#include "tests/placement/oracle/naive_fleet.h"
#include "tests/placement/oracle/random_world.h"

namespace subak {
namespace {

// Racks of 20, 18 and 9 trays. Every seventh tray has no driver, and so offers no channel.
NodeSpec tray(std::uint32_t id) {
  NodeSpec s = build::node(id, 4);
  s.product = "NVIDIA-GB200";
  s.clique = id < 20 ? "a.0" : id < 38 ? "b.0" : "c.0";
  if (id % 7 != 0) s.extended = {{std::string(names::kChannel), 1}};
  return s;
}
constexpr std::uint32_t kTrays = 47;

GangRequest request(naive::Dice& dice) {
  const bool computes = dice.chance(60);
  const auto most = static_cast<std::int64_t>(computes ? kMaxDomainNodes : 6);
  const auto pods = static_cast<std::uint32_t>(1 + dice.below(dice.chance(70) ? 5 : most));
  GangRequest r = build::gang(pods, 1 + dice.below(4));
  if (!computes) return r;
  r.terms.compute_domain = true;
  r.terms.topology = dice.chance(25) ? Topology::kNvlinkExclusive : Topology::kNvlink;
  r.terms.prefer = dice.chance(25);
  r.groups[0].shape.extended = {{std::string(names::kChannel), 1}};
  return r;
}

class DomainWorld {
 public:
  explicit DomainWorld(std::uint64_t seed) : dice_{seed} {
    for (std::uint32_t id = 0; id < kTrays; ++id) build::add(site_, id + 1, tray(id));
    site_.set_domain_rules({0, 1});
  }

  int computing() const { return computing_; }  // gangs that were looked at
  int several() const { return several_; }      // of these on several nodes
  int crossing() const { return crossing_; }    // of these over several cliques, by their wish

  // True: it found a place, which was looked at.
  bool step() {
    const GangRequest r = request(dice_);
    const std::vector<PodSlot> slots = build::start(site_, ++jobs_, r);
    if (slots.empty()) {
      stop_one();
      return false;
    }
    if (r.terms.compute_domain) look(r, slots);
    held_.push_back({jobs_, r, slots});
    look_at_nodes();
    if (held_.size() > 12 || dice_.chance(40)) stop_one();
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
    std::set<std::string> nodes, cliques;
    for (const PodSlot& slot : slots) {
      const NodeSpec& node = node_of(slot);
      EXPECT_FALSE(node.extended.empty()) << node.name << " has no driver";
      EXPECT_TRUE(nodes.insert(node.name).second) << "two pods on " << node.name;
      cliques.insert(node.clique);
    }
    EXPECT_LE(nodes.size(), kMaxDomainNodes);
    EXPECT_TRUE(cliques.size() == 1 || r.terms.prefer) << to_text(r);
    ++computing_;
    several_ += nodes.size() > 1 ? 1 : 0;
    crossing_ += cliques.size() > 1 ? 1 : 0;
  }

  // One ComputeDomain on a node, and one in a clique.
  void look_at_nodes() {
    std::map<std::string, std::set<std::uint64_t>> on, in;
    for (const Held& held : held_) {
      if (!held.request.terms.compute_domain) continue;
      for (const PodSlot& slot : held.slots) {
        on[node_of(slot).name].insert(held.job);
        in[node_of(slot).clique].insert(held.job);
      }
    }
    for (const auto& [name, jobs] : on) EXPECT_EQ(jobs.size(), 1u) << name;
    for (const auto& [clique, jobs] : in) EXPECT_EQ(jobs.size(), 1u) << clique;
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
  int computing_ = 0, several_ = 0, crossing_ = 0;
};

TEST(DomainPurity, EachComputeDomainIsOneTheDriverCanHave) {
  const char* const text = std::getenv("SUBAK_PLACEMENTS");
  const int wanted = text != nullptr ? std::atoi(text) : 100'000;
  int placed = 0, computing = 0, several = 0, crossing = 0;
  for (std::uint64_t seed = 1; placed < wanted; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DomainWorld world(seed);
    int here = 0;
    for (int i = 0; i < 400; ++i) here += world.step() ? 1 : 0;
    ASSERT_GT(here, 50) << "the world is full";
    if (::testing::Test::HasFailure()) return;
    placed += here;
    computing += world.computing();
    several += world.several();
    crossing += world.crossing();
  }
  EXPECT_GT(computing, placed / 10);
  EXPECT_GT(several, placed / 20);
  EXPECT_GT(crossing, 0);
}

}  // namespace
}  // namespace subak
