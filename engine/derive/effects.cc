// The effects that follow from the state.
#include "engine/derive/effects.h"

#include <utility>

#include "core/must.h"
#include "engine/derive/preemption/lending.h"

namespace subak::derive {
namespace {

bool concerns(const state::Job& job, std::uint32_t rank) {
  const state::Pod& pod = job.pods[rank];
  if (job.state == JobState::kStarting) return pod.state == PodState::kHeld && !pod.is_expected();
  return must_go(job, rank);
}

}  // namespace

bool must_go(const state::Job& job, std::uint32_t rank) {
  must(rank < job.pods.size(), "a rank is one of the job's");
  const state::Pod& pod = job.pods[rank];
  if (job.state != JobState::kEnding || !pod.is_live()) return false;
  return job.ends_for_good() || pod.holds_slot() || (rank < job.ranks() && !is_closed(pod.gate));
}

std::optional<Effect> effect_of(const State& s, const state::Job& job) {
  if (job.state == JobState::kDone) return std::nullopt;
  const bool ends = job.state == JobState::kEnding;
  Effect effect;
  effect.kind = ends                               ? EffectKind::kEvict
                : job.state == JobState::kStarting ? EffectKind::kOpenGate
                                                   : EffectKind::kKeepClosed;
  effect.cluster = job.id.cluster();
  effect.job = job.id;
  effect.attempt = job.attempt;
  const state::Cluster& cluster = s.clusters().at(job.id.cluster());
  effect.session = cluster.owned ? 0 : cluster.session;
  effect.until_ms = effect.kind == EffectKind::kOpenGate ? job.until_ms : 0;
  if (ends) effect.cause = job.stop;
  if (effect.cause == Cause::kPreempted && job.extras().preempted != nullptr)
    effect.preemption = preemption_of(s, job);
  if (effect.kind == EffectKind::kOpenGate) effect.loan = loan_of(s, job);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    const state::Pod& pod = job.pods[rank];
    if (pod.may_be_opened()) {
      EffectPod& kept = effect.keep_closed.emplace_back();
      kept.rank = rank;
      kept.uid = pod.uid;
      kept.name = pod.name;
    }
    if (!concerns(job, rank)) continue;
    EffectPod& out = effect.pods.emplace_back();
    out.rank = rank;
    out.uid = pod.uid;
    out.name = pod.name;
    const PodShape& shape = state::shape_of(s.fleet(), pod);
    out.kind = shape.kind;
    out.gpus = shape.gpus;
    out.profile = shape.profile;
    if (!pod.holds_slot()) continue;
    must(s.fleet().node(pod.slot.node) != nullptr, "a hold is on a node of the fleet");
    out.node = s.fleet().node(pod.slot.node)->name;
    out.gpu_mask = pod.slot.gpu_mask;
    out.milligpu = pod.slot.milligpu;
  }
  must(!ends || effect.cause != Cause::kNone, "a job that ends has a cause");
  if (job.is_parked() && (job.state == JobState::kStarting || job.ends_for_good()))
    effect.owner = job.pod_origin->owner;
  if (effect.pods.empty() && effect.keep_closed.empty() && effect.owner.empty())
    return std::nullopt;
  return effect;
}

std::vector<Effect> outstanding(const State& s, ClusterId cluster) {
  std::vector<Effect> out;
  for (const BlockSet<JobId>* const some :
       {&s.jobs().sets().waiting_again(), &s.jobs().sets().active()}) {
    for (const JobId id : *some) {
      if (id.cluster() != cluster) continue;
      if (auto effect = effect_of(s, s.jobs().at(id))) out.push_back(std::move(*effect));
    }
  }
  return out;
}

}  // namespace subak::derive
