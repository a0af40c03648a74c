// Where pods with MIG slices land while they come and go, beside pods with whole GPUs. All slices of
// a pod are on one node, and no node gives more slices of a profile than it has.
// SUBAK_PLACEMENTS sets how many places are looked at (default 100,000; `make soak`: 10^6).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "builders.h"
#include "model/mig.h"
#include "tests/placement/oracle/random_world.h"

namespace subak {
namespace {

constexpr std::uint32_t kNodes = 24;
constexpr std::array kProfiles{"1g.10gb", "2g.20gb", "3g.40gb"};

// Whole cards, cut cards, or some of each.
NodeSpec machine(std::uint32_t id) {
  NodeSpec s = build::node(id, 8);
  s.mig_gpus = std::array<std::int64_t, 3>{0, 2, 8}.at(id % 3);
  if (s.mig_gpus > 0) {
    s.mig = {{kProfiles[0], 3 * s.mig_gpus}, {kProfiles[1], s.mig_gpus}, {kProfiles[2], 1}};
  }
  return s;
}

GangRequest request(naive::Dice& dice) {
  GangRequest r = build::gang(static_cast<std::uint32_t>(1 + dice.below(4)), 1 + dice.below(8));
  if (dice.chance(30)) return r;
  PodShape& shape = r.groups[0].shape;
  shape.kind = GpuKind::kMig;
  shape.profile = kProfiles.at(static_cast<std::size_t>(dice.below(3)));
  return r;
}

class MigWorld {
 public:
  explicit MigWorld(std::uint64_t seed) : dice_{seed} {
    for (std::uint32_t id = 0; id < kNodes; ++id) build::add(site_, id + 1, machine(id));
  }
  int several() const { return several_; }  // pods with several slices

  // True: it found a place, which was looked at.
  bool step() {
    const GangRequest r = request(dice_);
    const std::vector<PodSlot> slots = build::start(site_, ++jobs_, r);
    if (!slots.empty()) {
      look(r, slots);
      held_.push_back({jobs_, r, slots});
    }
    if (slots.empty() || dice_.chance(40)) stop_one();
    return !slots.empty();
  }

 private:
  struct Held {
    std::uint64_t job;
    GangRequest request;
    std::vector<PodSlot> slots;
  };

  void look(const GangRequest& r, const std::vector<PodSlot>& slots) {
    ASSERT_EQ(slots.size(), r.pods());
    const PodShape& shape = r.groups[0].shape;
    for (const PodSlot& slot : slots) {
      const NodeSpec& node = *site_.node(slot.node);
      const bool mig = shape.kind == GpuKind::kMig;
      const MilliGpu each = mig ? *mig_slice_milligpu(node.product, shape.profile) : kMilliPerGpu;
      EXPECT_EQ(slot.milligpu, each * shape.gpus) << "not all of the pod is on " << node.name;
      std::int64_t& used = used_[{node.name, mig ? shape.profile : ""}];
      used += shape.gpus;
      EXPECT_LE(used, mig ? slices_of(node, shape.profile) : node.gpus - node.mig_gpus)
          << node.name << " " << shape.profile;
      several_ += mig && shape.gpus > 1 ? 1 : 0;
    }
  }

  static std::int64_t slices_of(const NodeSpec& node, const std::string& profile) {
    for (const MigSlices& one : node.mig) {
      if (one.profile == profile) return one.count;
    }
    return 0;
  }

  void stop_one() {
    if (held_.empty()) return;
    const auto at = held_.begin() + dice_.below(std::ssize(held_));
    const PodShape& shape = at->request.groups[0].shape;
    for (const PodSlot& slot : at->slots) {
      const bool mig = shape.kind == GpuKind::kMig;
      used_[{site_.node(slot.node)->name, mig ? shape.profile : ""}] -= shape.gpus;
    }
    build::stop(site_, at->job, at->request, at->slots);
    held_.erase(at);
  }

  naive::Dice dice_;
  build::Site site_;
  std::vector<Held> held_;
  std::map<std::pair<std::string, std::string>, std::int64_t> used_;  // by node and profile
  std::uint64_t jobs_ = 0;
  int several_ = 0;
};

TEST(MigPurity, TheSlicesOfAPodAreOnOneNodeThatHasThem) {
  const char* const text = std::getenv("SUBAK_PLACEMENTS");
  const int wanted = text != nullptr ? std::atoi(text) : 100'000;
  int placed = 0, several = 0;
  for (std::uint64_t seed = 1; placed < wanted; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MigWorld world(seed);
    int here = 0;
    for (int i = 0; i < 400; ++i) here += world.step() ? 1 : 0;
    ASSERT_GT(here, 50) << "the world is full";
    if (::testing::Test::HasFailure()) return;
    placed += here;
    several += world.several();
  }
  EXPECT_GT(several, placed / 10);
}

}  // namespace
}  // namespace subak
