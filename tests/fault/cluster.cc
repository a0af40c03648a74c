#include "cluster.h"

#include <algorithm>

namespace subak::fault {
namespace {

constexpr std::size_t kNodes = 6;
constexpr std::size_t kMostLive = 30;
constexpr std::size_t kMostReplaced = 40;
constexpr TimeMs kStart = 1'767'390'000'000;  // evening: a midnight passes
constexpr DurationMs kLife = 3 * kMinuteMs;   // of a pod when all goes on
constexpr const char* kNamespaces[] = {"ns-a", "ns-a", "ns-a.x", "ns-b"};

NodeSpec spec_of(std::size_t i) {
  NodeSpec node;
  node.name = "n" + std::to_string(i);
  node.product = i % 3 == 2 ? "A100" : "H100";
  node.gpus = i % 2 == 0 ? 8 : 4;
  return node;
}

}  // namespace

std::string name_of(const PodRef& ref) {
  if (!ref.uid.empty()) return ref.uid;
  return text::job_id_text(ref.job) + "/" + std::to_string(ref.rank) + "/" +
         std::to_string(ref.attempt);
}

Cluster::Cluster(sim::Rng& rng, const Faults& faults) : now(kStart), rng_(rng), faults_(faults) {
  for (std::size_t i = 0; i < kNodes; ++i) nodes_["n" + std::to_string(i)] = spec_of(i);
}

std::size_t Cluster::live() const {
  return static_cast<std::size_t>(std::count_if(
      pods_.begin(), pods_.end(), [](const auto& entry) { return entry.second.live(); }));
}

std::int64_t Cluster::free_gpus(const NodeSpec& node) const {
  std::int64_t left = node.gpus - node.unhealthy_gpus;
  for (const auto& [key, pod] : pods_) {
    if (pod.occupies() && pod.record.node == node.name) left -= pod.record.shape.gpus;
  }
  return left;
}

// --- what is reported ----------------------------------------------------------------------------

in::Body Cluster::seen(const TruePod& pod) const {
  in::PodSeen seen{kCluster, pod.record};
  if (!pod.live()) {
    seen.pod.ended = pod.cause;
    seen.pod.ended_at_ms = pod.ended_ms;
  }
  return seen;
}

std::vector<in::Body> Cluster::list() const {
  std::vector<in::Body> all;
  for (const auto& [name, node] : nodes_) all.emplace_back(in::NodeSeen{kCluster, node});
  for (const auto& [key, pod] : pods_) {
    const bool launched = pod.ref.uid.empty();
    if (!launched && (pod.live() || pod.ended_ms % 2 == 0)) {  // all of it, in either way
      all.push_back(seen(pod));
      continue;
    }
    if (pod.bound_ms != 0 && (launched || !pod.live())) {
      all.emplace_back(in::PodBound{kCluster, pod.ref, pod.record.node, pod.bound_ms});
    }
    if (pod.live() && launched && pod.running_ms != 0) {
      all.emplace_back(in::PodRunning{kCluster, pod.ref, pod.running_ms});
    }
    if (!pod.live()) {
      all.emplace_back(in::PodGone{kCluster, pod.ref, pod.ended_ms, pod.cause});
    }
  }
  return all;
}

// --- what happens by itself ----------------------------------------------------------------------

void Cluster::act() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 12) {
    if (live() + unborn_.size() < kMostLive) create_gang();
  } else if (dice < 30) {
    if (!unborn_.empty()) bear(rng_.below(unborn_.size()));
  } else if (dice < 36 && faults_.nodes) {
    node_event();
  } else if (dice < 40 && faults_.foreign) {
    rng_.percent(70) ? create_foreign() : let_slip();
  } else if (dice < 44) {
    delete_ended();
  } else if (TruePod* const pod = some_pod()) {
    pod->occupies() ? kubelet(*pod) : schedule(*pod);
  }
}

TruePod* Cluster::some_pod() {
  std::vector<TruePod*> all;
  for (auto& [key, pod] : pods_) {
    if (pod.live()) all.push_back(&pod);
  }
  return all.empty() ? nullptr : all[rng_.below(all.size())];
}

void Cluster::create_gang() {
  const std::string name = "job-" + std::to_string(++serial_);
  PodRecord pod;
  pod.ns = kNamespaces[rng_.below(std::size(kNamespaces))];
  pod.gang_size = rng_.percent(60) ? 1 : static_cast<std::uint32_t>(rng_.between(2, 4));
  pod.shape.kind = GpuKind::kWhole;
  constexpr std::int64_t kSizes[] = {1, 1, 2, 4};
  pod.shape.gpus = kSizes[rng_.below(std::size(kSizes))];
  if (rng_.percent(20)) pod.shape.products = {"H100"};
  if (pod.gang_size > 1 || rng_.percent(50)) pod.gang = name;
  pod.gated = true;
  pod.controlled = rng_.percent(70);
  if (pod.controlled) pod.owner = "owner-" + name;
  if (rng_.percent(40)) pod.user = "u" + std::to_string(rng_.below(2));
  if (rng_.percent(20)) pod.priority = 10;
  for (std::uint32_t rank = 0; rank < pod.gang_size; ++rank) {
    pod.rank = static_cast<std::int32_t>(rank);
    pod.name = name + "-" + std::to_string(rank);
    unborn_.push_back(pod);
  }
}

