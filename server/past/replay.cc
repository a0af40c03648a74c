#include "server/past/replay.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "model/input.h"
#include "server/past/fact_times.h"
#include "server/past/past_limits.h"

namespace subak {
namespace {

template <class... Kinds>
bool is_any(const Fact& fact) {
  return (std::holds_alternative<Kinds>(fact.body) || ...);
}

// True for facts that follow from a report, a call or an edit, and never from a pass.
bool is_never_of_pass(const Fact& fact) {
  return is_any<fact::ClusterSet, fact::ClusterSynced, fact::ClusterSeen, fact::ClusterRemoved,
                fact::NodeSet, fact::NodeRemoved, fact::NodeLoad, fact::NamespaceLabelled,
                fact::AccountSet, fact::AccountDeleted, fact::AccountMoved, fact::PolicySet,
                fact::EditRefused, fact::Finalized, fact::ClockAccepted, fact::PodBound,
                fact::PodRunning, fact::PodGated>(fact);
}

std::unique_ptr<Engine> copy_of(const Engine& engine) {
  auto copy = std::make_unique<Engine>();
  engine.checkpoint([&](const Fact& fact) { copy->evolve(fact); });
  copy->set_seq(engine.seq());
  return copy;
}

JobId job_of(const Fact& fact) {
  if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) return started->id;
  if (const auto* reserved = std::get_if<fact::Reserved>(&fact.body)) return reserved->job;
  if (const auto* claimed = std::get_if<fact::Claimed>(&fact.body)) return claimed->job;
  if (const auto* stop = std::get_if<fact::StopAsked>(&fact.body)) return stop->id;
  return JobId();
}

// True if these facts end as those of a pod do that leaves its gang with its hold. Its new job then
// gets an attempt without a pass.
bool ends_as_part(const std::vector<Fact>& facts) {
  if (facts.size() < 5) return false;
  const Fact* const last = &facts.back();
  return is_any<fact::AttemptStarted>(last[0]) && is_any<fact::JobMoved>(last[-1]) &&
         is_any<fact::PodAdded>(last[-2]) && is_any<fact::JobCreated>(last[-3]) &&
         is_any<fact::PodGone>(last[-4]);
}

// True if only a pass makes the last of these facts.
bool is_only_of_pass(const std::vector<Fact>& facts) {
  const Fact& fact = facts.back();
  if (is_any<fact::AttemptStarted>(fact)) return !ends_as_part(facts);
  return is_decision(fact);
}

// Returns the index at which the pass of the last fact can begin first.
std::size_t first_start(const std::vector<Fact>& facts) {
  std::size_t at = facts.size() - 1;
  while (at > 0 && !is_never_of_pass(facts[at - 1])) --at;
  return at;
}

}  // namespace

bool is_decision(const Fact& fact) {
  if (is_any<fact::AttemptStarted, fact::Reserved>(fact)) return true;
  const auto* const claimed = std::get_if<fact::Claimed>(&fact.body);
  return claimed != nullptr && claimed->cause == ClaimCause::kMade;
}

Result<Replay::Facts> Replay::read_until(std::uint64_t seq) {
  const Result<std::vector<Fact>> here = reader_.facts(seq - 1, 1);
  if (!here.ok()) return here.error();
  if (here->empty() || here->front().seq != seq) {
    return Error{ErrorCode::kNotFound, "decision", std::to_string(seq),
                 "the store has no fact with this number"};
  }
  Facts out{1, {}};
  const auto before = last_fact_before(reader_, here->front().time_ms, seq);
  if (!before.ok()) return before.error();
  out.first = *before + 1;
  const std::uint64_t count = seq - out.first + 1;
  if (count > limits::kMaxReplayFacts) {
    return Error{ErrorCode::kExhausted, "decision", std::to_string(seq),
                 "want a fact with at most " + std::to_string(limits::kMaxReplayFacts) +
                     " facts of the same time before it"};
  }
  auto facts = reader_.facts(out.first - 1, static_cast<std::size_t>(count));
  if (!facts.ok()) return facts.error();
  out.facts = std::move(*facts);
  return out;
}

Result<Engine*> Replay::trial_state() {
  const Engine& state = fold_.engine();
  if (trial_ && trial_->seq() <= state.seq() &&
      state.seq() - trial_->seq() <= limits::kPastShortFold) {
    const auto take = [&](std::vector<Fact>&& facts) -> Result<bool> {
      for (const Fact& fact : facts) trial_->evolve(fact);
      return true;
    };
    const Result<bool> read = read_facts(reader_, trial_->seq(), state.seq(), take);
    if (!read.ok()) return read.error();
  } else {
    trial_ = copy_of(state);
  }
  return trial_.get();
}

