// Effects as a function of the state.
#include "engine/impl.h"

namespace subak {
namespace {

bool concerns(const Job& job, const Pod& pod) {
  if (!job.cancelling) return pod.state == PodState::kHeld;
  return pod.holds_slot() || (pod.state == PodState::kWaiting && !pod.uid.empty());
}

}  // namespace

// A reserved job wants its gates open, a cancelling one its pods gone.
std::optional<Effect> Engine::Impl::effect_of(const Job& job) const {
  if (!job.cancelling && job.state != JobState::kReserved) return std::nullopt;
  Effect effect;
  effect.kind = job.cancelling ? EffectKind::kEvict : EffectKind::kOpenGate;
  effect.cluster = job.id.cluster();
  effect.job = job.id;
  effect.attempt = job.attempt;
  effect.until_ms = job.cancelling ? 0 : job.until_ms;
  if (job.cancelling) effect.reason = job.outcome == Outcome::kEvicted ? "expired" : "cancelled";
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    const Pod& pod = job.pods[rank];
    if (!concerns(job, pod)) continue;
    EffectPod& out = effect.pods.emplace_back();
    out.rank = rank;
    out.uid = pod.uid;
    out.name = pod.name;
    const PodShape& shape = pod_shape(pod);
    out.kind = shape.kind;
    out.gpus = shape.gpus;
    out.profile = shape.profile;
    if (!pod.holds_slot()) continue;
    out.node = fleet.node(pod.slot.node)->name;
    out.gpu_mask = pod.slot.gpu_mask;
    out.milligpu = pod.slot.milligpu;
  }
  if (effect.pods.empty()) return std::nullopt;
  return effect;
}

std::vector<Effect> Engine::outstanding(ClusterId cluster) const {
  std::vector<Effect> out;
  for (JobId id : impl_->active) {
    if (id.cluster() != cluster) continue;
    if (auto effect = impl_->effect_of(*impl_->find_job(id))) out.push_back(std::move(*effect));
  }
  return out;
}

}  // namespace subak
