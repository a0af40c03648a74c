// Parked jobs: the order in which they start is that of the same jobs behind gates.
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/must.h"
#include "engine/engine.h"

namespace subak {
namespace {

struct Submitted {
  std::string name, ns;
  TimeMs at_ms = 0;
  std::uint32_t pods = 1;
  std::int64_t gpus = 1;
};

// One cluster of `kNodes` nodes, three accounts, and jobs that come as gated pods or as parked
// owners. A parked owner creates its pods as soon as its job has a hold.
class World {
 public:
  static constexpr int kNodes = 6;
  explicit World(bool parked) : parked_(parked) {
    apply(in::SetCluster{"k8s", Mode::kEnforce, {}, ""});
    for (const char* name : {"a", "b", "c"}) {
      in::SetAccount set;
      set.spec.path = name;
      set.spec.shares = 1;
      set.spec.namespaces = {name};
      apply(set);
    }
    apply(in::ListBegin{"k8s"});
    for (int n = 0; n < kNodes; ++n) {
      NodeSpec node;
      node.name = "n" + std::to_string(n);
      node.product = "H100";
      node.gpus = 8;
      apply(in::NodeSeen{"k8s", node});
    }
    apply(in::ListComplete{"k8s"});
  }

  void submit(const Submitted& job) {
    now_ = std::max(now_, job.at_ms);
    jobs_[job.name] = job;
    if (!parked_) return create(job);
    PodRecord pod = record(job, 0);
    pod.uid = pod.owner = job.name;
    apply(in::OwnerSeen{"k8s", ParkedOwner::kParked, pod, {{job.pods, pod.shape}}});
  }
  // Runs a pass, and lets the jobs that have a hold bind their pods.
  void pass(TimeMs at_ms) {
    now_ = std::max(now_, at_ms);
    for (const Effect& effect : apply(in::Pass{})) start(effect);
  }
  // Ends the oldest running job.
  void end_one(TimeMs at_ms) {
    now_ = std::max(now_, at_ms);
    if (ended_ == started.size()) return;
    const Submitted& job = jobs_.at(started[ended_++]);
    for (std::uint32_t rank = 0; rank < job.pods; ++rank) {
      apply(in::PodGone{"k8s", {uid(job, rank), {}, 0}, now_, Cause::kFinished});
    }
  }
  // How many gated pods wait without a hold.
  std::size_t waiting_pods() const { return waiting_pods_; }

  std::vector<std::string> started;  // the names of the jobs, in the order of their starts

 private:
  static std::string uid(const Submitted& job, std::uint32_t rank) {
    return job.name + "-" + std::to_string(rank);
  }
  static PodRecord record(const Submitted& job, std::uint32_t rank) {
    PodRecord pod;
    pod.uid = uid(job, rank);
    pod.ns = job.ns;
    pod.name = job.pods > 1 ? uid(job, rank) : job.name;
    pod.owner = job.name;
    if (job.pods > 1) pod.gang = job.name;
    if (job.pods > 1) pod.rank = static_cast<std::int32_t>(rank);
    pod.gang_size = job.pods;
    pod.shape.kind = GpuKind::kWhole;
    pod.shape.gpus = job.gpus;
    pod.gated = pod.controlled = true;
    pod.created_at_ms = job.at_ms;
    pod.owners.size_of_owner = true;
    return pod;
  }
  void create(const Submitted& job) {
    for (std::uint32_t rank = 0; rank < job.pods; ++rank) {
      apply(in::PodSeen{"k8s", record(job, rank)});
      ++waiting_pods_;
    }
  }
  void start(const Effect& effect) {
    if (effect.kind != EffectKind::kOpenGate) return;
    const std::string name = name_of(effect);
    if (!effect.owner.empty()) {
      PodRecord pod;
      pod.uid = pod.owner = pod.name = effect.owner;
      pod.ns = jobs_.at(name).ns;
      apply(in::OwnerSeen{"k8s", ParkedOwner::kResumed, pod, {}});
      create(jobs_.at(name));
    }
    started.push_back(name);
    const Submitted& job = jobs_.at(name);
    const auto row = engine_.job(effect.job, true);
    must(row && row->pods.size() == job.pods, "the job has its pods");
    waiting_pods_ -= job.pods;
    for (const PodRow& pod : row->pods) {
      const NodeSpec* const node = engine_.fleet().node(pod.slot.node);
      must(node != nullptr, "each pod has a hold");
      apply(in::PodBound{"k8s", {pod.uid, {}, 0}, node->name, now_});
    }
  }
  std::string name_of(const Effect& effect) const {
    const std::string name = engine_.job(effect.job, false)->name;
    return name.substr(name.find('/') + 1);
  }
  std::vector<Effect> apply(in::Body body) {
    Input input;
    input.time_ms = now_;
    input.body = std::move(body);
    const ApplyOutcome out = engine_.apply(input);
    EXPECT_FALSE(out.reply.error) << out.reply.error->message();
    return out.effects;
  }

