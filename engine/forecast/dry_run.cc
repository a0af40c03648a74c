#include "engine/forecast/dry_run.h"

#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/state/snapshot.h"

namespace subak::decide {

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
  Observed observed;
  Search search(copy.fleet());
  PassMemory memory;
  const Input pass{s.now(), "", "", in::Pass{}};
  Decision d(copy, observed, search, pass);
  decide(d, in::Pass{}, memory);
  std::set<JobId> starts;
  for (const Fact& fact : d.out.facts) {
    const auto* const f = std::get_if<fact::AttemptStarted>(&fact.body);
    if (f == nullptr) continue;
    // A job that was starting, and gave its place to a claimant in this pass, is not queued in `s`.
    if (s.jobs().at(f->id).state == JobState::kQueued) starts.insert(f->id);
  }
  return starts;
}

}  // namespace subak::decide
