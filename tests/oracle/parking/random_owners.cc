#include "tests/oracle/parking/random_owners.h"

#include <algorithm>
#include <iterator>

#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

constexpr std::size_t kMostOwners = 10;

}  // namespace

in::OwnerSeen RandomOwners::say(const Owner& owner) {
  if (owner.suspended) return {"watched", ParkedOwner::kParked, owner.pod, owner.groups};
  return {"watched", ParkedOwner::kResumed, owner.pod, {}};
}

bool RandomOwners::is_suspended(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found != owners_.end() && found->second.suspended;
}

void RandomOwners::saw(const Effect& effect) {
  if (!effect.owner.empty()) effects_.push_back(effect);
}

in::Body RandomOwners::some_event(RandomWorld& w) {
  const bool crowded = w.jobs_.size() > (w.options_.plain ? w.pace_.most_jobs : 60);
  if (!effects_.empty() && w.rng_.percent(50)) return follow_effect(w);
  const bool more = owners_.size() < kMostOwners && !crowded && w.rng_.percent(50);
  if (owners_.empty() && !more) return in::Pass{};
  if (more) return new_owner(w);
  auto it = std::next(owners_.begin(), static_cast<std::ptrdiff_t>(w.rng_.below(owners_.size())));
  Owner& owner = it->second;
  const std::uint64_t dice = w.rng_.below(100);
  if (dice < 6) return bad_report(w, owner);
  if (dice < 12) return end_owner(w, it->first);
  if (dice < 20) {  // its controller creates pods, suspended or not
    create_pods(w, owner);
    return w.unfinished_.empty() ? in::Body(in::Pass{}) : w.next_pod();
  }
  if (!owner.suspended) return dice < 55 ? park_again(w, owner) : in::Body(say(owner));
  if (dice < 32) return resume(w, owner);  // by its user
  if (dice < 60) change_template(w, owner);
  return say(owner);
}

// An edge suspends or resumes an owner as Subak asked: late, or never.
in::Body RandomOwners::follow_effect(RandomWorld& w) {
  const std::size_t i = w.rng_.below(effects_.size());
  const Effect effect = effects_[i];
  effects_.erase(effects_.begin() + static_cast<std::ptrdiff_t>(i));
  const auto found = owners_.find(effect.owner);
  if (found == owners_.end() || !found->second.suspended || w.rng_.percent(10)) return in::Pass{};
  if (effect.kind == EffectKind::kOpenGate) return resume(w, found->second);
  in::OwnerSeen gone = say(found->second);  // it has another mark, for good
  gone.state = ParkedOwner::kGone;
  owners_.erase(found);
  return gone;
}

in::Body RandomOwners::new_owner(RandomWorld& w) {
  const std::string name = "own-" + std::to_string(++w.serial_);
  Owner owner;
  owner.pod = w.some_record(w.some_account(), name);
  owner.pod.uid = owner.pod.owner = "uid-" + name;
  owner.pod.name = name;
  owner.pod.gated = owner.pod.controlled = true;
  owner.pod.owners.size_of_owner = w.options_.plain || w.rng_.percent(70);
  owner.pod.terms.compute_domain = false;  // such an owner does not wait suspended
  make_groups(w, owner);
  const in::OwnerSeen seen = say(owner);
  owners_[owner.pod.uid] = std::move(owner);
  return seen;
}

// Chooses the groups of an owner whose record is known.
void RandomOwners::make_groups(RandomWorld& w, Owner& owner) {
  PodRecord& pod = owner.pod;
  pod.rank = pod.gang.empty() ? -1 : 0;
  if (pod.gang.empty()) pod.gang_size = 1;
  owner.apart = pod.gang.empty() ? static_cast<std::uint32_t>(w.rng_.below(3)) : 0;
  owner.groups = {{pod.gang_size, pod.shape}};
  if (pod.gang_size < 2 || !w.rng_.percent(30)) return;
  const auto first = static_cast<std::uint32_t>(w.rng_.between(1, pod.gang_size - 1));
  PodShape other = w.options_.plain ? pod.shape : w.shape();
  if (w.options_.plain) other.gpus = other.gpus == 1 ? 2 : 1;
  owner.groups = {{first, pod.shape}, {pod.gang_size - first, other}};
}

// A person edits a suspended owner.
void RandomOwners::change_template(RandomWorld& w, Owner& owner) {
  if (w.rng_.percent(50)) owner.pod.shape = w.shape();
  if (w.rng_.percent(50)) owner.pod.gang_size = static_cast<std::uint32_t>(w.rng_.between(1, 4));
  const bool gang = owner.pod.gang_size > 1 || w.rng_.percent(50);
  owner.pod.gang = gang ? owner.pod.name : "";
  make_groups(w, owner);
}

