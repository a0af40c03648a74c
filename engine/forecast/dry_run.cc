#include "engine/forecast/dry_run.h"

#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/derive/claims.h"
#include "engine/state/snapshot.h"

namespace subak::decide {

namespace {

// Lets the copy take a pass, and returns its facts.
std::vector<Fact> pass_of(State& copy) {
  Observed observed;
  Search search(copy.fleet());
  PassMemory memory;
  const Input pass{copy.now(), "", "", in::Pass{}};
  Decision d(copy, observed, search, pass);
  decide(d, in::Pass{}, memory);
  return std::move(d.out.facts);
}

}  // namespace

void copy_state(const State& s, State& copy) {
  state::snapshot(
      s,
      [&](fact::Body&& body) {
        copy.apply(Fact{0, s.fact_ms(), std::move(body)});
      },
      state::SnapshotParts::kWithoutRequests);
  copy.set_seq(s.seq());
  copy.advance(s.now());
  must(live_size(copy) == live_size(s), "the copy has every live job and node");
}

std::size_t live_size(const State& s) {
  return s.jobs().table().all().size() - s.jobs().sets().count(JobState::kDone) + s.nodes().size();
}

std::optional<std::set<JobId>> dry_run_pass(const State& s) {
  if (live_size(s) > limits::kMaxDryRunJobs) return std::nullopt;
  State copy;
  copy_state(s, copy);
  std::set<JobId> starts;
  for (const Fact& fact : pass_of(copy)) {
    const auto* const f = std::get_if<fact::AttemptStarted>(&fact.body);
    if (f == nullptr) continue;
    // A job that was starting, and gave its place to a claimant in this pass, is not queued in `s`.
    if (s.jobs().at(f->id).state == JobState::kQueued) starts.insert(f->id);
  }
  return starts;
}

std::vector<ClaimRow> dry_run_claims(const State& s, std::string_view account) {
  must(live_size(s) <= limits::kMaxShadowQueue, "a dry run of claims has a bounded cost");
  State copy;
  copy_state(s, copy);
  Policy policy = s.policy();
  policy.reclaim = true;
  copy.apply(Fact{0, s.fact_ms(), fact::PolicySet{policy, {}}});
  std::set<JobId> made;
  for (const Fact& fact : pass_of(copy)) {
    const auto* const f = std::get_if<fact::Claimed>(&fact.body);
    if (f != nullptr && f->cause == ClaimCause::kMade) made.insert(f->job);
  }
  std::vector<ClaimRow> rows = derive::claim_rows(copy, account);
  std::erase_if(rows, [&](const ClaimRow& row) { return !made.contains(row.job); });
  return rows;
}

}  // namespace subak::decide