void Cluster::bear(std::size_t index) {
  TruePod pod;
  pod.record = unborn_[index];
  unborn_.erase(unborn_.begin() + static_cast<std::ptrdiff_t>(index));
  pod.record.uid = pod.ref.uid = "uid-" + std::to_string(++serial_);
  log_.push_back(seen(pods_[pod.ref.uid] = pod));
}

void Cluster::create_foreign() {
  TruePod pod;
  pod.record.ns = rng_.percent(50) ? "nobodys" : "ns-b";
  pod.record.name = "foreign-" + std::to_string(++serial_);
  pod.record.uid = pod.ref.uid = "uid-" + std::to_string(serial_);
  pod.record.shape.kind = GpuKind::kWhole;
  pod.record.shape.gpus = rng_.between(1, 2);
  if (rng_.percent(30)) pod.record.shape = non_gpu_shape();
  for (const auto& [name, node] : nodes_) {
    if (free_gpus(node) < pod.record.shape.gpus || !rng_.percent(50)) continue;
    pod.record.node = name;
    pod.bound_ms = pod.record.bound_at_ms = now;
    log_.push_back(seen(pods_[pod.ref.uid] = pod));
    return;
  }
}

PodShape Cluster::non_gpu_shape() {
  PodShape shape;
  shape.cpu_milli = 100 * rng_.between(1, 9);
  return shape;
}

std::int64_t Cluster::non_gpu_cpu(const std::string& node) const {
  std::int64_t cpu = 0;
  for (const auto& [key, pod] : pods_) {
    const bool here = pod.occupies() && pod.record.node == node;
    if (here && pod.record.shape.kind == GpuKind::kNone) cpu += pod.record.shape.cpu_milli;
  }
  return cpu;
}

void Cluster::let_slip() {
  TruePod* const pod = some_pod();
  if (pod == nullptr || !pod->record.gated) return;
  for (const auto& [name, node] : nodes_) {
    if (!node.ready || free_gpus(node) < pod->record.shape.gpus) continue;
    pod->record.gated = false;
    pod->place = name;
    if (rng_.percent(50)) return bind(*pod, name);
    log_.push_back(seen(*pod));  // the scheduler takes its time
    return;
  }
}

// kube-scheduler: an open pod goes to the one node that its affinity allows.
void Cluster::schedule(TruePod& pod) {
  if (pod.evicted) return end(pod, Cause::kFailed);
  if (pod.place.empty()) return;
  const auto node = nodes_.find(pod.place);
  if (node == nodes_.end() || !node->second.ready || node->second.unschedulable) return;
  if (free_gpus(node->second) < pod.record.shape.gpus) {
    ++turned_away_;
    return;
  }
  bind(pod, pod.place);
}

void Cluster::bind(TruePod& pod, const std::string& node) {
  pod.record.node = node;
  pod.bound_ms = pod.record.bound_at_ms = now;
  const bool whole = !pod.ref.uid.empty() && rng_.percent(50);
  log_.push_back(whole ? seen(pod) : in::Body(in::PodBound{kCluster, pod.ref, node, now}));
}

void Cluster::run(TruePod& pod) {
  pod.running_ms = now;
  pod.record.running_at_ms = now;
  pod.record.running = true;
  const bool whole = !pod.ref.uid.empty() && rng_.percent(50);
  log_.push_back(whole ? seen(pod) : in::Body(in::PodRunning{kCluster, pod.ref, now}));
}

void Cluster::kubelet(TruePod& pod) {
  if (pod.evicted) return end(pod, Cause::kFailed);
  if (pod.running_ms == 0) return run(pod);
  if (rng_.percent(20)) end(pod, rng_.percent(75) ? Cause::kFinished : Cause::kFailed);
}

void Cluster::end(TruePod& pod, Cause cause) {
  pod.ended_ms = now;
  pod.cause = cause;
  log_.emplace_back(in::PodGone{kCluster, pod.ref, now, cause});
  ended_.push_back(pod);
  if (!pod.record.controlled || cause == Cause::kFinished || replaced_ >= kMostReplaced) return;
  ++replaced_;
  PodRecord again = pod.record;
  again.gated = true;
  again.running = false;
  again.running_at_ms = 0;
  again.node.clear();
  again.bound_at_ms = 0;
  again.let_go_to.clear();
  unborn_.push_back(again);
}

