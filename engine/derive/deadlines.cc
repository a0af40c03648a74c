#include "engine/derive/deadlines.h"

#include <algorithm>

#include "core/limits.h"
#include "core/must.h"
#include "engine/derive/claims.h"

namespace subak::derive {

TimeMs midnight_after(TimeMs t) {
  must(t >= 0, "time begins at 0");
  return t - t % kDayMs + kDayMs;
}

std::optional<DueRow> next_row(const State& s, ClusterId cluster) {
  const auto& open = s.allocations().open(cluster);
  if (open.empty() || !s.clusters().at(cluster).synced) return std::nullopt;
  const auto& [since, place] = *open.begin();
  const TimeMs midnight = midnight_after(since);
  must(place.job.cluster() == cluster && midnight > since, "a row ends on the day that it began");
  return DueRow{place, midnight, midnight + limits::kDayOpenMs};
}

std::optional<std::pair<TimeMs, JobId>> next_hold_end(const State& s) {
  const auto& holds = s.jobs().times().deadlines();
  const auto runs = [&s](const auto& hold) {
    return s.clusters().at(hold.second.cluster()).synced;
  };
  const auto first = std::find_if(holds.begin(), holds.end(), runs);
  return first == holds.end() ? std::nullopt : std::optional(*first);
}

std::optional<std::pair<TimeMs, JobId>> next_end(const State& s) {
  std::optional<std::pair<TimeMs, JobId>> next;
  for (const auto& [id, cluster] : s.clusters().all()) {
    const auto& dues = s.jobs().times().dues(id);
    if (!cluster.synced || dues.empty()) continue;
    must(dues.begin()->second.cluster() == id, "a cluster's ends are of its jobs");
    if (!next || *dues.begin() < *next) next = *dues.begin();
  }
  if (next) next->first = std::max(next->first, s.leap().until_ms());
  return next;
}

std::optional<TimeMs> next_deadline(const State& s) {
  std::optional<TimeMs> next;
  const auto consider = [&next](TimeMs t) { next = std::min(next.value_or(t), t); };
  if (const auto hold = next_hold_end(s)) consider(hold->first);
  if (const auto end = next_end(s)) consider(end->first);
  if (const auto ask = next_ask(s)) consider(*ask);
  if (s.pass_due().at_ms < state::kNever) consider(s.pass_due().at_ms);
  if (const TimeMs turn_ms = s.allocations().budget_turn_ms(); turn_ms < kEndless) {
    consider(std::max(turn_ms, s.leap().until_ms()));
  }
  if (const TimeMs reach_ms = s.allocations().budget_reach_ms(); reach_ms < kEndless) {
    const TimeMs next_minute = s.now() - s.now() % kMinuteMs + kMinuteMs;
    consider(std::max({reach_ms, next_minute, s.leap().until_ms()}));
  }
  if (const auto backoff = s.node_backoff().next_end()) consider(*backoff);
  if (const auto drain = s.nodes().next_drain()) consider(drain->first);
  if (const auto lost = s.nodes().first_lost_clique()) {
    consider(lost->first + limits::kCliqueKeptMs);
  }
  if (const auto unknown = s.nodes().first_unknown()) {
    consider(unknown->first + limits::kGpusUnknownMs);
  }
  if (s.nodes().size() > 0 && s.allocations().keeps_books())
    consider(s.nodes().billed_until() + kDayMs);
  for (const auto& [id, cluster] : s.clusters().all()) {
    if (const auto row = next_row(s, id)) consider(row->due_ms);
  }
  return next;
}

}  // namespace subak::derive