Result<bool> Replay::try_at(std::uint64_t begin, Replayed& out) {
  const Result<Engine*> trial = trial_state();
  if (!trial.ok()) return trial.error();
  const ApplyOutcome decided = (*trial)->apply({out.fact.time_ms, "", "", in::Pass{}});
  const auto stored = reader_.facts(begin - 1, decided.facts.size() + 1);
  if (!stored.ok()) return stored.error();
  std::size_t equal = 0;
  while (equal < decided.facts.size() && equal < stored->size() &&
         fact_to_text(decided.facts[equal]) == fact_to_text((*stored)[equal])) {
    ++equal;
  }
  const std::uint64_t end = begin + equal - 1;
  const bool is_whole = equal == decided.facts.size();
  if (!is_whole) trial_.reset();  // its state is not one of the store
  if (is_whole && equal > 0 && end >= out.fact.seq) {
    out.begin = begin;
    out.end = end;
    return true;
  }
  if (out.begin == 0 || end > out.end) {
    out.begin = begin;
    out.end = end;
    out.stored = equal < stored->size() ? fact_to_text((*stored)[equal]) : "";
    out.replayed = equal < decided.facts.size() ? fact_to_text(decided.facts[equal]) : "";
  }
  return false;
}

Result<ReplayedRange> Replay::range(std::uint64_t from, std::uint64_t to) {
  ReplayedRange out;
  std::uint64_t done_until = 0;
  for (std::uint64_t at = from - 1; at < to;) {
    const std::uint64_t most = std::min<std::uint64_t>(limits::kPastFactsAtOnce, to - at);
    const auto facts = reader_.facts(at, static_cast<std::size_t>(most));
    if (!facts.ok()) return facts.error();
    if (facts->empty()) break;
    at = facts->back().seq;
    for (const Fact& fact : *facts) {
      if (!is_decision(fact)) continue;
      if (fact.seq > done_until) {
        Result<Replayed> done = this->fact(fact.seq);
        if (!done.ok()) return done.error();
        if (done->verdict == ReplayVerdict::kDifferent) {
          out.different = std::move(*done);
          return out;
        }
        if (done->verdict == ReplayVerdict::kNoPass) {
          ++out.no_pass;
          continue;
        }
        done_until = done->end;
      }
      ++out.same;
    }
  }
  return out;
}

Result<Replayed> Replay::fact(std::uint64_t seq) {
  has_before_ = false;
  if (seq < 2) {
    return Error{ErrorCode::kNotFound, "decision", std::to_string(seq),
                 "want a fact from 2 on: there is no state before fact 1"};
  }
  const Result<Facts> read = read_until(seq);
  if (!read.ok()) return read.error();
  const std::vector<Fact>& facts = read->facts;
  std::size_t at = first_start(facts);
  if (read->first == 1 && at == 0) at = 1;
  if (facts.size() - at > limits::kMaxReplayStarts) {
    return Error{ErrorCode::kExhausted, "decision", std::to_string(seq),
                 "want a fact with at most " + std::to_string(limits::kMaxReplayStarts) +
                     " places at which its pass can begin"};
  }
  Replayed out;
  out.fact = facts.back();
  out.job = job_of(out.fact);
  for (; at < facts.size(); ++at) {
    const Result<bool> folded = fold_.to(read->first + at - 1);
    if (!folded.ok()) return folded.error();
    if (fold_.engine().policy().order == OrderPolicy::kUsageTick) {
      return Error{ErrorCode::kPrecondition, "decision", std::to_string(seq),
                   "want another order rule than usage-tick: no fact stores its ticks"};
    }
    const Result<bool> same = try_at(read->first + at, out);
    if (!same.ok()) return same.error();
    if (*same) {
      out.verdict = ReplayVerdict::kSame;
      out.stored.clear();
      out.replayed.clear();
      has_before_ = true;
      return out;
    }
  }
  out.verdict = is_only_of_pass(facts) ? ReplayVerdict::kDifferent : ReplayVerdict::kNoPass;
  if (out.verdict == ReplayVerdict::kDifferent) {
    const Result<bool> folded = fold_.to(out.begin - 1);
    if (!folded.ok()) return folded.error();
    has_before_ = true;
  }
  return out;
}

}  // namespace subak
