// Jobs that the cluster's scheduler refuses, with edge and controller played: how often they are tried, what they
// hold, and that others are not kept waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

constexpr DurationMs kSayMs = 11 * kSecondMs;  // from the place to what the scheduler says of it

// A user's Job of `pods` pods, which the scheduler lets onto these sets of nodes alone.
struct Workload {
  std::string name;
  std::uint32_t pods = 1;
  std::int64_t gpus = 4;
  std::function<bool(const std::vector<std::string>& nodes)> fits;
  DurationMs run_ms = kDayMs;
};

// A cluster in which pods come, are bound or refused, are asked to end, and are made anew a second later.
class World {
 public:
  explicit World(int nodes) {
    say(in::SetCluster{"k8s", Mode::kEnforce, {}, "", false});
    in::SetAccount account;
    account.spec.path = "ml";
    account.spec.namespaces = {"team"};
    account.reason = "test";
    say(account);
    say(in::ListBegin{"k8s"});
    for (int i = 0; i < nodes; ++i) add_node("n" + std::to_string(i));
    say(in::ListComplete{"k8s"});
  }

  void add_node(const std::string& name) {
    NodeSpec node;
    node.name = name;
    node.product = "H100";
    node.gpus = 8;
    say(in::NodeSeen{"k8s", node});
  }

  void create(const Workload& workload) {
    workloads_[workload.name] = workload;
    make_pods(workload.name);
  }

  void run_until(TimeMs t) {
    for (;;) {
      const std::optional<TimeMs> tick = engine_.next_deadline();
      const TimeMs next =
          std::min(tick.value_or(t + 1), later_.empty() ? t + 1 : later_.begin()->first);
      if (next > t) break;
      now_ = std::max(now_, next);
      if (!later_.empty() && later_.begin()->first <= now_) {
        const auto what = later_.begin()->second;
        later_.erase(later_.begin());
        what();
      } else {
        say(in::Tick{});
      }
    }
    now_ = t;
    say(in::Tick{});
  }

  Engine& engine() { return engine_; }
  TimeMs now() const { return now_; }
  // Of the workload, as of its last pods.
  JobRow job(const std::string& name) { return *engine_.job(jobs_of(name).back(), true); }
  // All that its pods ever were.
  std::vector<JobId> jobs_of(const std::string& name) {
    std::vector<JobId> out;
    for (const JobRow& row : engine_.jobs(JobId(), 1000, std::nullopt, "", "")) {
      if (row.name.starts_with("team/" + name)) out.push_back(row.id);
    }
    return out;
  }
  std::size_t attempts(const std::string& name) const {
    const auto known = attempts_.find(name);
    return known == attempts_.end() ? 0 : known->second.size();
  }
  // Where each of its attempts was, the first pod first.
  const std::vector<std::string>& places(const std::string& name) { return attempts_[name]; }
  // Paid by nobody's account: held, and not bound in the end.
  double wasted_gpu_seconds() const {
    double sum = 0;
    for (const auto& [key, amount] : engine_.ledger().sums()) {
      if (key.payer == kPlatform) sum += static_cast<double>(amount.gpu_seconds());
    }
    return sum;
  }
  void say(const in::Body& body) {
    const auto out = engine_.apply(at(now_, body));
    ASSERT_FALSE(out.reply.error) << out.reply.error->message();
    engine_.check_invariants();
    for (const Effect& effect : out.effects) act(effect);
    if (engine_.pass_due() && !std::holds_alternative<in::Pass>(body)) say(in::Pass{});
  }

 private:
  std::string workload_of(const std::string& uid) const { return uid.substr(0, uid.find('/')); }

  void after(DurationMs wait, std::function<void()> what) {
    later_.emplace(now_ + wait, std::move(what));
  }

  void make_pods(const std::string& name) {
    const Workload& w = workloads_.at(name);
    for (std::uint32_t i = 0; i < w.pods; ++i) {
      in::PodSeen seen{"k8s", {}};
      seen.pod.uid = name + "/" + std::to_string(++serial_);
      seen.pod.ns = "team";
      seen.pod.name = name + "-" + std::to_string(serial_);
      if (w.pods > 1) seen.pod.gang = name;
      seen.pod.gang_size = w.pods;
      seen.pod.owner = "uid-of-" + name;
      seen.pod.controlled = seen.pod.gated = true;
      seen.pod.shape.kind = GpuKind::kWhole;
      seen.pod.shape.gpus = w.gpus;
      say(seen);
    }
  }

