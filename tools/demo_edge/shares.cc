#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/demo_edge/checks.h"
#include "tools/demo_edge/fleet.h"

namespace subak::demo {
namespace {

constexpr double kTolerance = 0.08;  // a minute with 100 GPUs and rack-sized jobs is grainy
constexpr double kMilliGpuMsPerHour = 3.6e9;

struct Window {
  std::int64_t from = 0, to = 0;
  double of(const Pod& pod) const {
    const std::int64_t begin = std::max(pod.opened_ms, from), end = std::min(pod.ended_ms, to);
    return end > begin ? static_cast<double>(pod.place.milligpu() * (end - begin)) : 0;
  }
};

// From the first placement to when the first team has nothing left that waits.
Window contended(const Story& story) {
  std::vector<std::int64_t> last(teams().size(), 0);
  Window window{INT64_MAX, INT64_MAX};
  for (const Pod& pod : story.pods) {
    if (!pod.opened() || !pod.from_api()) continue;
    window.from = std::min(window.from, pod.opened_ms);
    std::int64_t& of_team = last[story.team_of(pod)];
    of_team = std::max(of_team, pod.opened_ms);
  }
  window.to = *std::min_element(last.begin(), last.end());
  return window;
}

// Max-min by shares of what was received in all, nobody above its limit.
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
      break;  // the others share what it leaves
    }
  }
}

}  // namespace

std::vector<ShareLine> share_lines(const Story& story) {
  std::vector<ShareLine> lines(teams().size());
  for (std::size_t t = 0; t < lines.size(); ++t) lines[t].team = t;
  const Window window = contended(story);
  const Window always{0, INT64_MAX};
  double received = 0;
  for (const Pod& pod : story.pods) {
    ShareLine& line = lines[story.team_of(pod)];
    line.received += window.of(pod);
    line.gpu_hours += always.of(pod) / kMilliGpuMsPerHour;
    received += window.of(pod);
  }
  for (const JobPlan& plan : story.jobs) ++lines[plan.team].jobs;
  if (received <= 0) return lines;
  entitle(lines, received, static_cast<double>(window.to - window.from));
  for (ShareLine& line : lines) {
    line.entitled /= received;
    line.received /= received;
  }
  return lines;
}

void check_shares(const std::vector<ShareLine>& lines, Checks& out) {
  double worst = 0;
  for (const ShareLine& line : lines) {
    worst = std::max(worst, std::fabs(line.received - line.entitled));
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.1f points off at most", worst * 100);
  out.push_back({"each team received what its shares entitle it to", worst <= kTolerance, text});
}

}  // namespace subak::demo
