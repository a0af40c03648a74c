#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/demo_edge/checks/checks.h"
#include "tools/demo_edge/fleet.h"

namespace subak::demo {
namespace {

constexpr double kTolerance = 0.1;  // half a minute with one job as large as the rack is too short
                                    // for more precision
constexpr double kMilliGpuMsPerHour = 3.6e9;

// True for jobs that fit nearly everywhere: while one waits, its team could have used more.
bool ordinary(const v1::PodShape& shape, const Pod& pod, const Story& story) {
  return pod.from_api() && pod.job != story.rack_job && shape.kind() == v1::GPU_KIND_WHOLE &&
         shape.gpus() <= kRackGpusPerNode;
}

struct Interval {
  std::int64_t from, to;
};

// Returns the intervals in which every team had waiting work.
std::vector<Interval> contended(const Story& story) {
  std::multimap<std::int64_t, std::pair<std::size_t, int>> changes;  // team, more or fewer waiting
  for (const Pod& pod : story.pods) {
    const JobPlan* plan = story.plan_of(pod);
    if (plan == nullptr || !ordinary(story.shape_of(pod), pod, story)) continue;
    if (plan->answered_ms >= pod.opened_ms) continue;
    changes.emplace(plan->answered_ms, std::pair(plan->team, 1));
    changes.emplace(pod.opened_ms, std::pair(plan->team, -1));
  }
  std::vector<int> waiting(teams().size(), 0);
  std::vector<Interval> out;
  std::int64_t since = 0;
  bool all = false;
  for (const auto& [at, change] : changes) {
    if (all && at > since) out.push_back({since, at});
    waiting[change.first] += change.second;
    all = std::all_of(waiting.begin(), waiting.end(), [](int n) { return n > 0; });
    since = at;
  }
  return out;
}

double received_in(const std::vector<Interval>& intervals, const Pod& pod) {
  double out = 0;
  for (const Interval& i : intervals) {
    const std::int64_t ms = std::min(pod.ended_ms, i.to) - std::max(pod.opened_ms, i.from);
    if (ms > 0) out += static_cast<double>(pod.place.milligpu() * ms);
  }
  return out;
}

// Divides all received usage by shares (max-min), with no team above its limit.
void entitle(std::vector<ShareLine>& lines, double received, double window_ms) {
  double left = received, norm = 0;
  std::vector<bool> capped(lines.size(), false);
  for (std::size_t round = 0; round <= lines.size(); ++round) {
    norm = 0;
    for (std::size_t t = 0; t < lines.size(); ++t) norm += capped[t] ? 0 : teams()[t].norm;
    for (std::size_t t = 0; t < lines.size(); ++t) {
      if (capped[t]) continue;
      const double limit = static_cast<double>(teams()[t].limit_gpus) * 1000 * window_ms;
      lines[t].entitled = left * teams()[t].norm / norm;
      if (limit == 0 || lines[t].entitled <= limit) continue;
      lines[t].entitled = limit;
      capped[t] = true;
      left -= limit;
      break;  // the others share the rest
    }
  }
}

}  // namespace

std::vector<ShareLine> share_lines(const Story& story) {
  std::vector<ShareLine> lines(teams().size());
  for (std::size_t t = 0; t < lines.size(); ++t) lines[t].team = t;
  const std::vector<Interval> window = contended(story);
  double received = 0, window_ms = 0;
  for (const Interval& i : window) window_ms += static_cast<double>(i.to - i.from);
  for (const Pod& pod : story.pods) {
    ShareLine& line = lines[story.team_of(pod)];
    const double in_window = received_in(window, pod);
    line.received += in_window;
    line.gpu_hours += received_in({{0, INT64_MAX}}, pod) / kMilliGpuMsPerHour;
    received += in_window;
  }
  for (const JobPlan& plan : story.jobs) ++lines[plan.team].jobs;
  if (received <= 0) return lines;
  entitle(lines, received, window_ms);
  for (ShareLine& line : lines) line.window_s = window_ms / 1000;
  for (ShareLine& line : lines) {
    line.entitled /= received;
    line.received /= received;
  }
  return lines;
}

void check_shares(const std::vector<ShareLine>& lines, std::int64_t stalled_ms, Checks& out) {
  double worst = 0, seconds = 0;
  for (const ShareLine& line : lines) {
    worst = std::max(worst, std::fabs(line.received - line.entitled));
    seconds = line.window_s;
  }
  const char* what = "each team received what its shares entitle it to";
  if (stalled_ms > 0) {  // pods of a few seconds became pods of half a minute: no comparison
    const std::string seconds_text = std::to_string(stalled_ms / 1000);
    out.push_back({what, true, "not judged: this machine stood still for " + seconds_text + " s"});
    return;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.1f points off, over %.1f s", worst * 100, seconds);
  out.push_back({what, seconds > 0 && worst <= kTolerance, text});
}

}  // namespace subak::demo
