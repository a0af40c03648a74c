// Random worlds of claims, in which each victim ends within its grace:
//   guarantee  a claim lasts until its claimant starts. That takes no longer than the minimum run
//              that its victims have left, the grace, and two passes.
//   calm       between two outside events (an arrival or an end) no job is preempted twice.
// SUBAK_CLAIM_ROUNDS sets how many outside events there are (default 2000), SUBAK_CLAIM_SEED the
// first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/text.h"
#include "engine/engine.h"

namespace subak {
namespace {

constexpr DurationMs kStep = 10 * kSecondMs;
constexpr DurationMs kGrace = 30 * kSecondMs;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    send(in::SetPolicy{});
    in::SetCluster cluster;
    cluster.name = "main";
    cluster.mode = Mode::kEnforce;
    send(cluster);
    in::ImportNodes import;
    import.cluster = "main";
    for (int i = 0; i < 12; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(i);
      node.product = i < 8 ? "GB200" : "H100";
      node.gpus = 4;
      if (i < 8) node.clique = "x" + std::to_string(i / 2);
      import.nodes.push_back(node);
    }
    send(import);
    account("d", 28);
    account("d.a", 16);
    account("d.b", 12);
    account("e", 12);
    account("e.c", 2 + below(8));
    account("f", below(4));
  }

  // One arrival or end, then nothing from outside until all claims have ended.
  void round() {
    preempted_.clear();
    outside_event();
    advance();
    for (int step = 0; !engine_.claims("").empty() && !testing::Test::HasFailure(); ++step) {
      ASSERT_LT(step, 200) << "claims last";
      advance();
    }
  }

  std::size_t claims() const { return claims_; }
  std::size_t preemptions() const { return preemptions_; }

 private:
  struct Running {
    std::size_t pods = 0;
    // When it ends as a victim; 0: it was not asked.
    TimeMs until_ms = 0;
  };

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  ApplyOutcome send(in::Body body) {
    ApplyOutcome outcome = engine_.apply({now_, "", "ana", std::move(body)});
    EXPECT_FALSE(outcome.reply.error) << outcome.reply.error->message();
    for (const Effect& effect : outcome.effects) note(effect);
    return outcome;
  }

  void note(const Effect& effect) {
    if (effect.kind == EffectKind::kOpenGate) {
      opened_.push_back(effect);
    } else if (effect.kind == EffectKind::kEvict) {
      EXPECT_EQ(effect.cause, Cause::kPreempted);
      ++preemptions_;
      EXPECT_EQ(++preempted_[effect.job], 1) << text::job_id_text(effect.job) << " again";
      running_.at(effect.job).until_ms = now_ + below(kGrace);
    }
  }

  void account(const std::string& path, std::int64_t quota) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = 1 + static_cast<std::uint32_t>(below(3));
    if (quota > 0) set.spec.quota = {{kAnyProduct, quota * kMilliPerGpu}};
    send(set);
  }

  void outside_event() {
    if (running_.size() + engine_.count(JobState::kQueued) > 20 || below(3) == 0) {
      if (!running_.empty()) {
        const auto it = std::next(running_.begin(), below(std::ssize(running_)));
        end(it->first, Cause::kFinished);
      }
      return;
    }
    static const std::vector<std::string> kAccounts{"d.a", "d.b", "e.c", "f", "d.a.u"};
    in::SubmitJob job;
    job.cluster = "main";
    job.account = kAccounts[static_cast<std::size_t>(below(4))];
    job.priority = static_cast<std::int32_t>(below(3));
    job.request.groups.resize(1);
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = below(3) == 0 ? 1 + below(4) : 4;
    const bool gang = below(3) == 0;
    job.request.groups[0].count = gang ? 2 : 1;
    if (gang && below(2) == 0) job.request.terms.topology = Topology::kNvlink;
    if (gang && below(3) == 0) job.request.terms.topology = Topology::kNvlinkExclusive;
    send(job);
  }

  void end(JobId job, Cause cause) {
    const Running ended = running_.at(job);
    running_.erase(job);
    for (std::uint32_t rank = 0; rank < ended.pods; ++rank) {
      send(in::PodGone{.cluster = "main",
                       .pod = {.uid = {}, .job = job, .rank = rank, .attempt = 0},
                       .ended_at_ms = 0,
                       .cause = cause});
    }
  }

  // The next instant: victims end, and there are passes until none is due.
  void advance() {
    now_ += kStep;
    std::vector<JobId> over;
    for (const auto& [job, running] : running_) {
      if (running.until_ms != 0 && running.until_ms <= now_) over.push_back(job);
    }
    for (const JobId job : over) end(job, Cause::kPreempted);
    send(in::Tick{});
    do {
      send(in::Pass{});
      bind();
    } while (engine_.pass_due());
    judge();
  }

  void bind() {
    for (const Effect& effect : std::exchange(opened_, {})) {
      running_[effect.job] = {effect.pods.size(), 0};
      for (const EffectPod& pod : effect.pods) {
        const PodRef ref{.uid = {}, .job = effect.job, .rank = pod.rank, .attempt = 0};
        send(in::PodBound{.cluster = "main", .pod = ref, .node = pod.node, .at_ms = 0});
      }
    }
  }

  // Each claim that was there lasts, or its claimant runs. None lasts too long.
  void judge() {
    std::map<JobId, TimeMs> latest;
    for (const ClaimRow& claim : engine_.claims("")) {
      const auto known = latest_.find(claim.job);
      if (known == latest_.end()) ++claims_;
      TimeMs asked = claim.made_ms;
      for (const ClaimRow::Victim& victim : claim.victims) asked = std::max(asked, victim.ask_ms);
      latest[claim.job] =
          known != latest_.end() ? known->second : asked + kStep + kGrace + 2 * kStep;
      EXPECT_LE(now_, latest[claim.job]) << text::job_id_text(claim.job) << " waits";
    }
    for (const auto& [job, until] : latest_) {
      EXPECT_TRUE(latest.contains(job) || running_.contains(job))
          << text::job_id_text(job) << " lost its claim";
    }
    latest_ = std::move(latest);
  }

  Engine engine_;
  std::mt19937_64 random_;
  TimeMs now_ = 1'767'225'600'000;
  std::map<JobId, Running> running_;
  std::vector<Effect> opened_;
  // By claimant: when it runs at the latest.
  std::map<JobId, TimeMs> latest_;
  // Since the last outside event.
  std::map<JobId, int> preempted_;
  std::size_t claims_ = 0, preemptions_ = 0;
};

TEST(ClaimsModel, ClaimantsStartInTimeAndNobodyIsPreemptedTwice) {
  const std::uint64_t rounds = setting("SUBAK_CLAIM_ROUNDS", 2000);
  const std::uint64_t first = setting("SUBAK_CLAIM_SEED", 1);
  std::size_t claims = 0, preemptions = 0;
  for (std::uint64_t done = 0, seed = first; done < rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int i = 0; i < 200 && done < rounds; ++i, ++done) {
      world.round();
      if (HasFailure()) return;
    }
    claims += world.claims();
    preemptions += world.preemptions();
  }
  std::printf("%zu claims, %zu preemptions in %llu rounds\n", claims, preemptions,
              static_cast<unsigned long long>(rounds));
  EXPECT_GT(claims, rounds / 50);
}

}  // namespace
}  // namespace subak
