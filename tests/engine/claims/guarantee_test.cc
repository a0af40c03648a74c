// Random worlds with edits and lost nodes, against an exhaustive search for claims:
//   first turn  a job for which the search finds a place has a claim after the pass, and no other
//               job gets what is claimed
//   guarantee   the claimant starts before the longest minimum run that a giver had left, the
//               longest grace and two passes are over, unless an outside event breaks the claim
// SUBAK_GUARANTEE_STEPS sets the number of steps (default 100000), SUBAK_CLAIM_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/text.h"
#include "tests/engine/claims/exhaustive.h"
#include "tests/engine/claims/random_world.h"

namespace subak::claim_model {
namespace {

constexpr int kStepsOfWorld = 500;

struct Counts {
  std::size_t claims = 0;     // of jobs of one shape, judged
  std::size_t kept = 0;       // their claimants started in time
  std::size_t cancelled = 0;  // the claimant left the queue
  std::size_t broken = 0;     // an outside event ended the claim
  std::size_t open = 0;       // the world ended before
  std::size_t nowhere = 0;    // waiting jobs for which no place was found
  std::size_t again = 0;      // looks that would need a job that gave to a waiting claim
  std::size_t soon = 0;       // looks of jobs that wait for the victims of others
  std::size_t large = 0;      // too many givers for the search
  std::size_t several = 0;    // claims of jobs with several shapes, not judged
  std::size_t several_late = 0, several_missed = 0;  // started too late; no claim, but a place
};

class GuaranteeWorld : public RandomWorld {
 public:
  GuaranteeWorld(std::uint64_t seed, Counts& counts) : RandomWorld(seed, {}), counts_(counts) {}
  ~GuaranteeWorld() override { counts_.open += due_.size(); }

  void step() {
    wait(kStep);
    clear_disturbed();
    outside_event();
    ASSERT_TRUE(settle()) << "passes have no end";
    for (const auto& [job, due] : due_) {
      EXPECT_LE(now(), due) << text::job_id_text(job) << " waits" << text_of(engine(), books());
    }
  }

 private:
  void before(const Fact& fact) override {
    if (const auto* const claimed = std::get_if<fact::Claimed>(&fact.body)) {
      claimed->cause == ClaimCause::kMade ? made(*claimed) : ended(*claimed);
    } else if (const auto* const moved = std::get_if<fact::JobMoved>(&fact.body)) {
      counts_.cancelled += due_.erase(moved->id);
    } else if (const auto* const started = std::get_if<fact::AttemptStarted>(&fact.body)) {
      expect_unclaimed(started->id, started->slots);
      const auto several = due_several_.find(started->id);
      if (several != due_several_.end()) {
        if (now() > several->second) ++counts_.several_late;
        due_several_.erase(several);
      }
      const auto due = due_.find(started->id);
      if (due != due_.end()) {
        ++counts_.kept;
        due_.erase(due);
      }
    }
  }

  void made(const fact::Claimed& claim) {
    const Job& job = books().jobs.at(claim.job);
    const Exhaustive search(engine(), books(), Again::kNot);
    const Place place = search.find(job);
    expect_unclaimed(claim.job, claim.slots);
    const TimeMs until = now() + search.longest_run_left(now()) + kMostGrace + 2 * kStep;
    if (!job.has_one_shape()) {
      ++counts_.several;
      due_several_[claim.job] = until;
      return;
    }
    EXPECT_TRUE(place == Place::kTaken || place == Place::kTooLarge)
        << text::job_id_text(claim.job) << " claims, and the search finds "
        << static_cast<int>(place) << text_of(engine(), books());
    ++counts_.claims;
    due_[claim.job] = until;
  }

  void ended(const fact::Claimed& claim) {
    due_several_.erase(claim.job);
    if (due_.erase(claim.job) == 0) return;
    EXPECT_TRUE(is_disturbed()) << text::job_id_text(claim.job) << " lost its claim, cause "
                                << static_cast<int>(claim.cause) << text_of(engine(), books());
    ++counts_.broken;
  }

  void expect_unclaimed(JobId job, const std::vector<PodSlot>& slots) const {
    for (const auto& [claimant, claim] : books().claims) {
      if (claimant == job) continue;
      for (const PodSlot& theirs : claim.slots) {
        for (const PodSlot& slot : slots) {
          EXPECT_TRUE(slot.node != theirs.node || (slot.gpu_mask & theirs.gpu_mask) == 0)
              << text::job_id_text(job) << " gets what is claimed for "
              << text::job_id_text(claimant);
        }
      }
    }
  }

  // Whoever waits without a claim has no place.
  void after_pass() override {
    if (engine().pass_due()) return;
    const Exhaustive search(engine(), books(), Again::kNot);
    const Exhaustive again(engine(), books(), Again::kToo);
    std::set<std::tuple<AccountId, std::vector<int>, std::string>> asked;
    for (const auto& [id, job] : books().jobs) {
      if (job.state != JobState::kQueued || books().claims.contains(id)) continue;
      if (!asked.emplace(job.leaf, job.pods, job.product).second) continue;
      const Place place = search.find(job);
      if (place == Place::kTooLarge) {
        ++counts_.large;
      } else if (place == Place::kNone) {
        again.find(job) == Place::kNone ? ++counts_.nowhere : ++counts_.again;
      } else if (place == Place::kSoon) {
        ++counts_.soon;
      } else if (!job.has_one_shape()) {
        ++counts_.several_missed;
      } else {
        ADD_FAILURE() << text::job_id_text(id)
                      << " has a place and no claim: " << static_cast<int>(place)
                      << text_of(engine(), books());
      }
    }
  }

  Counts& counts_;
  // By claimant: when it runs at the latest.
  std::map<JobId, TimeMs> due_;
  // The same for those that are not judged.
  std::map<JobId, TimeMs> due_several_;
};

TEST(Guarantee, WhoHasAPlaceByExhaustiveSearchClaimsItAndStartsInTime) {
  const std::uint64_t steps = setting("SUBAK_GUARANTEE_STEPS", 100'000);
  Counts counts;
  for (std::uint64_t done = 0, seed = setting("SUBAK_CLAIM_SEED", 1); done < steps; ++seed) {
    GuaranteeWorld world(seed, counts);
    for (int i = 0; i < kStepsOfWorld && done < steps; ++i, ++done) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(i));
      world.step();
      if (HasFailure()) return;
    }
  }
  std::printf(
      "%zu claims judged: %zu started in time, %zu cancelled, %zu broken from outside, %zu open at "
      "the end; "
      "%zu looks without a place, %zu that need a job again, %zu soon, %zu too large; several "
      "shapes: %zu claims, %zu late, %zu missed\n",
      counts.claims, counts.kept, counts.cancelled, counts.broken, counts.open, counts.nowhere,
      counts.again, counts.soon, counts.large, counts.several, counts.several_late,
      counts.several_missed);
  EXPECT_GT(counts.kept, steps / 100);
}

}  // namespace
}  // namespace subak::claim_model
