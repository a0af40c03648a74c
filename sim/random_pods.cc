#include <algorithm>

#include "sim/random_world.h"

namespace subak::sim {

PodShape RandomWorld::shape() {
  PodShape s;
  s.kind = GpuKind::kWhole;
  constexpr std::int64_t kSizes[] = {1, 1, 1, 2, 4, 8};
  s.gpus = kSizes[rng_.below(std::size(kSizes))];
  if (rng_.percent(15)) s.products = {"NVIDIA-H100-80GB-HBM3"};
  if (!options_.plain && rng_.percent(20)) s.cpu_milli = rng_.between(1, 40) * 100;
  if (options_.plain || rng_.percent(70)) return s;
  switch (rng_.below(3)) {
    case 0:
      s.kind = GpuKind::kFraction;
      s.gpus = 0;
      s.milligpu = rng_.between(1, 9) * 100;
      break;
    case 1:
      s.kind = GpuKind::kShared;
      s.gpus = 1;
      s.products.clear();
      break;
    default:
      s.kind = GpuKind::kMig;
      s.gpus = 1;
      s.profile = rng_.percent(70) ? "1g.10gb" : "3g.40gb";
      s.products.clear();
  }
  return s;
}

in::Body RandomWorld::new_pod() {
  constexpr std::size_t kRemembered = 8;
  const auto next = [this] {
    in::PodSeen seen = std::move(unfinished_.back());
    unfinished_.pop_back();
    gated_.push_back(seen);
    if (gated_.size() > kRemembered) gated_.erase(gated_.begin());
    return seen;
  };
  if (!unfinished_.empty() && rng_.percent(75)) return next();
  in::PodSeen seen;
  seen.cluster = "watched";
  const std::string account = some_account();
  const std::string name = "pod-" + std::to_string(++serial_);
  seen.pod.ns = "ns-" + account;
  seen.pod.gang = name;
  seen.pod.gang_size = rng_.percent(60) ? 1 : static_cast<std::uint32_t>(rng_.between(2, 4));
  seen.pod.shape = shape();
  seen.pod.gated = !rng_.percent(3);
  seen.pod.controlled = rng_.percent(70);
  if (rng_.percent(50)) seen.pod.user = "u" + std::to_string(rng_.below(3));
  if (rng_.percent(20)) seen.pod.priority = 10;
  if (rng_.percent(30)) seen.pod.created_at_ms = now_ - rng_.between(0, 10 * kMinuteMs);
  for (std::uint32_t rank = 0; rank < seen.pod.gang_size; ++rank) {
    seen.pod.rank = static_cast<std::int32_t>(rank);
    seen.pod.name = name + "-" + std::to_string(rank);
    seen.pod.uid = "uid-" + std::to_string(++serial_);
    unfinished_.push_back(seen);
  }
  return next();
}

// Somebody narrows what a pod asks for, which may have left its gate or ended meanwhile.
in::Body RandomWorld::changed_pod() {
  if (gated_.empty()) return in::Pass{};
  in::PodSeen& seen = gated_[rng_.below(gated_.size())];
  if (seen.pod.shape.kind == GpuKind::kWhole) {
    seen.pod.shape.products = {rng_.percent(60) ? "NVIDIA-H100-80GB-HBM3"
                                                : "NVIDIA-A100-SXM4-80GB"};
  }
  return seen;
}

// A pod that was bound without us, somewhere.
in::Body RandomWorld::foreign_pod() {
  in::PodSeen seen;
  seen.cluster = "watched";
  seen.pod.ns = rng_.percent(70) ? "ns-" + some_account() : "nobodys";
  seen.pod.name = "foreign-" + std::to_string(++serial_);
  seen.pod.uid = "uid-" + std::to_string(serial_);
  seen.pod.shape = rng_.percent(30) ? light_shape() : shape();
  seen.pod.node = node_name(1 + 2 * rng_.below(8));
  seen.pod.running = rng_.percent(70);
  seen.pod.gated = rng_.percent(10);
  if (rng_.percent(40)) seen.pod.bound_at_ms = now_ - rng_.between(0, kHourMs);
  if (seen.pod.shape.kind == GpuKind::kNone) {
    constexpr std::size_t kRemembered = 24;
    light_.push_back(seen);
    if (light_.size() > kRemembered) light_.erase(light_.begin());
  }
  return seen;
}

PodShape RandomWorld::light_shape() {
  PodShape s;
  s.cpu_milli = rng_.between(1, 20) * 100;
  return s;
}

// One without GPUs ends, in either way that an end is reported, or is seen once more.
in::Body RandomWorld::light_pod() {
  if (light_.empty()) return in::Pass{};
  in::PodSeen seen = light_[rng_.below(light_.size())];
  if (rng_.percent(40))
    return in::PodGone{seen.cluster, {seen.pod.uid, {}, 0}, 0, Cause::kFinished};
  if (rng_.percent(50)) seen.pod.ended = Cause::kFailed;
  return seen;
}

PodRef RandomWorld::ref(const Pod& pod) {
  if (!pod.uid.empty() && rng_.percent(95)) return {pod.uid, {}, 0};
  return {"", pod.job, pod.rank};
}

in::Body RandomWorld::advance_pod() {
  if (pods_.empty()) return in::Pass{};
  Pod& pod = pods_[rng_.below(pods_.size())];
  const std::string cluster = pod.job.cluster() == ClusterId(1) ? "bare" : "watched";
  const PodRef reference = ref(pod);
  if (pod.state == Pod::State::kDoomed || rng_.percent(5)) return end_pod(pod);
  if (pod.state == Pod::State::kOpen) {
    std::string node = pod.node;
    if (!options_.plain && rng_.percent(3)) node = node_name(rng_.below(16));
    // News may come in another order: it runs before it is known to be bound, or where.
    if (!options_.plain && rng_.percent(5)) return in::PodRunning{cluster, reference, 0};
    if (rng_.percent(10)) return in::Pass{};  // slow to bind: the hold may run out
    pod.state = Pod::State::kBound;
    pod.node = node;
    TimeMs at = 0;
    if (!options_.plain && rng_.percent(20)) at = now_ - rng_.between(0, kMinuteMs);
    return in::PodBound{cluster, reference, node, at};
  }
  if (pod.state == Pod::State::kBound) {
    pod.state = Pod::State::kRunning;
    return in::PodRunning{cluster, reference, 0};
  }
  return rng_.percent(60) ? in::Body(in::Pass{}) : end_pod(pod);
}

in::Body RandomWorld::end_pod(const Pod& pod) {
  in::PodGone gone;
  gone.cluster = pod.job.cluster() == ClusterId(1) ? "bare" : "watched";
  gone.pod = ref(pod);
  constexpr Cause kCauses[] = {Cause::kFinished, Cause::kFinished, Cause::kFailed, Cause::kVanished,
                               Cause::kRejected};
  gone.cause = kCauses[rng_.below(std::size(kCauses))];
  if (!options_.plain && rng_.percent(30)) gone.ended_at_ms = now_ - rng_.between(0, 2 * kMinuteMs);
  return gone;
}

void RandomWorld::open_gate(const Effect& effect) {
  for (const EffectPod& pod : effect.pods) {
    const auto known = std::find_if(pods_.begin(), pods_.end(), [&](const Pod& p) {
      return p.job == effect.job && p.rank == pod.rank;
    });
    const bool evict = effect.kind == EffectKind::kEvict;
    if (known != pods_.end()) {
      if (evict) known->state = Pod::State::kDoomed;
      continue;
    }
    pods_.push_back(
        {effect.job, pod.rank, pod.uid, pod.node, evict ? Pod::State::kDoomed : Pod::State::kOpen});
  }
}

void RandomWorld::forget(JobId job, std::optional<std::uint32_t> rank, bool only_open) {
  std::erase_if(pods_, [&](const Pod& p) {
    return p.job == job && (!rank || p.rank == *rank) &&
           (!only_open || p.state == Pod::State::kOpen);
  });
}

}  // namespace subak::sim
