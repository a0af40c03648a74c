#include "engine/decide/said_time.h"

#include <algorithm>
#include <cstdlib>

#include "core/limits.h"
#include "core/must.h"

namespace subak::decide {
namespace {

// True if the input says which time its sender's clock shows. If an early report is decided only
// now, its times are already by our clock.
bool knows_clock(const Decision& d) { return d.input.said_at_ms != 0 && !d.retold; }

DurationMs behind(const Decision& d) {
  const DurationMs off = knows_clock(d) ? d.s.now() - d.input.said_at_ms : 0;
  return std::abs(off) <= limits::kClockErrorMs ? 0 : off;
}

}  // namespace

TimeMs our_time(const Decision& d, TimeMs said) {
  if (said == 0) return d.s.now();
  must(d.s.now() >= 0, "time begins at 0");
  return std::clamp<TimeMs>(said + behind(d), 0, d.s.now());
}

RowClock clock_of(const Decision& d, TimeMs said) {
  if (said == 0) return RowClock::kService;
  return behind(d) == 0 ? RowClock::kReported : RowClock::kAdjusted;
}

Sign sign_of(const Decision& d, ClusterId cluster, TimeMs said) {
  const bool live = d.s.clusters().at(cluster).synced;
  if (said == 0) return {};
  if (knows_clock(d) || !live) return {std::max<TimeMs>(our_time(d, said), 1), 0};
  const DurationMs late = d.s.now() - said;
  return {0, std::abs(late) <= limits::kClockNoiseMs ? 0 : late};
}

Sign sign_of(const Decision& d, const PodRecord& pod) {
  if (pod.running_at_ms == 0) return {};
  if (knows_clock(d)) return {std::max<TimeMs>(our_time(d, pod.running_at_ms), 1), 0};
  const DurationMs least = pod.bound_at_ms - pod.running_at_ms;
  const DurationMs late = pod.bound_at_ms != 0 && least > limits::kClockNoiseMs ? least : 0;
  return {std::clamp<TimeMs>(pod.running_at_ms + late, 1, d.s.now()), late};
}

End end_of(const Decision& d, const state::Pod& pod, TimeMs said, Cause cause) {
  const TimeMs now = d.s.now();
  if (said == 0) return {now, RowClock::kService};
  End end{our_time(d, said), clock_of(d, said)};
  if (!knows_clock(d) && pod.behind_ms != 0) {
    end = {std::clamp<TimeMs>(said + pod.behind_ms, 0, now), RowClock::kAdjusted};
  }
  must(end.at_ms >= 0 && end.at_ms <= now, "a pod that ended has ended by now");
  if (end.at_ms + limits::kClockNoiseMs >= pod.seen_ms) return end;
  return {cause == Cause::kVanished ? std::min(pod.seen_ms, now) : now, RowClock::kService};
}

}  // namespace subak::decide
