// Random operations on the fleet and on the naive one: the same answers, the same books. Another
// search looks at each node by itself: nodes that are alike are judged as each of them would be.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "naive_fleet.h"
#include "placement/search/search.h"
#include "random_world.h"
#include "tests/placement/keeping_fleet.h"

namespace subak {
namespace {

using naive::Dice;

constexpr std::uint32_t kNodes = 40;
constexpr int kStepsPerSeed = 4000;

struct Running {
  JobId id;
  ShapeId shape;
  Placement placement;
};

class Twin {
 public:
  // Of the seeds beyond the first, some keep CPU and memory beside free GPUs.
  explicit Twin(std::uint64_t seed) : dice_(seed), depth_(seed % 4), headroom_(seed > 6) {
    for (std::uint32_t id = 1; id <= kNodes; ++id) set_node(id);
  }

  void step() {
    now_ += dice_.below(50);
    naive_.advance(now_);
    if (headroom_ && dice_.chance(2)) set_headroom();
    const std::int64_t what = dice_.below(100);
    if (what < 60) {
      submit();
    } else if (what < 90) {
      if (!running_.empty()) end_job();
    } else if (what < 96) {
      set_node(static_cast<std::uint32_t>(1 + dice_.below(kNodes)));
    } else if (what < 97) {
      bar_some_node();
    } else if (what < 98 && dice_.chance(50)) {
      set_rules();
    } else if (what < 98) {
      remove_node(static_cast<std::uint32_t>(1 + dice_.below(kNodes)));
    } else {
      ask_with_reserved_nodes();
    }
  }

  void check() {
    fleet_.check_invariants();
    search_.check_invariants();
    naive_.advance(now_);
    for (const auto& [id, n] : naive_.nodes) {
      const NodeBooks b = fleet_.books(NodeId(id), now_);
      ASSERT_EQ(b, n.books) << "node " << id;
      ASSERT_EQ(b.installed + b.overcommitted, b.allocated + b.idle + b.stranded + b.unusable);
      const NodeLevels l = fleet_.levels(NodeId(id)), want = naive_.levels(id);
      ASSERT_EQ(l.idle, want.idle) << "node " << id;
      ASSERT_EQ(l.unusable, want.unusable) << "node " << id;
      ASSERT_EQ(l.overcommitted, want.overcommitted) << "node " << id;
      ASSERT_EQ(l.allocated, want.allocated) << "node " << id;
    }
  }

  int found = 0, failed = 0, on_fragments = 0;
  int refused = 0, clashes = 0;  // that only keep_whole, only clique_gangs leaves without a place

 private:
  static ClusterId cluster_of(std::uint32_t id) { return ClusterId(id % 5 == 0 ? 2 : 1); }

  void set_node(std::uint32_t id) {
    const NodeSpec spec = naive::random_node(dice_, id, depth_);
    const bool drained = dice_.chance(4);
    fleet_.set_node(NodeId(id), cluster_of(id), spec, drained, now_);
    naive::Node& n = naive_.nodes[id];
    if (!n.present && n.as_of == 0) n.as_of = now_;
    n.spec = spec;
    n.cluster = cluster_of(id);
    n.drained = drained;
    n.present = true;
    keep_anew();
  }

  void set_headroom() {
    naive_.headroom.cpu_milli = dice_.chance(30) ? 0 : 1000 * (1 + dice_.below(8));
    naive_.headroom.memory_bytes = dice_.chance(50) ? 0 : (1 + dice_.below(3)) << 30;
    fleet_.set_gpu_headroom(naive_.headroom);
  }

  // Pods of a job that runs there are turned away there from now on; or what was is forgiven.
  void bar_some_node() {
    const auto id = static_cast<std::uint32_t>(1 + dice_.below(kNodes));
    naive::Node& n = naive_.nodes[id];
    if (!n.backed_off.empty() && dice_.chance(60)) {
      fleet_.end_backoff(NodeId(id), n.backed_off.back());
      n.backed_off.pop_back();
      return;
    }
    if (!n.present || n.held.empty()) return;
    const PodShape pod = n.held.front().pod;
    if (std::find(n.backed_off.begin(), n.backed_off.end(), pod) == n.backed_off.end())
      n.backed_off.push_back(pod);
    fleet_.back_off(NodeId(id), pod);
  }

