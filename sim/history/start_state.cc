#include "sim/history/start_state.h"

#include <iterator>
#include <optional>
#include <utility>
#include <variant>

namespace subak::sim {
namespace {

bool is_placed_by_subak(const fact::JobCreated& job) {
  return job.origin == JobOrigin::kApi || job.origin == JobOrigin::kPods;
}

// The pods of a job with holds, as bound pods of an API job. A rank without a hold counts as ended,
// because an attempt goes on without it.
std::vector<fact::JobSnapshot::Pod> bound_pods(std::vector<fact::JobSnapshot::Pod> pods,
                                               std::uint32_t ranks) {
  pods.resize(ranks);
  for (fact::JobSnapshot::Pod& pod : pods) {
    fact::JobSnapshot::Pod kept;
    kept.slot = pod.slot;
    kept.since_ms = pod.since_ms;
    const bool holds = pod.slot.node != NodeId();
    kept.state = !holds                            ? PodState::kGone
                 : pod.state == PodState::kRunning ? PodState::kRunning
                                                   : PodState::kBound;
    if (holds) kept.seen_ms = pod.seen_ms;
    pod = std::move(kept);
  }
  return pods;
}

// The job as a job of the API; nullopt if it must be left out.
std::optional<fact::JobSnapshot> as_api_job(fact::JobSnapshot kept) {
  const std::uint32_t ranks = kept.job.request.pods();
  const bool waits = is_waiting(kept.job.state);
  if (kept.job.state == JobState::kIncomplete || ranks == 0 || !kept.job.leaf ||
      kept.job.leaf == kUnassigned) {
    return std::nullopt;
  }
  fact::JobCreated& job = kept.job;
  job.origin = JobOrigin::kApi;
  job.gang = job.replaced_alone = false;
  job.gang_size = ranks;
  job.owner.clear();
  job.account.clear();
  job.user.clear();
  job.of_pods = {};
  kept.stop = Cause::kNone;
  kept.run.end_refused_ms = kept.run.finishing_ms = 0;
  kept.run.finished_on.clear();
  if (waits) {
    kept.pods.clear();
    return kept;
  }
  job.state = JobState::kRunning;
  kept.until_ms = 0;
  kept.pods = bound_pods(std::move(kept.pods), ranks);
  return kept;
}

// Gathers the facts of a state, each changed as the header says.
class Gatherer {
 public:
  explicit Gatherer(StartState& out) : out_(out) {}
  void add(const Fact& fact) {
    if (const auto* const kept = std::get_if<fact::JobSnapshot>(&fact.body)) {
      return add_job(fact, *kept);
    }
    if (std::holds_alternative<fact::Claimed>(fact.body)) return;
    if (std::holds_alternative<fact::RequestSnapshot>(fact.body)) return;
    out_.facts.push_back(fact);
    auto* const synced = std::get_if<fact::ClusterSynced>(&out_.facts.back().body);
    if (synced != nullptr) *synced = {synced->id, true, false, synced->session, 0};
    auto* const set = std::get_if<fact::PolicySet>(&out_.facts.back().body);
    if (set != nullptr) set->policy.fair_share.change = {};
  }

 private:
  void add_job(const Fact& fact, const fact::JobSnapshot& part) {
    pods_.insert(pods_.end(), part.pods.begin(), part.pods.end());
    if (part.more) return;
    fact::JobSnapshot whole = part;
    whole.pods = std::exchange(pods_, {});
    const bool lives = whole.job.state != JobState::kDone;
    if (!lives || !is_placed_by_subak(whole.job)) {
      out_.facts.push_back({0, fact.time_ms, std::move(whole)});
    } else if (auto job = as_api_job(std::move(whole))) {
      out_.facts.push_back({0, fact.time_ms, std::move(*job)});
    }
  }

  StartState& out_;
  // The pods of the job whose last fact has not come yet.
  std::vector<fact::JobSnapshot::Pod> pods_;
};

}  // namespace

StartState start_state(const Engine& engine) {
  StartState out;
  if (engine.seq() == 0) return out;
  out.seq = engine.seq();
  Gatherer gatherer(out);
  engine.checkpoint([&](const Fact& fact) { gatherer.add(fact); });
  return out;
}

std::unique_ptr<Engine> engine_of(const StartState& state) {
  auto engine = std::make_unique<Engine>();
  for (const Fact& fact : state.facts) engine->evolve(fact);
  if (state.seq != 0) engine->set_seq(state.seq);
  return engine;
}

}  // namespace subak::sim
