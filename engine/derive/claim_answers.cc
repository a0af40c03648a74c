// What answers say of claims: the list, and why a claimant waits.
#include <algorithm>
#include <tuple>
#include <utility>

#include "accounting/amounts.h"
#include "core/account_path.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/text.h"
#include "engine/answers/view.h"
#include "engine/derive/claims.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/derive/rows.h"

namespace subak::derive {
namespace {

// What a victim still holds; 0: its attempt is over.
MilliGpu held_by(const State& s, const state::Claim::Victim& victim) {
  const state::Job* const job = state::still_there(s.jobs(), victim);
  if (job == nullptr) return 0;
  MilliGpu sum = 0;
  for (const state::Pod& pod : job->pods) sum += pod.holds_slot() ? pod.slot.milligpu : 0;
  return sum;
}

ClaimRow row_of(const State& s, const state::Claim& claim) {
  ClaimRow row;
  row.job = claim.job;
  std::tie(row.account, row.user) = payer_of(s, claim.leaf);
  for (const auto& [product, amount] : claim.amounts) {
    row.amounts.push_back({std::string(s.fleet().products().name(product)), amount});
  }
  for (const NodeId node : claim.nodes) {
    if (const NodeSpec* const spec = s.fleet().node(node)) row.nodes.push_back(spec->name);
  }
  for (const state::Claim::Victim& victim : claim.victims) {
    ClaimRow::Victim& out = row.victims.emplace_back();
    out.job = victim.job;
    out.ask_ms = victim.ask_ms;
    out.milligpu = held_by(s, victim);
    const state::Job* const job = s.jobs().find(victim.job);
    if (job == nullptr) continue;
    std::tie(out.account, out.user) = payer_of(s, job->leaf);
    out.ending = state::still_there(s.jobs(), victim) != nullptr && job->state == JobState::kEnding;
    out.by_ms = out.ending ? job->until_ms : victim.ask_ms + time_to_end(s, *job);
  }
  row.made_ms = claim.made_ms;
  row.right = claim.right;
  return row;
}

std::string text_of(const ClaimRow::Victim& victim) {
  const std::string user = victim.user.empty() ? "" : "/" + victim.user;
  const std::string by = victim.by_ms == 0 ? "" : " by " + format_time(victim.by_ms);
  const std::string who = text::job_id_text(victim.job) + " of " + victim.account + user;
  if (victim.ending) return who + " is ending" + by;
  return who + " is asked to end at " + format_time(victim.ask_ms) + (by.empty() ? "" : "," + by);
}

}  // namespace

std::vector<ClaimRow> claim_rows(const State& s, std::string_view account) {
  std::vector<ClaimRow> rows;
  for (const state::Claim& claim : s.claims().all()) {
    const std::string& path = s.tree().node(claim.leaf).spec.path;
    if (is_path_within(path, account)) rows.push_back(row_of(s, claim));
  }
  return rows;
}

TimeMs first_due(const State& s) {
  TimeMs first = 0;
  for (const state::Claim& claim : s.claims().all()) {
    TimeMs due = 0;
    for (const state::Claim::Victim& victim : claim.victims) {
      const state::Job* const job = state::still_there(s.jobs(), victim);
      if (job == nullptr) continue;
      const bool asked = job->state == JobState::kEnding && job->until_ms != 0;
      due = std::max(due, asked ? job->until_ms : victim.ask_ms + time_to_end(s, *job));
    }
    if (due != 0 && (first == 0 || due < first)) first = due;
  }
  return first;
}

Reason reason_of_claim(const State& s, const state::Claim& claim) {
  const ClaimRow row = row_of(s, claim);
  Reason r;
  r.token = ReasonToken::kWaitingForPreemptedWorkloads;
  r.need = sum_of(claim.amounts);
  r.subject = row.amounts.size() == 1 ? row.amounts.front().product : std::string(kAnyProduct);
  MilliGpu held = 0;
  std::string victims;
  for (const ClaimRow::Victim& victim : row.victims) {
    if (victim.milligpu == 0) continue;
    held += victim.milligpu;
    if (r.blockers.size() == limits::kMaxBlockers) continue;
    victims += (victims.empty() ? "" : "; ") + text_of(victim);
    r.blockers.push_back(text::job_id_text(victim.job));
  }
  r.have = std::max<MilliGpu>(0, r.need - held);
  const bool by_class = claim.right == ClaimRight::kClass;
  r.detail = std::string(by_class ? "its priority class preempts jobs of its account"
                                  : "jobs beyond their quota give GPUs back to it") +
             (victims.empty() ? std::string(": they have ended") : ": " + victims);
  return r;
}

}  // namespace subak::derive