// Usually what ended is deleted once its end is known; here it is before anybody has looked.
void Cluster::delete_ended() {
  std::erase_if(pods_, [&](const auto& entry) {
    const TruePod& pod = entry.second;
    return !pod.live() && faults_.vanish && rng_.percent(50);
  });
}

void Cluster::node_event() {
  const std::size_t i = rng_.below(kNodes);
  NodeSpec spec = spec_of(i);
  const auto known = nodes_.find(spec.name);
  if (known != nodes_.end() && rng_.percent(25)) {
    nodes_.erase(known);
    log_.emplace_back(in::NodeGone{kCluster, spec.name});
    for (auto& [key, pod] : pods_) {
      if (pod.occupies() && pod.record.node == spec.name) end(pod, Cause::kNodeLost);
    }
    return;
  }
  if (rng_.percent(30)) {
    spec.ready = false;
    spec.not_ready_since_ms = now - rng_.between(0, kMinuteMs);
  }
  if (rng_.percent(20)) spec.unhealthy_gpus = 1;
  if (rng_.percent(20)) spec.unschedulable = true;
  nodes_[spec.name] = spec;
  log_.emplace_back(in::NodeSeen{kCluster, spec});
}

void Cluster::heal(const Faults& none) {
  faults_ = none;
  healed_ = true;
  for (std::size_t i = 0; i < kNodes; ++i) {
    nodes_[spec_of(i).name] = spec_of(i);
    log_.emplace_back(in::NodeSeen{kCluster, spec_of(i)});
  }
}

void Cluster::progress() {
  while (!unborn_.empty()) bear(0);
  for (auto& [key, pod] : pods_) {
    if (!pod.live()) continue;
    if (pod.evicted) {
      end(pod, Cause::kFailed);
    } else if (!pod.occupies()) {
      schedule(pod);
    } else if (pod.running_ms == 0) {
      run(pod);
    } else if (now - pod.running_ms >= kLife) {
      end(pod, Cause::kFinished);
    }
  }
}

// --- what an edge does ---------------------------------------------------------------------------

PodRef Cluster::launched_ref(const Effect& effect, const EffectPod& pod) const {
  if (!pod.uid.empty()) return {pod.uid, {}, 0, 0};
  return {"", effect.job, pod.rank, effect.attempt};
}

bool Cluster::open_gate(const Effect& effect, const EffectPod& pod) {
  if (pod.uid.empty()) {
    launch(effect, pod);
    return true;
  }
  const auto known = pods_.find(pod.uid);
  if (known == pods_.end()) return false;
  TruePod& mine = known->second;
  if (!mine.live()) return true;  // its end is reported elsewhere
  if (!mine.record.gated) {
    // It was opened for an earlier attempt, and that was not heard: it is said again.
    if (mine.place != pod.node && !mine.occupies()) log_.push_back(seen(mine));
    return true;
  }
  mine.record.gated = false;
  mine.place = mine.record.let_go_to = pod.node;
  log_.push_back(seen(mine));
  return true;
}

void Cluster::launch(const Effect& effect, const EffectPod& pod) {
  const PodRef ref = launched_ref(effect, pod);
  if (pods_.count(name_of(ref)) > 0) return;
  if (!launched_.insert(name_of(ref)).second) ++launched_twice_;
  TruePod made;
  made.ref = ref;
  made.record.shape.kind = GpuKind::kWhole;
  made.record.shape.gpus = pod.gpus;
  made.place = pod.node;
  TruePod& mine = pods_[name_of(ref)] = made;
  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end() || free_gpus(node->second) < pod.gpus) {
    ++turned_away_;
    return end(mine, Cause::kRejected);
  }
  bind(mine, pod.node);
}

bool Cluster::evict(const Effect& effect, const EffectPod& pod) {
  const auto known = pods_.find(name_of(launched_ref(effect, pod)));
  if (known == pods_.end()) return false;
  const PodRecord& record = known->second.record;
  const bool people = effect.cause == Cause::kCancelled || effect.cause == Cause::kTimeLimit ||
                      effect.cause == Cause::kBudget;
  if (!pod.uid.empty() && !people) {
    if (record.gated) complaints_.push_back(pod.uid + " was evicted with its gate closed");
    if (!record.controlled) complaints_.push_back(pod.uid + " was evicted, and nobody remakes it");
  }
  known->second.evicted = known->second.live();
  return true;
}

void Cluster::forget(const PodRef& ref) {
  const auto known = pods_.find(name_of(ref));
  if (known != pods_.end() && !known->second.live()) pods_.erase(known);
}

void Cluster::stop(const PodRef& ref) {
  const auto known = pods_.find(name_of(ref));
  if (known != pods_.end() && known->second.live()) known->second.evicted = true;
}

}  // namespace subak::fault