  void set_rules() {
    naive_.keep_whole = static_cast<std::uint32_t>(dice_.below(3));
    naive_.clique_gangs = static_cast<std::uint32_t>(dice_.below(3));
    fleet_.set_domain_rules({naive_.keep_whole, naive_.clique_gangs});
  }

  void remove_node(std::uint32_t id) {
    fleet_.remove_node(NodeId(id), now_);
    naive_.nodes[id].present = false;
    keep_anew();
  }

  void submit() {
    const bool mixed = dice_.chance(15);
    const GangRequest request = naive::random_request(dice_, mixed);
    const ClusterId cluster(dice_.chance(80) ? 1 : 2);
    const ShapeId shape = fleet_.intern(cluster, request);
    const auto placement = ask(shape, request, cluster, JobId());
    if (::testing::Test::HasFatalFailure() || !placement) return;
    // What a mixed exclusive gang keeps for itself is beyond the naive fleet.
    if (mixed && request.terms.topology == Topology::kNvlinkExclusive) return;
    start(shape, request, cluster, *placement);
  }

  std::optional<Placement> ask(ShapeId shape, const GangRequest& request, ClusterId cluster,
                               JobId owner) {
    const auto placement = search_.find(FleetView(fleet_, kept_), shape, owner);
    EXPECT_EQ(placement, one_by_one_.find(FleetView(fleet_, kept_), shape, owner))
        << to_text(request);
    (placement ? found : failed) += 1;
    const auto reasons = search_.explain(FleetView(fleet_, kept_), shape, owner);
    EXPECT_EQ(reasons.empty(), placement.has_value()) << to_text(request);
    judge(naive::offered(request), cluster, owner, placement);
    return placement;
  }

  // Nodes that are broken into could hold the gang, in the fabric where it is.
  bool hold_in_its_fabric(const GangRequest& request, ClusterId cluster, JobId owner,
                          const Placement& placement) const {
    if (!wants_one_fabric(request)) return naive_.fragments_hold(request, cluster, owner);
    const std::string& fabric = naive_.nodes.at(placement.slots[0].node.value).spec.fabric;
    return naive_.of_fabric(fabric).fragments_hold(request, cluster, owner);
  }

  void judge(const GangRequest& request, ClusterId cluster, JobId owner,
             const std::optional<Placement>& placement) {
    naive_.ask(request);
    if (placement) {
      ASSERT_EQ(naive_.broken(request, cluster, owner, *placement), "") << to_text(request);
    }
    if (request.groups.size() > 1) return;
    ASSERT_EQ(placement.has_value(), naive_.exists(request, cluster, owner)) << to_text(request);
    if (!placement) {
      refused += naive_.exists_but_for(true, false, request, cluster, owner) ? 1 : 0;
      clashes += naive_.exists_but_for(false, true, request, cluster, owner) ? 1 : 0;
    }
    const GpuKind kind = request.groups[0].shape.kind;
    const bool small = placement && request.terms.topology == Topology::kAny &&
                       request.terms.segment == 0 && request.pods() > 1 && kind != GpuKind::kNone;
    if (small && hold_in_its_fabric(request, cluster, owner, *placement)) {
      for (const PodSlot& slot : placement->slots) {
        ASSERT_TRUE(naive_.fragment(slot.node.value, request.groups[0].shape))
            << to_text(request) << " breaks into node " << slot.node.value;
      }
      ++on_fragments;
    }
    const bool counts = kind == GpuKind::kWhole || kind == GpuKind::kMig;
    const bool ranked = request.terms.topology != Topology::kNvlinkExclusive &&
                        (counts || request.terms.topology != Topology::kRack);
    if (placement && request.pods() == 1 && ranked) {
      ASSERT_EQ(placement->slots[0].node.value, naive_.best(request, cluster, owner))
          << to_text(request);
    }
  }

  void start(ShapeId shape, const GangRequest& request, ClusterId cluster,
             const Placement& placement) {
    const JobId id(cluster, ++jobs_);
    for (std::uint32_t rank = 0; rank < request.pods(); ++rank) {
      const PodSlot& slot = placement.slots[rank];
      const GangRequest as_offered = naive::offered(request);
      naive::Held held{shape, rank, slot, id, naive::pod_of(as_offered, rank), {}, ""};
      held.computes = request.terms.compute_domain;
      keep(as_offered, held);
      naive_.nodes[slot.node.value].held.push_back(held);
      fleet_.take(shape, rank, slot, id, now_);
    }
    running_.push_back({id, shape, placement});
  }

