// The oracle's checks of claims: who gives, when, and that what is claimed stays free.
#include <algorithm>
#include <bit>
#include <set>

#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_quota.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {

const fact::Claimed* Oracle::claim_of(JobId claimant) const {
  const auto it = std::find_if(claims_.begin(), claims_.end(),
                               [&](const fact::Claimed& c) { return c.job == claimant; });
  return it == claims_.end() ? nullptr : &*it;
}

void Oracle::drop_claim(JobId claimant) {
  std::erase_if(claims_, [&](const fact::Claimed& c) { return c.job == claimant; });
}

// The attempt that was claimed goes on.
bool Oracle::is_there(const fact::Claimed::Victim& victim) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& j) {
    return j.id == victim.job && j.attempt == victim.attempt &&
           (j.state == JobState::kStarting || j.state == JobState::kRunning ||
            j.state == JobState::kEnding);
  });
}

MilliGpu Oracle::claimed(AccountId id) const {
  MilliGpu sum = 0;
  for (const fact::Claimed& c : claims_) {
    for (const Job& j : jobs_) {
      if (j.id != c.job || !below(j.leaf, id)) continue;
      for (const PodSlot& s : c.slots) sum += s.milligpu;
    }
  }
  return sum;
}

// An account beyond its quota: with its quota, it holds more than that covers; without one, no
// quota that is configured above covers it.
bool Oracle::borrows(AccountId id) const {
  for (const Account* a = account(id); a; a = account(a->parent)) {
    if (quota(a->id) == 0) continue;
    const bool of_children = a->id != id && a->spec.quota.empty();
    return of_children || uncovered(a->id, held(a->id, {})) > 0;
  }
  return true;
}

void Oracle::on(const fact::Claimed& f) {
  const Job* const j = job(f.job);
  if (f.slots.empty()) {
    if (claim_of(f.job) == nullptr) wrong(name(f.job) + " ends a claim that was not made");
    return drop_claim(f.job);
  }
  if (!in_pass_) wrong(name(f.job) + " claims outside a pass");
  if (j == nullptr || j->state != JobState::kQueued)
    return wrong(name(f.job) + " claims, not queued");
  if (claim_of(f.job) != nullptr) wrong(name(f.job) + " claims twice");
  if (f.slots.size() != j->gang_size) wrong(name(f.job) + " claims for a part of its gang");
  const OracleQuota rules(*this);
  if (!rules.may_claim(*j, f.right)) wrong(name(f.job) + " claims without a right");
  judge_victims(*j, f);
  claims_.push_back(f);
  judge_claimed_slots(*j, f.slots);
}

void Oracle::judge_victims(const Job& claimant, const fact::Claimed& f) {
  for (const fact::Claimed::Victim& victim : f.victims) {
    const Job* const v = job(victim.job);
    if (v == nullptr || !is_there(victim)) {
      wrong(name(f.job) + " claims from " + name(victim.job) + ", which holds nothing");
      continue;
    }
    const bool ends = v->state == JobState::kEnding;
    if (!ends && v->last.taken_at == calm_.events)
      wrong(name(f.job) + " claims from " + name(victim.job) + ", preempted since the last event");
    const std::string why = ends ? "" : OracleQuota(*this).why_not(claimant, f.right, *v);
    if (!why.empty()) wrong(name(f.job) + " claims from " + name(victim.job) + ", " + why);
    if (!ends && victim.ask_ms < v->started + policy_.reclaim_min_run_ms)
      wrong(name(victim.job) + " would be asked before its minimum run is over");
    for (const fact::Claimed& other : claims_) {
      for (const auto& known : other.victims) {
        if (known.job == victim.job) wrong(name(victim.job) + " is a victim twice");
      }
    }
  }
}

// Whole GPUs that are claimed go to nobody but the claimant.
void Oracle::judge_claimed_slots(const Job& j, const std::vector<PodSlot>& slots) {
  if (j.runs_on && !j.gang) return;  // it got them before, in its gang
  for (const fact::Claimed& c : claims_) {
    if (c.job == j.id) continue;
    for (const PodSlot& mine : c.slots) {
      const bool whole = mine.milligpu == std::popcount(mine.gpu_mask) * kMilliPerGpu;
      for (const PodSlot& s : slots) {
        if (whole && s.node == mine.node && (s.gpu_mask & mine.gpu_mask) != 0)
          wrong(name(j.id) + " gets a GPU that is claimed for " + name(c.job));
      }
    }
  }
}

void Oracle::judge_taken(const Job& j) {
  const auto claim = std::find_if(claims_.begin(), claims_.end(), [&](const fact::Claimed& c) {
    return std::any_of(c.victims.begin(), c.victims.end(), [&](const auto& v) {
      return v.job == j.id && v.attempt == j.attempt && v.ask_ms <= now_;
    });
  });
  if (claim == claims_.end()) wrong(name(j.id) + " is taken back, and no claim asks for it");
}

// The whole GPUs of the node that are claimed, also those that others still hold; and the CPU that
// is set aside.
Oracle::ClaimedHere Oracle::claimed_on(NodeId node) const {
  ClaimedHere here;
  for (const fact::Claimed& c : claims_) {
    const auto claimant =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.id == c.job; });
    if (claimant == jobs_.end()) continue;
    std::int64_t cpu = 0;
    std::map<std::string, std::int64_t> slices;  // by profile: a victim frees its own profile alone
    const auto add = [&](const PodShape& shape, std::int64_t times) {
      cpu += times * shape.cpu_milli;
      if (shape.kind == GpuKind::kMig) slices[shape.profile] += times * shape.gpus;
    };
    for (std::uint32_t rank = 0; rank < c.slots.size(); ++rank) {
      if (c.slots[rank].node != node) continue;
      here.gpus |= c.slots[rank].gpu_mask;
      add(shape_of(*claimant, rank), 1);
    }
    for (const Slot& s : slots_) {
      if (s.at.node != node) continue;
      const bool victim = std::any_of(c.victims.begin(), c.victims.end(), [&](const auto& v) {
        return v.job == s.job && v.attempt == s.attempt && is_there(v);
      });
      const auto holder =
          std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& j) { return j.id == s.job; });
      if (victim && holder != jobs_.end()) add(shape_of(*holder, s.rank), -1);
    }
    here.cpu += std::max<std::int64_t>(0, cpu);
    for (const auto& [profile, count] : slices) here.slices += std::max<std::int64_t>(0, count);
  }
  return here;
}

}  // namespace subak::sim
