// An alternative is true: the job is cancelled, submitted anew with the change, and starts when it was said.
#include "engine/forecast/alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"

namespace subak {
namespace {

constexpr TimeMs kNow = 1'767'225'600'000;

// Two cliques of two nodes of 4 GPUs, and one node of another product.
class Alternatives : public testing::Test {
 protected:
  void SetUp() override {
    in::SetCluster cluster;
    cluster.name = "main";
    cluster.mode = Mode::kEnforce;
    send(cluster);
    in::ImportNodes import;
    import.cluster = "main";
    for (int i = 0; i < 5; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(i);
      node.product = i < 4 ? "GB200" : "L40S";
      node.gpus = 4;
      if (i < 4) node.clique = i < 2 ? "c0" : "c1";
      import.nodes.push_back(node);
    }
    send(import);
    in::SetPolicy set;
    set.policy.patience_ms = kMinuteMs;
    send(set);
    in::SetAccount account;
    account.spec.path = "ml";
    send(account);
  }
  Reply send(in::Body body) { return engine.apply({now, "", "ana", std::move(body)}).reply; }
  static in::SubmitJob job(std::uint32_t pods, std::int64_t gpus, DurationMs limit_ms) {
    in::SubmitJob out;
    out.cluster = "main";
    out.account = "ml";
    out.time_limit_ms = limit_ms;
    out.request.groups.resize(1);
    out.request.groups[0].count = pods;
    out.request.groups[0].shape.kind = GpuKind::kWhole;
    out.request.groups[0].shape.gpus = gpus;
    out.request.groups[0].shape.products = {"GB200"};
    return out;
  }
  JobId submit(const in::SubmitJob& spec) {
    const Reply reply = send(spec);
    EXPECT_FALSE(reply.error) << reply.error->message();
    const JobId id = reply.job;
    pass();
    return id;
  }
  void pass() {
    do {
      send(in::Pass{});
    } while (engine.pass_due());
  }
  std::vector<Alternative> asked(JobId id) { return alternatives(engine.forecast_basis(now), id); }
  // The start of the changed job, as the forecast of a fresh state with it says.
  std::optional<TimeMs> start_of(JobId id, const in::SubmitJob& changed) {
    in::CancelJob cancel;
    cancel.job = id;
    send(cancel);
    const JobId fresh = submit(changed);
    const auto row = engine.job(fresh, false);
    if (row->state != JobState::kQueued) return now;
    return make_forecast(engine.forecast_basis(now)).start(fresh);
  }
  // A node of so many H100, one of which is cut into these slices.
  void add_h100(std::int64_t gpus, std::vector<MigSlices> slices) {
    in::ImportNodes import;
    import.cluster = "main";
    NodeSpec node;
    node.name = "m0";
    node.product = "NVIDIA-H100-80GB-HBM3";
    node.gpus = gpus;
    node.mig_gpus = 1;
    node.mig = std::move(slices);
    import.nodes.push_back(node);
    ASSERT_FALSE(send(import).error);
  }
  static const Alternative* find(const std::vector<Alternative>& all, const std::string& change) {
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const Alternative& a) { return a.change == change; });
    return it == all.end() ? nullptr : &*it;
  }

  TimeMs now = kNow;
  Engine engine;
};

// One node of each clique is taken for a day: a gang of two nodes has no clique, but two halves.
TEST_F(Alternatives, ATopologyAsAWishAndHalfTheSegment) {
  submit(job(1, 4, kDayMs));
  submit(job(2, 4, kHourMs));  // the other node of the clique, or one of each
  in::SubmitJob gang = job(2, 4, 2 * kDayMs);
  gang.request.terms.topology = Topology::kNvlink;
  const JobId id = submit(gang);
  ASSERT_EQ(engine.job(id, false)->state, JobState::kQueued);
  const auto start = make_forecast(engine.forecast_basis(now)).start(id);
  ASSERT_TRUE(start);
  const auto all = asked(id);
  for (const Alternative& a : all) EXPECT_LT(a.start_ms, *start) << a.change;
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.start_ms < b.start_ms; }));
}