  void keep(const GangRequest& request, naive::Held& held) {
    if (request.terms.topology != Topology::kNvlinkExclusive || request.terms.prefer) return;
    if (held.pod.kind == GpuKind::kNone) return;
    const std::uint32_t id = held.slot.node.value;
    const int level = naive_.exclusive_level(request, id);
    if (level == 2) held.kept_clique = naive_.home(id);
    if (level == 1) held.kept = {naive::kAll};
    if (level != 0) return;
    for (const std::uint64_t half : naive::Fleet::inner(naive_.nodes[id].spec)) {
      if ((half & held.slot.gpu_mask) != 0) held.kept.push_back(half);
    }
  }

  // What exclusive gangs keep follows from the nodes as they are now.
  void keep_anew() {
    for (auto& [id, n] : naive_.nodes) {
      for (naive::Held& held : n.held) {
        held.kept.clear();
        held.kept_clique.clear();
        if (n.present) keep(naive::offered(fleet_.request(held.shape)), held);
      }
    }
  }

  void end_job() {
    const auto i =
        static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(running_.size())));
    const Running job = running_[i];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::uint32_t rank = 0; rank < job.placement.slots.size(); ++rank) {
      const PodSlot& slot = job.placement.slots[rank];
      fleet_.give(job.shape, rank, slot, job.id, now_);
      std::erase_if(naive_.nodes[slot.node.value].held,
                    [&](const naive::Held& h) { return h.owner == job.id && h.rank == rank; });
    }
  }

  void ask_with_reserved_nodes() {
    const JobId owner(ClusterId(1), 999'999), other(ClusterId(1), 999'998);
    std::vector<NodeId> nodes;
    for (int k = 0; k < 5; ++k)
      nodes.emplace_back(1 + static_cast<std::uint32_t>(dice_.below(kNodes)));
    const bool computes = dice_.chance(50);
    kept_.reserve(nodes, owner, computes);
    for (const NodeId id : nodes) {
      naive_.nodes[id.value].reserved_for = owner;
      naive_.nodes[id.value].kept_computes = computes;
    }
    const GangRequest request = naive::random_request(dice_, false);
    const ShapeId shape = fleet_.intern(ClusterId(1), request);
    ask(shape, request, ClusterId(1), other);
    ask(shape, request, ClusterId(1), owner);
    kept_.clear();
    for (const NodeId id : nodes) {
      naive_.nodes[id.value].reserved_for = JobId();
      naive_.nodes[id.value].kept_computes = false;
    }
    ask(shape, request, ClusterId(1), other);
  }

  Dice dice_;
  const std::size_t depth_;  // levels that nodes may name
  const bool headroom_;      // something is kept beside free GPUs
  KeepingFleet fleet_;
  ReservedNodes kept_;
  Search search_{fleet_};
  Search one_by_one_{fleet_, AlikeNodes::kJudgedEach};
  naive::Fleet naive_;
  TimeMs now_ = 0;
  std::uint64_t jobs_ = 0;
  std::vector<Running> running_;
};

class Oracle : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Oracle, AgreesOverRandomOperations) {
  Twin twin(GetParam());
  for (int step = 0; step < kStepsPerSeed; ++step) {
    ASSERT_NO_FATAL_FAILURE(twin.step()) << "seed " << GetParam() << " step " << step;
    if (::testing::Test::HasFailure()) FAIL() << "seed " << GetParam() << " step " << step;
    if (step % 20 == 0) {
      ASSERT_NO_FATAL_FAILURE(twin.check()) << "seed " << GetParam() << " step " << step;
    }
  }
  EXPECT_GT(twin.found, kStepsPerSeed / 10);
  EXPECT_GT(twin.failed, kStepsPerSeed / 10);
  EXPECT_GT(twin.on_fragments, kStepsPerSeed / 200);
  EXPECT_GT(twin.refused, kStepsPerSeed / 400);
  EXPECT_GT(twin.clashes, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Oracle, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9));

}  // namespace
}  // namespace subak