  void act(const Effect& effect) {
    if (effect.pods.empty()) return;
    const std::string name = workload_of(effect.pods.front().uid);
    if (effect.kind == EffectKind::kOpenGate) {
      const std::pair<JobId, std::uint32_t> attempt{effect.job, effect.attempt};
      if (!begun_.insert(attempt).second) return;
      attempts_[name].push_back(effect.pods.front().node);
      after(kSayMs, [this, name, effect] { schedule(name, effect); });
    } else if (effect.kind == EffectKind::kEvict &&
               ending_.insert(effect.pods.front().uid).second) {
      after(kSecondMs, [this, name, effect] { end(name, effect, Cause::kCancelled); });
    }
  }

  void schedule(const std::string& name, const Effect& effect) {
    std::vector<std::string> nodes;
    for (const EffectPod& pod : effect.pods) nodes.push_back(pod.node);
    if (workloads_.at(name).fits(nodes)) {
      for (const EffectPod& pod : effect.pods) say(in::PodRunning{"k8s", {pod.uid, {}, 0, 0}, 0});
      const DurationMs run_ms = workloads_.at(name).run_ms;
      return after(run_ms, [this, name, effect] { end(name, effect, Cause::kFinished); });
    }
    for (const EffectPod& pod : effect.pods) {
      in::PodSeen opened{"k8s", {}};
      opened.pod.uid = pod.uid;
      opened.pod.ns = "team";
      opened.pod.name = pod.name.substr(pod.name.find('/') + 1);
      opened.pod.gang_size = workloads_.at(name).pods;
      opened.pod.let_go_to = pod.node;
      opened.pod.controlled = true;
      opened.pod.shape.kind = GpuKind::kWhole;
      opened.pod.shape.gpus = workloads_.at(name).gpus;
      say(opened);
    }
    say(in::PodRefused{"k8s",
                       {effect.pods.back().uid, {}, 0, 0},
                       Cause::kUnschedulable,
                       "0/9 nodes are available"});
  }

  void end(const std::string& name, const Effect& effect, Cause cause) {
    for (const EffectPod& pod : effect.pods) {
      say(in::PodGone{"k8s", {pod.uid, {}, 0, 0}, 0, cause});
    }
    if (cause != Cause::kFinished) after(kSecondMs, [this, name] { make_pods(name); });
  }

  Engine engine_;
  TimeMs now_ = 0;
  int serial_ = 0;
  std::map<std::string, Workload> workloads_;
  std::map<std::string, std::vector<std::string>> attempts_;
  std::set<std::pair<JobId, std::uint32_t>> begun_;
  std::set<std::string> ending_;
  std::multimap<TimeMs, std::function<void()>> later_;
};

bool anywhere(const std::vector<std::string>& /*nodes*/) { return true; }
bool nowhere(const std::vector<std::string>& /*nodes*/) { return false; }
auto only_on(const std::string& node) {
  return [node](const std::vector<std::string>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n == node; });
  };
}

TEST(Refused, AJobThatFitsNowhereHoldsLittleOfTheHour) {
  for (const std::uint32_t pods : {1u, 2u}) {
    World world(6);
    world.create({"stuck", pods, 4, nowhere});
    world.run_until(kHourMs);
    const double hour = static_cast<double>(pods) * 4 * 3600;
    EXPECT_LT(world.wasted_gpu_seconds() / hour, 0.06) << pods << " pods";
    EXPECT_GE(world.attempts("stuck"), 6u) << "it is tried again and again";
    EXPECT_LE(world.attempts("stuck"), 15u);
    EXPECT_EQ(world.jobs_of("stuck").size(), 1u) << "it keeps its number";
    EXPECT_EQ(world.job("stuck").submit_ms, 0);
  }
}

TEST(Refused, EachNodeIsTriedBeforeOneIsTriedAgain) {
  World world(8);
  world.create({"volume", 1, 4, only_on("n6")});
  world.run_until(2 * kHourMs);
  const std::vector<std::string>& places = world.places("volume");
  EXPECT_EQ(std::set<std::string>(places.begin(), places.end()).size(), places.size());
  EXPECT_EQ(places.back(), "n6");
  EXPECT_EQ(world.job("volume").state, JobState::kRunning);
  EXPECT_EQ(world.jobs_of("volume").size(), 1u);
}