in::Body RandomOwners::bad_report(RandomWorld& w, const Owner& owner) {
  in::OwnerSeen seen = say(owner);
  switch (w.rng_.below(5)) {
    case 0:
      seen.pod.uid.clear();
      break;
    case 1:
      seen.pod.owner.clear();
      break;
    case 2:
      seen.pod.gang_size += 1;
      break;
    case 3:
      seen.groups.clear();
      break;
    default:
      if (!seen.groups.empty()) seen.groups.back().shape = PodShape();  // without GPUs
  }
  return seen;
}

// A resumed owner is suspended again. Its controller deletes the pods, before or after the report.
in::Body RandomOwners::park_again(RandomWorld& w, Owner& owner) {
  owner.suspended = true;
  if (w.rng_.percent(40)) change_template(w, owner);
  if (w.rng_.percent(80)) delete_pods(w, owner.pod.owner);
  if (w.planned_.empty() || w.rng_.percent(30)) return say(owner);
  w.planned_.emplace_back(say(owner));
  in::Body first = std::move(w.planned_.front());
  w.planned_.pop_front();
  return first;
}

// The pods come at once after the report, or later, or the report is late.
in::Body RandomOwners::resume(RandomWorld& w, Owner& owner) {
  owner.suspended = false;
  if (!w.rng_.percent(4)) create_pods(w, owner);
  if (w.unfinished_.empty()) return say(owner);
  const bool late = w.rng_.percent(15);
  const std::uint64_t at_once = late ? 1 : w.rng_.percent(50) ? 0 : 6;
  for (std::uint64_t i = 0; i < at_once && !w.unfinished_.empty(); ++i)
    w.planned_.emplace_back(w.next_pod());
  w.planned_.emplace_back(say(owner));
  if (!late) std::swap(w.planned_.front(), w.planned_.back());
  in::Body first = std::move(w.planned_.front());
  w.planned_.pop_front();
  return first;
}

in::Body RandomOwners::end_owner(RandomWorld& w, const std::string& uid) {
  in::OwnerSeen seen = say(owners_.at(uid));
  seen.state = ParkedOwner::kGone;
  seen.groups.clear();
  if (w.rng_.percent(80)) delete_pods(w, seen.pod.owner);
  owners_.erase(uid);
  return seen;
}

// The pods of an owner, sometimes not as its template says: another webhook changed them, some do
// not come, or some come twice.
void RandomOwners::create_pods(RandomWorld& w, const Owner& owner) {
  const bool changed = w.rng_.percent(15);
  std::uint32_t rank = 0;
  const auto create = [&](PodRecord pod, const PodShape& shape) {
    pod.uid = "uid-" + std::to_string(++w.serial_);
    pod.name += "-" + std::to_string(rank);
    if (!pod.gang.empty()) pod.rank = static_cast<std::int32_t>(rank);
    ++rank;
    pod.shape = shape;
    pod.created_at_ms = w.rng_.percent(50) ? w.now_ : 0;
    if (changed && w.options_.plain) pod.shape.gpus = 1 + pod.shape.gpus % 2;
    if (changed && !w.options_.plain) pod.shape.cpu_milli += w.rng_.percent(50) ? 100 : 2000;
    if (pod.gang_size > 1 && w.rng_.percent(2)) ++pod.gang_size;
    if (w.rng_.percent(4)) return;
    w.unfinished_.push_back({"watched", pod});
    if (w.rng_.percent(4)) w.unfinished_.push_back({"watched", pod});
    if (!w.rng_.percent(4)) return;
    pod.uid = "uid-" + std::to_string(++w.serial_);  // made again: the first one is deleted, or not
    w.unfinished_.push_back({"watched", pod});
  };
  for (const PodGroup& group : owner.groups) {
    for (std::uint32_t n = 0; n < group.count; ++n) create(owner.pod, group.shape);
  }
  for (std::uint32_t n = 0; n < owner.apart; ++n) create(owner.pod, owner.pod.shape);
}

// Pods that have not come will not come, and those that came are deleted next.
void RandomOwners::delete_pods(RandomWorld& w, const std::string& owner) {
  std::erase_if(w.unfinished_, [&](const in::PodSeen& seen) { return seen.pod.owner == owner; });
  for (const auto& [uid, record] : w.records_) {
    if (record.owner != owner) continue;
    const Cause cause = w.rng_.percent(70) ? Cause::kCancelled : Cause::kFailed;
    w.planned_.emplace_back(in::PodGone{"watched", {uid, {}, 0}, 0, cause});
  }
}

// A list names most of the suspended owners.
void RandomOwners::plan_list(RandomWorld& w) const {
  for (const auto& [uid, owner] : owners_) {
    if (owner.suspended && !w.rng_.percent(8)) w.planned_.emplace_back(say(owner));
  }
}

}  // namespace subak::sim