// One GPU is free on each of the four nodes of one rack: where the topology is any wider, the gang starts.
TEST_F(Alternatives, OnlyAWiderTopologyIsOffered) {
  in::ImportNodes import;
  import.cluster = "main";
  for (int i = 0; i < 4; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.product = "GB200";
    node.gpus = 4;
    node.clique = i < 2 ? "c0" : "c1";
    node.levels = {"r0"};
    import.nodes.push_back(node);
  }
  ASSERT_FALSE(send(import).error);
  for (int i = 0; i < 4; ++i) submit(job(1, 3, kDayMs));
  struct Case {
    Topology topology;
    std::uint32_t pods;
    std::vector<std::string> changes;
  };
  for (const Case& c : {
           Case{Topology::kNode,
                2,
                {"prefer:node instead of node", "rack instead of node",
                 "segments of 1 instead of one of 2"}},
           Case{Topology::kNvlink,
                4,
                {"prefer:nvlink instead of nvlink", "segments of 2 instead of one of 4"}},
           Case{Topology::kNvlinkExclusive,
                2,
                {"nvlink instead of nvlink-exclusive",
                 "prefer:nvlink-exclusive instead of nvlink-exclusive"}},
       }) {
    in::SubmitJob gang = job(c.pods, 1, kDayMs);
    gang.request.terms.topology = c.topology;
    const JobId id = submit(gang);
    ASSERT_EQ(engine.job(id, false)->state, JobState::kQueued) << enum_name(c.topology);
    std::vector<std::string> changes;
    for (const Alternative& a : asked(id)) {
      EXPECT_EQ(a.start_ms, now) << a.change;
      changes.push_back(a.change);
    }
    std::sort(changes.begin(), changes.end());
    EXPECT_EQ(changes, c.changes);
    in::CancelJob cancel;
    cancel.job = id;
    send(cancel);
  }
}

TEST_F(Alternatives, AnyProductStartsNow) {
  for (int i = 0; i < 4; ++i) submit(job(1, 4, kDayMs));
  const JobId id = submit(job(1, 4, kDayMs));
  const auto all = asked(id);
  const Alternative* const any = find(all, "any GPU product instead of GB200");
  ASSERT_NE(any, nullptr);
  EXPECT_EQ(any->start_ms, now);
  in::SubmitJob changed = job(1, 4, kDayMs);
  changed.request.groups[0].shape.products.clear();
  EXPECT_EQ(start_of(id, changed), any->start_ms);
}

// Nodes are kept for a gang: who is gone before it needs them runs there meanwhile.
TEST_F(Alternatives, AShorterLimitFitsBeforeAReservation) {
  submit(job(1, 4, 10 * kHourMs));
  const JobId gang = submit(job(4, 4, kDayMs));
  now += 2 * kMinuteMs;
  pass();
  ASSERT_TRUE(engine.job(gang, false)->start_promised);
  const JobId id = submit(job(1, 4, 9 * kHourMs));
  ASSERT_EQ(engine.job(id, false)->state, JobState::kQueued);
  const auto all = asked(id);
  const Alternative* const brief = find(all, "time limit 2h instead of 9h");
  ASSERT_NE(brief, nullptr);
  EXPECT_EQ(brief->start_ms, now);
  EXPECT_EQ(find(all, "time limit 8h instead of 9h"), nullptr) << "not half of it";
  EXPECT_EQ(start_of(id, job(1, 4, 2 * kHourMs)), brief->start_ms);
}

// Three slices are left on each of two nodes. MIG slices may have neither racks nor segments: what would be
// refused is no alternative.
TEST_F(Alternatives, NothingIsSaidThatWouldBeRefused) {
  in::ImportNodes import;
  import.cluster = "main";
  for (int i = 0; i < 2; ++i) {
    NodeSpec node;
    node.name = "m" + std::to_string(i);
    node.product = "NVIDIA-H100-80GB-HBM3";
    node.gpus = 1;
    node.mig_gpus = 1;
    node.mig = {{"1g.10gb", 7}};
    import.nodes.push_back(node);
  }
  ASSERT_FALSE(send(import).error);
  in::SubmitJob slices = job(4, 0, kDayMs);
  slices.request.terms.topology = Topology::kNode;
  slices.request.groups[0].shape = {};
  slices.request.groups[0].shape.kind = GpuKind::kMig;
  slices.request.groups[0].shape.profile = "1g.10gb";
  slices.request.groups[0].shape.gpus = 1;
  submit(slices);
  submit(slices);
  slices.request.groups[0].count = 6;
  const JobId id = submit(slices);
  ASSERT_EQ(engine.job(id, false)->state, JobState::kQueued);
  const auto all = asked(id);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].change, "prefer:node instead of node");
  EXPECT_EQ(all[0].start_ms, now);
  for (const Topology refused : {Topology::kRack, Topology::kNvlink}) {
    in::SubmitJob changed = slices;
    changed.request.terms.topology = refused;
    EXPECT_TRUE(send(changed).error);
  }
}

TEST_F(Alternatives, ASliceStartsWhereNoWholeGpuIsFree) {
  add_h100(2, {{"1g.10gb", 1}, {"2g.20gb", 1}, {"3g.40gb", 1}});
  in::SubmitJob whole = job(1, 1, kDayMs);
  whole.request.groups[0].shape.products = {"NVIDIA-H100-80GB-HBM3"};
  submit(whole);
  const JobId id = submit(whole);
  ASSERT_EQ(engine.job(id, false)->state, JobState::kQueued);
  const auto all = asked(id);
  const Alternative* const slice = find(all, "MIG 3g.40gb instead of a whole GPU");
  ASSERT_NE(slice, nullptr);
  EXPECT_NE(find(all, "MIG 2g.20gb instead of a whole GPU"), nullptr);
  EXPECT_EQ(find(all, "MIG 1g.10gb instead of a whole GPU"), nullptr) << "two are enough";
  EXPECT_EQ(slice->start_ms, now);
  in::SubmitJob changed = whole;
  changed.request.groups[0].shape.kind = GpuKind::kMig;
  changed.request.groups[0].shape.profile = "3g.40gb";
  EXPECT_EQ(start_of(id, changed), slice->start_ms);
}

