// The errors with which a kubelet rejects a pod: their kinds, pauses and words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Rejection, KindsOfErrors) {
  using Kind = RejectionKind;
  EXPECT_EQ(rejection_kind("TopologyAffinityError"), Kind::kTopology);
  EXPECT_EQ(rejection_kind("SMTAlignmentError"), Kind::kCores);
  EXPECT_EQ(rejection_kind("UnexpectedAdmissionError"), Kind::kDevices);
  EXPECT_EQ(rejection_kind("OutOfnvidia.com/gpu"), Kind::kExtended);
  EXPECT_EQ(rejection_kind("OutOfrdma/hca_shared_devices_a"), Kind::kExtended);
  EXPECT_EQ(rejection_kind("OutOfcpu"), Kind::kRoom);
  EXPECT_EQ(rejection_kind("OutOfmemory"), Kind::kRoom);
  EXPECT_EQ(rejection_kind("OutOfhugepages-1Gi"), Kind::kRoom) << "a resource without a domain";
  EXPECT_EQ(rejection_kind("NodeAffinity"), Kind::kConstraints);
  EXPECT_EQ(rejection_kind("NodeShutdown"), Kind::kShutdown);
  EXPECT_EQ(rejection_kind("PodOSNotSupported"), Kind::kOther);
  EXPECT_EQ(rejection_kind("topologyaffinityerror"), Kind::kOther);
  EXPECT_EQ(rejection_kind(""), Kind::kOther);
}

TEST(Rejection, RoomComesBackSoonerThanDevices) {
  const RejectionRule& room = rule_of(RejectionKind::kRoom);
  const RejectionRule& devices = rule_of(RejectionKind::kDevices);
  EXPECT_EQ(room.first_ms, 10 * kSecondMs);
  EXPECT_EQ(room.longest_ms, 10 * kMinuteMs);
  EXPECT_EQ(devices.first_ms, kMinuteMs);
  EXPECT_EQ(devices.longest_ms, 2 * kHourMs);
}

TEST(Rejection, SaysErrorMeaningMessageAndRemedy) {
  const Rejection rejection{"OutOfcpu", "requested: 4000, used: 7000"};
  EXPECT_THAT(explain_rejection(rejection),
              AllOf(StartsWith("OutOfcpu: its kubelet has less room"),
                    HasSubstr("; its message: requested: 4000, used: 7000; what helps: ")));
  EXPECT_THAT(explain_rejection({}), StartsWith("its kubelet did not accept the pod; what helps"));
}

// A cluster with one node, whose kubelet is played.
class RejectedJob : public testing::Test {
 protected:
  RejectedJob() {
    say(0, in::SetCluster{"k8s", Mode::kEnforce, {}, "", false});
    in::SetAccount account;
    account.spec.path = "ml";
    account.spec.namespaces = {"ns"};
    say(0, account);
    say(0, in::ListBegin{"k8s"});
    NodeSpec node;
    node.name = "n1";
    node.product = "H100";
    node.gpus = 8;
    say(0, in::NodeSeen{"k8s", node});
    say(0, in::ListComplete{"k8s"});
  }
  void say(TimeMs t, in::Body body) { engine_.apply(at(t, std::move(body))); }
  // A pod of the gang "g" comes, is bound, and ends.
  void create(TimeMs t, const std::string& uid) {
    PodRecord pod;
    pod.uid = pod.name = uid;
    pod.ns = "ns";
    pod.gang = "g";
    pod.shape.kind = GpuKind::kWhole;
    pod.shape.gpus = 2;
    pod.gated = pod.controlled = true;
    say(t, in::PodSeen{"k8s", pod});
    say(t, in::Pass{});
  }
  void bind(TimeMs t, const std::string& uid) {
    say(t, in::PodBound{"k8s", {uid, {}, 0}, "n1", 0});
  }
  void reject(TimeMs t, const std::string& uid) {
    say(t, in::PodGone{
               "k8s", {uid, {}, 0}, 0, Cause::kRejected, {"TopologyAffinityError", "no locality"}});
  }

  Engine engine_;
  const JobId job_ = JobId(ClusterId(1), 1);
};

TEST_F(RejectedJob, RemembersNodeAndErrorUntilItRuns) {
  create(1000, "u1");
  bind(2000, "u1");
  EXPECT_EQ(engine_.job(job_, false)->rejected.node, "");
  reject(3000, "u1");
  EXPECT_EQ(engine_.job(job_, false)->rejected.node, "n1");
  Engine restored;
  for (const Fact& fact : engine_.checkpoint()) restored.evolve(fact);
  EXPECT_EQ(restored.job(job_, false)->rejected.node, "n1");
  EXPECT_EQ(restored.job(job_, false)->rejected.rejection.error, "TopologyAffinityError");
  EXPECT_EQ(restored.job(job_, false)->rejected.rejection.words, "no locality");

  create(4000, "u2");  // of the same gang, so of the same job
  const auto reasons = engine_.reasons(job_, 1);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_THAT(reasons[0].detail, HasSubstr("n1 rejected such a pod once and is tried again at "
                                           "1970-01-01T00:01:03.000Z (TopologyAffinityError: its "
                                           "Topology Manager found no CPUs and GPUs"));
  say(63'000, in::Tick{});
  say(63'000, in::Pass{});
  bind(64'000, "u2");
  EXPECT_EQ(engine_.job(job_, false)->rejected.node, "") << "it runs";
}

TEST_F(RejectedJob, ARestoredEngineCountsOn) {
  for (int i = 1; i <= 4; ++i) {
    const std::string uid = "u" + std::to_string(i);
    const TimeMs t = i * 10 * kMinuteMs;
    say(t, in::Tick{});
    create(t, uid);
    bind(t, uid);
    reject(t, uid);
  }
  Engine restored;
  for (const Fact& fact : engine_.checkpoint()) restored.evolve(fact);
  const TimeMs t = 50 * kMinuteMs;
  for (Engine* const each : {&engine_, &restored}) {
    const NodeId node(1);
    ASSERT_EQ(each->fleet().node(node)->unfit, "");
    PodRecord foreign;
    foreign.uid = foreign.name = "f";
    foreign.ns = "other";
    foreign.node = "n1";
    foreign.shape.kind = GpuKind::kWhole;
    foreign.shape.gpus = 1;
    each->apply(at(t, in::PodSeen{"k8s", foreign}));
    each->apply(at(t, in::PodGone{"k8s", {"f", {}, 0}, 0, Cause::kRejected, {}}));
    EXPECT_TRUE(each->fleet().node(node)->rejects);
    each->apply(at(t + kHourMs, in::Tick{}));
    EXPECT_EQ(each->fleet().node(node)->unfit, "");
  }
}

}  // namespace
}  // namespace subak
