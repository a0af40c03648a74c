#include <algorithm>
#include <iterator>

#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

// Makes a member contradict its gang.
void disagree(Rng& rng, PodRecord& pod) {
  if (rng.percent(50)) {
    ++pod.gang_size;
  } else {
    pod.terms.topology = pod.terms.topology == Topology::kNode ? Topology::kAny : Topology::kNode;
  }
}

PodShape non_gpu_shape(Rng& rng) {
  PodShape s;
  s.cpu_milli = rng.between(1, 20) * 100;
  return s;
}

}  // namespace

PodShape RandomWorld::shape() {
  PodShape s;
  s.kind = GpuKind::kWhole;
  constexpr std::int64_t kSizes[] = {1, 1, 1, 2, 4, 8};
  s.gpus = kSizes[rng_.below(std::size(kSizes))];
  if (!options_.plain && s.gpus == 2) s.extended = {{"rdma/hca", 1}};
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

// The owner of a gang's pods, some of which may exist, says that the others come later.
in::Body RandomWorld::gang_seen() {
  if (unfinished_.empty()) return in::Pass{};
  const PodRecord& pod = unfinished_[rng_.below(unfinished_.size())].pod;
  if (pod.gang.empty() || pod.gang_size < 2) return in::Pass{};
  const auto least = static_cast<std::uint32_t>(rng_.between(1, pod.gang_size - 1));
  PodShape later = pod.shape;
  if (!options_.plain && rng_.percent(5)) later.cpu_milli += 100;
  return in::GangSeen{
      "watched", pod.ns, pod.gang, pod.owner, {{least, pod.shape}, {pod.gang_size - least, later}},
      least};
}

// Most segments do not divide the gang, and some are larger than it.
void RandomWorld::add_segments(PodRecord& pod) {
  constexpr Topology kWishes[] = {Topology::kAny, Topology::kAny, Topology::kNvlink,
                                  Topology::kNvlinkExclusive, Topology::kNode};
  pod.terms.segment = static_cast<std::uint32_t>(rng_.between(1, pod.gang_size + 1));
  pod.terms.topology = kWishes[rng_.below(std::size(kWishes))];
  pod.terms.prefer = rng_.percent(20);
  pod.terms.balanced = may_balance(pod.terms.topology, pod.terms.segment) && rng_.percent(40);
}

// Returns some pod of those that have to come.
in::PodSeen RandomWorld::next_pod() {
  constexpr std::size_t kRemembered = 8;
  std::swap(unfinished_[rng_.below(unfinished_.size())], unfinished_.back());
  in::PodSeen seen = std::move(unfinished_.back());
  unfinished_.pop_back();
  seen.pod.foreign_gates = rng_.percent(5);
  records_[seen.pod.uid] = seen.pod;
  gated_.push_back(seen);
  if (gated_.size() > kRemembered) gated_.erase(gated_.begin());
  return seen;
}

// Returns what the pods of a gang, or a pod alone, have in common. `name`: of the gang or the pod.
PodRecord RandomWorld::some_record(const std::string& account, const std::string& name) {
  PodRecord pod;
  pod.ns = rng_.percent(3) ? "late" : "ns-" + account;
  pod.gang_size = rng_.percent(50) ? 1 : static_cast<std::uint32_t>(rng_.between(2, 4));
  if (pod.gang_size > 1 || rng_.percent(50)) pod.gang = name;
  if (rng_.percent(50)) pod.owner = "owner-" + name;
  pod.shape = shape();
  pod.terms.compute_domain = !options_.plain && serial_ % 4 == 0;
  pod.terms.not_preemptible = serial_ % 7 == 0;
  if (serial_ % 5 < 3)
    pod.owners.workload = {"Deployment", "w", "uid-w" + std::to_string(serial_ % 2)};
  if (!options_.plain && !pod.gang.empty()) {
    pod.replaced_alone = serial_ % 3 == 0;
    pod.owners.size_of_owner = serial_ % 2 == 0;
  }
  if (!options_.plain && pod.gang_size > 1 && rng_.percent(25)) add_segments(pod);
  pod.gated = !rng_.percent(3);
  pod.controlled = rng_.percent(70);
  if (rng_.percent(50)) pod.user = "u" + std::to_string(rng_.below(3));
  if (rng_.percent(20)) pod.priority = 10;
  if (options_.has_classes() && serial_ % 3 != 0)
    pod.priority_class = pod.priority != 0 ? "prod" : "batch";
  if (rng_.percent(30)) pod.time_limit_ms = some_limit();
  if (rng_.percent(30)) pod.created_at_ms = now_ - rng_.between(0, 10 * kMinuteMs);
  return pod;
}

in::Body RandomWorld::new_pod() {
  if (!unfinished_.empty() && rng_.percent(75)) return next_pod();
  const std::string account = some_account();
  const std::string name = "pod-" + std::to_string(++serial_);
  in::PodSeen seen{"watched", some_record(account, name)};
  for (std::uint32_t rank = 0; rank < seen.pod.gang_size; ++rank) {
    seen.pod.rank = static_cast<std::int32_t>(rank);
    seen.pod.name = name + "-" + std::to_string(rank);
    seen.pod.uid = "uid-" + std::to_string(++serial_);
    unfinished_.push_back(seen);
    if (seen.pod.gang_size > 1 && rng_.percent(3)) disagree(rng_, unfinished_.back().pod);
    if (seen.pod.terms.segment > 0 && rng_.percent(3)) unfinished_.back().pod.rank = -1;
  }
  return next_pod();
}

// A person narrows the request of a pod, which may have lost its gate or ended meanwhile.
in::Body RandomWorld::changed_pod() {
  if (gated_.empty()) return in::Pass{};
  in::PodSeen& seen = gated_[rng_.below(gated_.size())];
  if (seen.pod.shape.kind == GpuKind::kWhole) {
    seen.pod.shape.products = {rng_.percent(60) ? "NVIDIA-H100-80GB-HBM3"
                                                : "NVIDIA-A100-SXM4-80GB"};
  }
  return seen;
}

// A controller makes a pod of a gang again before the old one is gone.
in::Body RandomWorld::remake_pod() {
  if (records_.empty()) return in::Pass{};
  auto it = std::next(records_.begin(), static_cast<std::ptrdiff_t>(rng_.below(records_.size())));
  if (!it->second.controlled || it->second.gang.empty()) return in::Pass{};
  in::PodSeen again{"watched", it->second};
  again.pod.uid = "uid-" + std::to_string(++serial_);
  // Its owner was scaled meanwhile.
  if (again.pod.owners.size_of_owner) again.pod.gang_size = 1 + (again.pod.gang_size + 1) % 4;
  again.pod.gated = true;
  again.pod.foreign_gates = again.pod.running = false;
  again.pod.node.clear();
  again.pod.let_go_to.clear();
  records_[again.pod.uid] = again.pod;
  return again;
}

// A person removes a gate: Subak's by hand, or their own.
in::Body RandomWorld::take_gate() {
  if (records_.empty()) return in::Pass{};
  PodRecord& record =
      std::next(records_.begin(), static_cast<std::ptrdiff_t>(rng_.below(records_.size())))->second;
  if (record.foreign_gates) {
    record.foreign_gates = false;
  } else if (!options_.plain && rng_.percent(20)) {
    record.gated = false;
  }
  return say_again(record);
}

in::Body RandomWorld::say_again(const PodRecord& record) const {
  in::PodSeen seen{"watched", record};
  seen.pod.running = false;  // reported separately
  return seen;
}

void RandomWorld::gone(JobId job, std::uint32_t rank, Cause cause) {
  const auto seat = seats_.find({job, rank});
  if (seat == seats_.end()) return;
  const auto record = records_.find(seat->second);
  if (record != records_.end()) {
    PodRecord again = record->second;
    records_.erase(record);
    const bool remade = again.controlled && !again.gang.empty() && cause != Cause::kFinished &&
                        !owners_.is_suspended(again.owner);
    if (remade && rng_.percent(70)) {
      again.uid = "uid-" + std::to_string(++serial_);
      again.gated = true;
      again.running = again.foreign_gates = false;
      again.node.clear();
      again.let_go_to.clear();
      unfinished_.push_back({"watched", again});
    }
  }
  seats_.erase(seat);
}

void RandomWorld::note_pods(const Fact& fact) {
  if (const auto* added = std::get_if<fact::PodAdded>(&fact.body)) {
    seats_[{added->job, added->rank}] = added->uid;
  } else if (const auto* seated = std::get_if<fact::PodSeated>(&fact.body)) {
    seats_[{seated->job, seated->rank}] = seats_[{seated->job, seated->from}];
    seats_.erase({seated->job, seated->from});
  } else if (const auto* ranked = std::get_if<fact::PodsRanked>(&fact.body)) {
    const auto before = seats_;
    for (const auto& [from, rank] : ranked->moves) {
      seats_[{ranked->job, rank}] = before.at({ranked->job, from});
    }
  } else if (const auto* went = std::get_if<fact::PodGone>(&fact.body)) {
    gone(went->job, went->rank, went->cause);
  }
}

// A pod that was bound without Subak, somewhere.
in::Body RandomWorld::foreign_pod() {
  in::PodSeen seen;
  seen.cluster = "watched";
  seen.pod.ns = rng_.percent(70) ? "ns-" + some_account() : rng_.percent(50) ? "late" : "nobodys";
  seen.pod.name = "foreign-" + std::to_string(++serial_);
  seen.pod.uid = "uid-" + std::to_string(serial_);
  seen.pod.shape = rng_.percent(30) ? non_gpu_shape(rng_) : shape();
  seen.pod.terms.compute_domain = serial_ % 4 == 0;
  seen.pod.terms.not_preemptible = serial_ % 7 == 0;
  seen.pod.node = node_name(1 + 2 * rng_.below(8));
  seen.pod.running = rng_.percent(70);
  seen.pod.gated = rng_.percent(10);
  if (rng_.percent(40)) seen.pod.bound_at_ms = now_ - rng_.between(0, kHourMs);
  if (seen.pod.shape.kind == GpuKind::kNone) {
    constexpr std::size_t kRemembered = 24;
    light_.push_back(seen);
    if (light_.size() > kRemembered) light_.erase(light_.begin());
  } else {
    records_[seen.pod.uid] = seen.pod;
  }
  return seen;
}

// A non-GPU pod ends, in either way that an end is reported, or is reported once more.
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
  if (pod.state == Pod::State::kDoomed && rng_.percent(10)) {
    return in::PodRefused{cluster, reference, Cause::kEvictRefused};
  }
  if (pod.state == Pod::State::kDoomed || rng_.percent(5)) return end_pod(pod);
  if (pod.state == Pod::State::kOpen) {
    const auto record = records_.find(pod.uid);
    if (record != records_.end() && record->second.gated && rng_.percent(50)) {
      if (rng_.percent(10)) return in::PodRefused{cluster, reference, Cause::kReleaseRefused};
      record->second.gated = false;
      record->second.let_go_to = pod.node;
      return say_again(record->second);
    }
    if (rng_.percent(2)) return in::PodRefused{cluster, reference, Cause::kUnschedulable};
    std::string node = pod.node;
    if (!options_.plain && rng_.percent(3)) node = node_name(rng_.below(16));
    // Reports may be out of order: the pod runs before its binding, or its node, is known.
    if (!options_.plain && rng_.percent(5)) return in::PodRunning{cluster, reference, 0};
    if (rng_.percent(10)) return in::Pass{};  // slow to bind: the hold may run out
    pod.state = Pod::State::kBound;
    pod.node = node;
    if (record != records_.end()) {
      record->second.gated = record->second.foreign_gates = false;
      record->second.node = node;
    }
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
  owners_.saw(effect);
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
