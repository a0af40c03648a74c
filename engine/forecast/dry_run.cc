#include "engine/forecast/dry_run.h"

#include <utility>

#include "core/limits.h"
#include "engine/decide/decide.h"

namespace subak::decide {

void copy_state(const State& s, State& copy) {
  s.snapshot(
      [&](fact::Body&& body) {
        copy.apply(Fact{0, s.fact_ms(), std::move(body)});
      },
      SnapshotParts::kWithoutRequests);
  copy.set_seq(s.seq());
  copy.advance(s.now());
}

std::size_t live_size(const State& s) {
  return s.jobs().all().size() - s.jobs().count(JobState::kDone) + s.nodes().size();
}

std::optional<std::set<JobId>> dry_run_pass(const State& s) {
  if (live_size(s) > limits::kMaxDryRunJobs) return std::nullopt;
  State copy;
  copy_state(s, copy);
  Search search(copy.fleet());
  PassMemory memory;
  const Input pass{s.now(), "", "", in::Pass{}};
  Decision d(copy, search, pass);
  decide(d, in::Pass{}, memory);
  std::set<JobId> starts;
  for (const Fact& fact : d.out.facts) {
    if (const auto* f = std::get_if<fact::AttemptStarted>(&fact.body)) starts.insert(f->id);
  }
  return starts;
}

}  // namespace subak::decide
