#include "sim/history/present.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "engine/forecast/forecast.h"
#include "sim/engine_port.h"
#include "sim/history/history_limits.h"

namespace subak::sim {
namespace {

// The state at the end of the history, without or with the change.
struct Side {
  std::unique_ptr<Engine> engine;
  Forecast forecast;
  // The starts that reservations promise after a pass, and the claims then.
  std::map<JobId, TimeMs> promises;
  std::vector<ClaimMade> claims;
};

Side side_of(const History& history, const std::vector<Edit>& edits,
             const std::function<bool()>& go_on) {
  const TimeMs t = history.workload.to_ms;
  Side out;
  out.engine = engine_of(history.end);
  EnginePort port(*out.engine);
  for (const Edit& edit : edits) port.send(t, edit.body);
  out.forecast = make_forecast(out.engine->forecast_basis(t), go_on);
  port.pass(t);
  for (const JobRow& row : out.engine->jobs(JobId(), SIZE_MAX, JobState::kQueued, "")) {
    if (row.start_promised) out.promises[row.id] = row.start_ms;
  }
  for (const ClaimRow& claim : out.engine->claims("")) {
    out.claims.push_back({claim.job, claim.account, claim.victims.size()});
  }
  return out;
}

std::optional<TimeMs> find(const std::map<JobId, TimeMs>& times, JobId id) {
  const auto found = times.find(id);
  return found == times.end() ? std::nullopt : std::optional(found->second);
}

// How much a move counts. A job that no longer starts, or starts only now, counts the most.
DurationMs size_of(const JobMove& move) {
  if (!move.before_ms || !move.after_ms) return limits::kMaxTimeMs;
  return std::abs(*move.after_ms - *move.before_ms);
}

void keep_largest(std::vector<JobMove>& moves) {
  std::stable_sort(moves.begin(), moves.end(),
                   [](const JobMove& a, const JobMove& b) { return size_of(a) > size_of(b); });
  if (moves.size() > limits::kMaxMovers) moves.resize(limits::kMaxMovers);
}

void count(const JobMove& move, PresentDifference& out) {
  if (size_of(move) < kMinuteMs) return;
  const bool is_later = !move.after_ms || (move.before_ms && *move.after_ms > *move.before_ms);
  ++(is_later ? out.later : out.sooner);
}

}  // namespace

Result<PresentDifference> present_difference(const History& history, const Change& change,
                                             const std::function<bool()>& go_on) {
  const TimeMs t = history.workload.to_ms;
  const auto edits = edits_of(history.end, history.end_policy, change, change.end_meters, t);
  if (!edits.ok()) return edits.error();
  const auto waiting = engine_of(history.end)->jobs(JobId(), SIZE_MAX, JobState::kQueued, "");
  Side before = side_of(history, {}, go_on);
  Side after = side_of(history, *edits, go_on);
  PresentDifference out;
  out.time_ms = t;
  out.waiting = waiting.size();
  std::size_t both = 0;
  for (const JobRow& row : waiting) {
    const JobMove start{row.id,
                        row.name,
                        row.account,
                        row.user,
                        before.forecast.start(row.id),
                        after.forecast.start(row.id)};
    if (start.before_ms && start.after_ms) {
      ++both;
      out.mean_before_s += static_cast<double>(*start.before_ms - t) / kSecondMs;
      out.mean_after_s += static_cast<double>(*start.after_ms - t) / kSecondMs;
    }
    count(start, out);
    if (start.before_ms != start.after_ms) out.starts.push_back(start);
    const JobMove promise{row.id,
                          row.name,
                          row.account,
                          row.user,
                          find(before.promises, row.id),
                          find(after.promises, row.id)};
    if (promise.before_ms != promise.after_ms) out.promises.push_back(promise);
  }
  if (both > 0) {
    out.mean_before_s /= static_cast<double>(both);
    out.mean_after_s /= static_cast<double>(both);
  }
  out.promises_moved = out.promises.size();
  keep_largest(out.starts);
  keep_largest(out.promises);
  out.claims_before = std::move(before.claims);
  out.claims_after = std::move(after.claims);
  return out;
}

}  // namespace subak::sim