// One node of each clique is taken: a pod that wants another node of its clique reserved waits.
TEST_F(Alternatives, NoNodesToSpareStartNow) {
  submit(job(2, 4, kDayMs));
  in::SubmitJob spared = job(1, 4, kDayMs);
  spared.request.terms.topology = Topology::kNvlink;
  submit(spared);
  spared.request.terms.spare = 1;
  const JobId id = submit(spared);
  ASSERT_EQ(engine.job(id, false)->state, JobState::kQueued);
  const auto all = asked(id);
  const Alternative* const none = find(all, "no nodes to spare instead of 1");
  ASSERT_NE(none, nullptr);
  EXPECT_EQ(none->start_ms, now);
  for (int i = 0; i < 4; ++i) submit(job(1, 4, kDayMs));
  spared.request.terms.spare = 0;
  for (const Alternative& a : asked(submit(spared)))
    EXPECT_EQ(a.change.find("spare"), a.change.npos);
}

// Three pods fit no clique. Each could be a segment of its own, but only halves are offered, and only of a
// gang that has a topology and no even parts.
TEST_F(Alternatives, OnlyHalfASegmentIsOffered) {
  in::SubmitJob gang = job(3, 4, kDayMs);
  gang.request.terms.topology = Topology::kNvlink;
  const JobId odd = submit(gang);
  ASSERT_EQ(engine.job(odd, false)->state, JobState::kQueued);
  for (const Alternative& a : asked(odd)) EXPECT_EQ(a.change.find("segments"), a.change.npos);
  gang = job(4, 4, kDayMs);
  gang.request.terms.topology = Topology::kNvlink;
  EXPECT_NE(find(asked(submit(gang)), "segments of 2 instead of one of 4"), nullptr);
}

// A profile of which no slice is configured takes the place of none that is there.
TEST_F(Alternatives, OnlyConfiguredSlicesAreOffered) {
  add_h100(2, {{"1g.10gb", 7}, {"3g.40gb", 0}, {"4g.40gb", 0}});
  in::SubmitJob whole = job(1, 1, kDayMs);
  whole.request.groups[0].shape.products = {"NVIDIA-H100-80GB-HBM3"};
  submit(whole);
  EXPECT_NE(find(asked(submit(whole)), "MIG 1g.10gb instead of a whole GPU"), nullptr);
}

// Slices are offered for whole GPUs alone, if each pod of each group wants one.
TEST_F(Alternatives, SlicesReplaceOneWholeGpuOfEachPod) {
  add_h100(4, {{"1g.10gb", 7}});
  const auto on_h100 = [](std::int64_t gpus) {
    in::SubmitJob out = job(1, gpus, kDayMs);
    out.request.groups[0].shape.products = {"NVIDIA-H100-80GB-HBM3"};
    return out;
  };
  submit(on_h100(3));
  const auto offers_slices = [&](const in::SubmitJob& spec) {
    const auto all = asked(submit(spec));
    return std::any_of(all.begin(), all.end(),
                       [](const Alternative& a) { return a.change.find("MIG") == 0; });
  };
  EXPECT_TRUE(offers_slices(on_h100(1)));
  EXPECT_FALSE(offers_slices(on_h100(2)));
  in::SubmitJob mixed = on_h100(1);
  mixed.request.groups.push_back(on_h100(2).request.groups[0]);
  EXPECT_FALSE(offers_slices(mixed));
  in::SubmitJob fraction = on_h100(0);
  fraction.request.groups[0].shape.kind = GpuKind::kFraction;
  fraction.request.groups[0].shape.milligpu = 500;
  EXPECT_FALSE(offers_slices(fraction));
}

TEST_F(Alternatives, WhoHasNothingToGainOrDoesNotWaitHasNone) {
  const JobId runs = submit(job(1, 4, kDayMs));
  EXPECT_TRUE(asked(runs).empty());
  EXPECT_TRUE(asked(JobId(runs.cluster(), 99)).empty());
  for (int i = 0; i < 3; ++i) submit(job(1, 4, kDayMs));
  in::SubmitJob any = job(1, 4, kDayMs);
  any.request.groups[0].shape.products.clear();
  submit(any);
  EXPECT_TRUE(asked(submit(any)).empty()) << "all GPUs are taken for a day";
}

}  // namespace
}  // namespace subak
