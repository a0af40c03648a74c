// Names the promises that an edit of accounts would not keep: reservations and claims. The function
// makes the next pass on two copies of the state, with and without the edit, and compares them.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/account_edit.h"
#include "engine/decide/decide.h"
#include "engine/derive/reasons.h"
#include "engine/state/snapshot.h"

namespace subak::decide {
namespace {

// The most live jobs, nodes and accounts of a state that is copied for this. The loop waits for two
// copies and their passes.
constexpr std::size_t kMostCopied = 10'000;
constexpr std::size_t kPromisesNamed = 8;  // the most that one warning names

// What a job was promised.
struct Promise {
  // The start by its reservation; nullopt: it has no reservation.
  std::optional<TimeMs> start_ms;
  bool claims = false;
  bool starts = false;  // it started, so each promise is kept
};
using Promises = std::map<JobId, Promise>;

Promises promises_of(const State& s) {
  Promises out;
  for (const auto& [id, cluster] : s.clusters().all()) {
    for (const state::Reservation& r : cluster.reservations) out[r.job].start_ms = r.start_ms;
  }
  for (const state::Claim& claim : s.claims().all()) out[claim.job].claims = true;
  return out;
}

// Returns what the promises are after the next pass on a copy of the state, with this edit.
Promises after_pass(const State& s, const std::vector<fact::Body>& edit, const Promises& now) {
  State copy(Books::kLeftOut);
  const auto take = [&](fact::Body&& body) { copy.apply(Fact{0, s.fact_ms(), std::move(body)}); };
  state::snapshot(s, take, state::SnapshotParts::kToLookAhead);
  copy.set_seq(s.seq());
  copy.advance(s.now());
  Observed observed;
  Search search(copy.fleet());
  PassMemory memory;
  const Input pass{copy.now(), "", "", in::Pass{}};
  Decision d(copy, observed, search, pass);
  for (const fact::Body& fact : edit) d.emit(fact);
  decide(d, in::Pass{}, memory);
  Promises out = promises_of(copy);
  for (const auto& [job, promise] : now) {
    out[job].starts = copy.jobs().at(job).state != JobState::kQueued;
  }
  return out;
}

std::string start_text(TimeMs start_ms) {
  return start_ms < state::kNever ? "by " + format_time(start_ms) : "at an unknown time";
}

// Returns how the edit breaks the promise of a job; empty: it does not.
std::string broken_text(const Promise& without, const Promise& with) {
  if (without.starts || with.starts) return "";
  if (without.claims && !with.claims) return "its claim would end";
  if (!without.start_ms) return "";
  if (!with.start_ms)
    return "its reservation (start " + start_text(*without.start_ms) + ") would end";
  if (*with.start_ms <= *without.start_ms) return "";
  return "it would start " + start_text(*with.start_ms) + ", not " + start_text(*without.start_ms);
}

}  // namespace

void warn_of_promises(Decision& d, const std::vector<fact::Body>& edit) {
  std::vector<std::string>& warnings = d.out.reply.warnings;
  const Promises now = promises_of(d.s);
  if (now.empty() || edit.empty() || warnings.size() >= limits::kMaxWarnings) return;
  const std::size_t size = d.s.jobs().table().all().size() -
                           d.s.jobs().sets().count(JobState::kDone) + d.s.nodes().size() +
                           d.s.tree().nodes().size();
  if (size > kMostCopied) {
    warnings.push_back("promises: there are " + std::to_string(now.size()) +
                       " jobs with reservations or claims; the service did not check them, because "
                       "there are more than " +
                       std::to_string(kMostCopied) + " live jobs, nodes and accounts");
    return;
  }
  const Promises without = after_pass(d.s, {}, now), with = after_pass(d.s, edit, now);
  std::string text;
  std::size_t broken = 0;
  for (const auto& [job, promise] : now) {
    const std::string how = broken_text(without.at(job), with.at(job));
    if (how.empty() || ++broken > kPromisesNamed) continue;
    const AccountNode& leaf = d.s.tree().node(d.s.jobs().at(job).leaf);
    text += (broken == 1 ? " job " : "; job ") + text::job_id_text(job) + " of " +
            derive::shown_path(leaf) + ": " + how;
  }
  if (broken == 0) return;
  if (broken > kPromisesNamed) text += " and " + std::to_string(broken - kPromisesNamed) + " more";
  warnings.push_back("promises that would not hold:" + text);
}

}  // namespace subak::decide