// The second node is tried at once, after that there are pauses, which double up to ten minutes.
TEST(Refused, PausesDouble) {
  World world(3);
  world.create({"stuck", 1, 4, nowhere});
  world.run_until(3 * kHourMs);
  const std::size_t in_three_hours = world.attempts("stuck");
  world.run_until(4 * kHourMs);
  const std::size_t in_the_fourth = world.attempts("stuck") - in_three_hours;
  EXPECT_GE(in_the_fourth, 5u);
  EXPECT_LE(in_the_fourth, 6u) << "ten minutes, and what an attempt takes";
}

TEST(Refused, OthersWithSuchPodsAreNotKeptWaiting) {
  World world(2);
  world.create({"volume", 1, 8, nowhere});
  world.run_until(40 * kSecondMs);  // both nodes were refused
  world.create({"other", 1, 8, anywhere});
  world.create({"third", 1, 8, anywhere});
  world.run_until(world.now() + 3 * kSayMs);  // one attempt of the first may be under way
  EXPECT_EQ(world.job("other").state, JobState::kRunning);
  EXPECT_EQ(world.job("third").state, JobState::kRunning);
}

// Nothing but the node that was refused is free, and it is free for others.
TEST(Refused, WhereOnlyARefusedNodeIsFreeItWaitsAndSaysSo) {
  World world(1);
  world.create({"volume", 1, 4, nowhere});
  world.run_until(kSayMs + 3 * kSecondMs);
  const JobRow job = world.job("volume");
  EXPECT_EQ(job.state, JobState::kQueued);
  const auto why = world.engine().explain(job.id, world.now());
  ASSERT_EQ(why->reasons.size(), 1u);
  EXPECT_EQ(why->reasons[0].token, ReasonToken::kUnschedulable);
  EXPECT_EQ(why->reasons[0].subject, "n0");
  EXPECT_NE(why->reasons[0].detail.find("0/9 nodes are available"), std::string::npos);
  EXPECT_EQ(world.engine().first_reason(job.id, 1)->token, ReasonToken::kUnschedulable);
  EXPECT_EQ(world.attempts("volume"), 1u);
  world.create({"other", 1, 4, anywhere});
  world.run_until(world.now() + kSecondMs);
  EXPECT_EQ(world.job("other").state, JobState::kStarting);
  world.run_until(25 * kSecondMs);
  EXPECT_EQ(world.attempts("volume"), 2u) << "after ten seconds";
}

TEST(Refused, ANodeThatComesEndsThePause) {
  World world(2);
  world.create({"volume", 1, 4, only_on("n2")});
  world.run_until(5 * kMinuteMs);
  const JobRow job = world.job("volume");
  ASSERT_EQ(job.state, JobState::kPaused);
  ASSERT_TRUE(job.refused);
  EXPECT_EQ(world.engine().beside_queue(JobId(), 10, "ml").size(), 1u);
  EXPECT_TRUE(world.engine().beside_queue(JobId(), 10, "other").empty());
  world.add_node("n2");
  EXPECT_EQ(world.job("volume").state, JobState::kStarting);
  world.run_until(world.now() + kSayMs);
  EXPECT_EQ(world.job("volume").state, JobState::kRunning);
  EXPECT_FALSE(world.job("volume").refused);
  EXPECT_TRUE(world.engine().beside_queue(JobId(), 10, "").empty());
}

// A hundred jobs that fit nowhere, and one after the other that would: none of these waits for long.
TEST(Refused, ManyThatFitNowhereLeaveTheFleetToOthers) {
  World world(4);
  for (int i = 0; i < 30; ++i) world.create({"stuck-" + std::to_string(i), 1, 4, nowhere});
  world.run_until(30 * kMinuteMs);
  int ran = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "good-" + std::to_string(i);
    world.create({name, 1, 8, anywhere, kMinuteMs});
    world.run_until(world.now() + 2 * kMinuteMs);
    ran += world.attempts(name) > 0 ? 1 : 0;
  }
  EXPECT_EQ(ran, 20);
}

TEST(Refused, ARestartForgetsNothing) {
  World world(2);
  world.create({"stuck", 1, 4, nowhere});
  world.run_until(5 * kMinuteMs);
  Engine again;
  for (const Fact& fact : world.engine().checkpoint()) again.evolve(fact);
  const JobRow job = world.job("stuck");
  EXPECT_EQ(again.explain(job.id, again.now())->reasons,
            world.engine().explain(job.id, world.now())->reasons);
}

}  // namespace
}  // namespace subak