  Engine engine_;
  const bool parked_;
  TimeMs now_ = 0;
  std::map<std::string, Submitted> jobs_;
  std::size_t ended_ = 0, waiting_pods_ = 0;
};

class ParkedOrder : public ::testing::TestWithParam<int> {};

TEST_P(ParkedOrder, IsThatOfTheSameJobsBehindGates) {
  World gated(false), parked(true);
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::vector<Submitted> jobs;
  constexpr int kJobs = 120;
  for (int j = 0; j < kJobs; ++j) {
    const std::uint32_t pods = random() % 2 == 0 ? 1 : 1 + random() % 4;
    jobs.push_back({"j" + std::to_string(j), std::string(1, static_cast<char>('a' + random() % 3)),
                    1000 + 100 * j, pods, static_cast<std::int64_t>(1 + random() % 8)});
  }
  std::size_t most_gated = 0, most_parked = 0;
  for (World* world : {&gated, &parked}) {
    for (const Submitted& job : jobs) world->submit(job);
    std::size_t& most = world == &gated ? most_gated : most_parked;
    TimeMs at_ms = 1000 + 100 * kJobs;
    for (int turn = 0; turn < 10 * kJobs && world->started.size() < kJobs; ++turn) {
      most = std::max(most, world->waiting_pods());
      world->pass(at_ms += kMinuteMs);
      world->end_one(at_ms += kMinuteMs);
    }
  }
  EXPECT_EQ(gated.started.size(), static_cast<std::size_t>(kJobs));
  EXPECT_EQ(parked.started, gated.started);
  EXPECT_GT(most_gated, 100u);
  EXPECT_EQ(most_parked, 0u) << "pods exist only once their job has its turn";
}
INSTANTIATE_TEST_SUITE_P(Seeds, ParkedOrder, ::testing::Range(1, 9));

TEST(ParkedQueue, FiveThousandJobsOfEightPodsStartInTheOrderOfGatedOnes) {
  constexpr std::size_t kJobs = 5000;
  std::vector<std::string> order;
  for (const bool is_parked : {false, true}) {
    World world(is_parked);
    for (std::size_t j = 0; j < kJobs; ++j) {
      world.submit({"j" + std::to_string(j), std::string(1, static_cast<char>('a' + j % 7 % 3)),
                    1000, 8, 1});
    }
    EXPECT_EQ(world.waiting_pods(), is_parked ? 0u : 8 * kJobs);
    TimeMs at_ms = 1000;
    for (std::size_t turn = 0; turn < kJobs && world.started.size() < kJobs; ++turn) {
      world.pass(at_ms += kMinuteMs);
      for (int i = 0; i < World::kNodes; ++i) world.end_one(at_ms);
      ASSERT_TRUE(!is_parked || world.waiting_pods() == 0);
    }
    EXPECT_EQ(world.started.size(), kJobs);
    EXPECT_TRUE(!is_parked || world.started == order);
    order = world.started;
  }
}

// Random reports of parked owners and their pods, in any order, with restarts. The engine checks its
// invariants after each input, and an engine that has read the facts has the same state.
class RandomParking {
 public:
  explicit RandomParking(unsigned seed) : random_(seed) {
    apply(in::SetCluster{"k8s", Mode::kEnforce, {}, ""});
    in::SetAccount set;
    set.spec.path = "a";
    set.spec.shares = 1;
    set.spec.namespaces = {"a"};
    apply(set);
    list();
  }
  void step() {
    now_ += below(20) == 0 ? static_cast<TimeMs>(below(20)) * kMinuteMs
                           : static_cast<TimeMs>(below(3'000));
    switch (below(14)) {
      case 0:
      case 1:
        return park("o" + std::to_string(below(4) == 0 ? 0 : ++owners_));
      case 2:
        return say(ParkedOwner::kResumed);
      case 3:
        if (below(3) == 0) say(ParkedOwner::kGone);
        return;
      case 4:
      case 5:
      case 6:
        return create_pod();
      case 7:
        return bind_pod();
      case 8:
        return end_pod();
      case 9:
        apply(in::Tick{});
        return;
      case 10:
        if (const JobId job = some_job())
          below(4) == 0 ? apply(in::CancelJob{job, ""})
                        : apply(in::HoldJob{job, below(2) == 0, ""});
        return;
      case 11:
        if (below(6) == 0) restart();
        return;
      default:
        apply(in::Pass{});
    }
  }
  void finish() {
    Engine follower;
    for (const Fact& fact : facts_) follower.evolve(fact);
    EXPECT_EQ(follower.digest(), engine_.digest());
    EXPECT_EQ(residual_of(engine_.bill(now_)), GpuTime());
  }
  std::size_t resumed = 0;

 private:
  struct Owner {
    std::uint32_t pods = 1, created = 0;
    bool gang = false, alone = false;
    std::int64_t gpus = 1;
  };

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  PodRecord record(const std::string& owner) {
    const Owner& o = made_.at(owner);
    PodRecord pod;
    pod.uid = pod.name = pod.owner = owner;
    pod.ns = "a";
    pod.gang_size = o.gang ? o.pods : 1;
    if (o.gang) pod.gang = owner;
    pod.replaced_alone = o.alone && o.gang;
    pod.owners.size_of_owner = true;
    pod.gated = pod.controlled = true;
    pod.shape.kind = GpuKind::kWhole;
    pod.shape.gpus = o.gpus;
    pod.shape.cpu_milli = 1'000;
    return pod;
  }
  void park(const std::string& owner) {
    if (!made_.contains(owner) || below(3) == 0) {
      Owner o;
      o.gang = below(2) == 0;
      o.pods = o.gang ? 2 + below(3) : 1 + below(3);
      o.alone = below(2) == 0;
      o.gpus = 1 + below(8);
      o.created = made_.contains(owner) ? made_[owner].created : 0;
      made_[owner] = o;
    }
    const PodRecord pod = record(owner);
    apply(in::OwnerSeen{"k8s", ParkedOwner::kParked, pod, {{pod.gang_size, pod.shape}}});
  }
  std::string some_owner() {
    if (made_.empty()) return {};
    auto it = made_.begin();
    std::advance(it, below(static_cast<std::uint32_t>(made_.size())));
    return it->first;
  }
  void say(ParkedOwner state) {
    const std::string owner = some_owner();
    if (owner.empty()) return;
    resumed += state == ParkedOwner::kResumed ? 1 : 0;
    apply(in::OwnerSeen{"k8s", state, record(owner), {}});
  }
  void create_pod() {
    const std::string owner = some_owner();
    if (owner.empty()) return;
    Owner& o = made_.at(owner);
    PodRecord pod = record(owner);
    const std::uint32_t rank = o.created++;
    pod.uid = pod.name = owner + "-" + std::to_string(rank);
    if (o.gang) pod.rank = static_cast<std::int32_t>(rank % o.pods);
    if (below(4) == 0) pod.shape.cpu_milli = 9'000;  // it differs from the template
    if (below(20) == 0) pod.terms.topology = Topology::kNode;
    pods_[pod.uid] = pod;
    apply(in::PodSeen{"k8s", pod});
  }
  std::string some_pod() {
    if (pods_.empty()) return {};
    auto it = pods_.begin();
    std::advance(it, below(static_cast<std::uint32_t>(pods_.size())));
    return it->first;
  }
  void bind_pod() {
    const std::string uid = some_pod();
    if (uid.empty()) return;
    for (const JobRow& row : engine_.jobs({}, 1'000, std::nullopt, {})) {
      const std::optional<JobRow> job = engine_.job(row.id, true);
      for (const PodRow& pod : job->pods) {
        const NodeSpec* const node = engine_.fleet().node(pod.slot.node);
        if (pod.uid != uid || node == nullptr) continue;
        pods_.at(uid).node = node->name;
        apply(in::PodBound{"k8s", {uid, {}, 0}, node->name, now_});
        return;
      }
    }
  }
  void end_pod() {
    const std::string uid = some_pod();
    if (uid.empty()) return;
    pods_.erase(uid);
    constexpr std::array kCauses{Cause::kFinished, Cause::kFailed, Cause::kCancelled,
                                 Cause::kEvicted};
    apply(in::PodGone{"k8s", {uid, {}, 0}, now_, kCauses[below(kCauses.size())]});
  }
  JobId some_job() {
    const auto rows = engine_.jobs({}, 1'000, std::nullopt, {});
    return rows.empty() ? JobId() : rows[below(static_cast<std::uint32_t>(rows.size()))].id;
  }
  void restart() {
    apply(in::Restarted{});
    list();
  }
  void list() {
    apply(in::ListBegin{"k8s"});
    for (int n = 0; n < 3; ++n) {
      NodeSpec node;
      node.name = "n" + std::to_string(n);
      node.product = "H100";
      node.gpus = 8;
      node.cpu_milli = 10'000;
      apply(in::NodeSeen{"k8s", node});
    }
    for (const auto& [owner, o] : made_) {
      if (below(2) == 0) park(owner);
    }
    for (const auto& [uid, pod] : pods_) {
      if (below(8) != 0) apply(in::PodSeen{"k8s", pod});
    }
    apply(in::ListComplete{"k8s"});
  }
  void apply(in::Body body) {
    Input input;
    input.time_ms = now_;
    input.body = std::move(body);
    for (const Fact& fact : engine_.apply(input).facts) facts_.push_back(fact);
    engine_.check_invariants();
  }

  Engine engine_;
  std::mt19937 random_;
  std::vector<Fact> facts_;
  TimeMs now_ = 1'000;
  std::uint32_t owners_ = 0;
  std::map<std::string, Owner> made_;
  std::map<std::string, PodRecord> pods_;
};

TEST_P(ParkedOrder, RandomReportsKeepTheInvariants) {
  RandomParking world(static_cast<unsigned>(GetParam()));
  for (int i = 0; i < 1'500; ++i) world.step();
  world.finish();
  EXPECT_GT(world.resumed, 20u);
}

}  // namespace
}  // namespace subak
