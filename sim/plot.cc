// The charts of a simulation.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "sim/report.h"
#include "sim/report/svg.h"
#include "sim/report/table.h"

namespace subak::sim {
namespace {

constexpr double kWidth = 1100, kHeight = 560;
constexpr double kLeft = 70, kTop = 84, kPlotWidth = 810;
constexpr std::size_t kMostBins = 336;
constexpr std::size_t kMostTeams = 10;  // each by itself; one grey band shows the rest

// Hourly figures averaged into at most kMostBins bins of whole hours.
std::vector<double> binned(const std::vector<double>& hours) {
  const std::size_t per_bin = (hours.size() + kMostBins - 1) / kMostBins;
  std::vector<double> bins;
  for (std::size_t i = 0; i < hours.size(); i += per_bin) {
    const std::size_t end = std::min(hours.size(), i + per_bin);
    double sum = 0;
    for (std::size_t h = i; h < end; ++h) sum += hours[h];
    bins.push_back(sum / static_cast<double>(end - i));
  }
  return bins;
}

double day_of(TimeMs t) { return double(t - kTraceEpochMs) / double{kDayMs}; }

// Days of the trace along x.
Frame day_frame(const Workload& w, double top, double height, double y1) {
  Frame f;
  f.left = kLeft;
  f.top = top;
  f.width = kPlotWidth;
  f.height = height;
  f.x0 = day_of(w.from_ms);
  f.x1 = day_of(w.to_ms);
  f.y1 = y1;
  return f;
}

double bin_day(const Frame& f, std::size_t bin, std::size_t bins) {
  return f.x0 + (f.x1 - f.x0) * static_cast<double>(bin) / static_cast<double>(bins);
}

// Draws steps, because the value of a bin stands for the whole length of the bin.
std::vector<Point> steps(const Frame& f, const std::vector<double>& values) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = std::clamp(values[i], f.y0, f.y1);
    points.push_back(f.map(bin_day(f, i, values.size()), y));
    points.push_back(f.map(bin_day(f, i + 1, values.size()), y));
  }
  return points;
}

void band(Svg& svg, const Frame& f, const std::vector<double>& below,
          const std::vector<double>& above, std::string_view fill) {
  std::vector<Point> outline = steps(f, above);
  const std::vector<Point> bottom = steps(f, below);
  outline.insert(outline.end(), bottom.rbegin(), bottom.rend());
  svg.area(outline, fill);
}

void title(Svg& svg, const std::string& text, const std::string& below) {
  svg.text({kLeft, 30}, text, 17, "start", "#222222", true);
  svg.text({kLeft, 50}, below, 12, "start", "#555555");
}

// Teams that received most first; those beyond kMostTeams are merged into the last group.
std::vector<std::vector<std::size_t>> group_teams(const SimResult& r) {
  std::vector<std::size_t> order(r.teams.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&r](std::size_t a, std::size_t b) {
    return r.teams[a].received_gpu_h > r.teams[b].received_gpu_h;
  });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t team : order) {
    const bool own = groups.size() < kMostTeams || order.size() <= kMostTeams + 1;
    if (own || groups.size() == kMostTeams) groups.emplace_back();
    groups.back().push_back(team);
  }
  return groups;
}

void legend_row(Svg& svg, double y, std::string_view fill, const std::string& name,
                const std::string& detail) {
  const double x = kLeft + kPlotWidth + 18;
  svg.rect(x, y - 11, 14, 14, fill);
  svg.text({x + 21, y}, name, 12);
  svg.text({kWidth - 14, y}, detail, 12, "end", "#555555");
}

void add_to(std::vector<double>& sum, const std::vector<double>& hours, double factor) {
  const std::vector<double> bins = binned(hours);
  sum.resize(bins.size());
  for (std::size_t i = 0; i < bins.size(); ++i) sum[i] += bins[i] * factor;
}

std::string span_text(const Workload& w, const SimResult& r) {
  return std::to_string(w.capacity / kMilliPerGpu) + " GPUs, " + std::to_string(r.jobs) +
         " jobs, days " + fixed(day_of(w.from_ms), 0) + " to " + fixed(day_of(w.to_ms), 0) +
         " of the trace";
}

}  // namespace

std::string share_plot(const Workload& w, const SimResult& r) {
  Svg svg(kWidth, kHeight);
  title(svg, "Fleet by team, " + r.policy, span_text(w, r));
  const Frame f = day_frame(w, kTop, kHeight - kTop - 60, 100);
  const double percent = 100 * double{kMilliPerGpu} / static_cast<double>(w.capacity);
  f.draw(svg, linear_ticks(f.x0, f.x1, 14), linear_ticks(0, 100, 5, " %"), "day of the trace",
         "part of the fleet");
  const auto groups = group_teams(r);
  std::vector<double> below, entitled_top;
  std::vector<std::vector<double>> lines;
  double y = kTop + 8;
  svg.text({kWidth - 14, kTop - 14}, "mean / entitled", 11, "end", "#555555");
  const double hours = static_cast<double>(w.to_ms - w.from_ms) / double{kHourMs};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool others = groups[g].size() > 1;
    const std::string_view fill = others ? kGrey : colour(g);
    std::vector<double> above = below;
    double mean = 0, owed = 0;
    for (const std::size_t team : groups[g]) {
      add_to(above, r.received_by_hour[team], percent);
      add_to(entitled_top, r.entitled_by_hour[team], percent);
      mean += r.teams[team].received_gpu_h / hours * percent;
      owed += r.teams[team].entitled_gpu_h / hours * percent;
    }
    below.resize(above.size());
    band(svg, f, below, above, fill);
    lines.push_back(entitled_top);
    const std::string name = others ? std::to_string(groups[g].size()) + " others"
                                    : r.teams[groups[g][0]].team.substr(0, 12);
    legend_row(svg, y, fill, name, fixed(mean, 1) + " / " + fixed(owed, 1) + " %");
    y += 22;
    below = std::move(above);
  }
  for (const auto& line : lines) svg.path(steps(f, line), "#222222", 0.9, true);
  const double x = kLeft + kPlotWidth + 18;
  svg.line({x, y + 3}, {x + 24, y + 3}, "#222222", 1, true);
  svg.text({x + 31, y + 7}, "entitled, stacked", 12);
  return svg.finish();
}

std::string load_plot(const Workload& w, const SimResult& r) {
  Svg svg(kWidth, kHeight);
  title(svg, "Load and queue, " + r.policy, span_text(w, r));
  std::vector<double> used, queued;
  for (std::size_t team = 0; team < r.teams.size(); ++team) {
    add_to(used, r.received_by_hour[team], 100 * double{kMilliPerGpu} / double(w.capacity));
    add_to(queued, r.queued_by_hour[team], 1);
  }
  const double most = std::max(1.0, *std::max_element(queued.begin(), queued.end()));
  const Frame top = day_frame(w, kTop, 170, 100);
  top.draw(svg, linear_ticks(top.x0, top.x1, 14), linear_ticks(0, 100, 4, " %"), "", "GPUs in use");
  band(svg, top, std::vector<double>(used.size()), used, colour(0));
  const Frame bottom = day_frame(w, kTop + 235, 170, most * 1.05);
  bottom.draw(svg, linear_ticks(bottom.x0, bottom.x1, 14), linear_ticks(0, bottom.y1, 4),
              "day of the trace", "GPUs that queued jobs ask for");
  band(svg, bottom, std::vector<double>(queued.size()), queued, colour(1));
  const double x = kLeft + kPlotWidth + 18;
  svg.text({x, kTop + 12}, "mean " + fixed(100 * r.utilisation, 1) + " %", 13);
  svg.text({x, kTop + 247}, "most " + fixed(most, 0) + " GPUs", 13);
  svg.text({x, kTop + 267}, "wait mean " + human_seconds(r.wait_s.mean), 13);
  svg.text({x, kTop + 287}, "p90 " + human_seconds(r.wait_s.p90), 13);
  svg.text({x, kTop + 307}, "p99 " + human_seconds(r.wait_s.p99), 13);
  return svg.finish();
}

std::string waits_plot(const std::vector<SimResult>& results) {
  Svg svg(kWidth, kHeight);
  title(svg, "How long jobs waited", "part of all jobs that started within the time below");
  const double least = 1;
  double most = 3600;
  for (const SimResult& r : results) {
    if (r.waits_s.empty()) continue;
    most = std::max(most, r.waits_s.back());
  }
  Frame f;
  f.left = kLeft, f.top = kTop, f.width = kPlotWidth, f.height = kHeight - kTop - 60;
  f.x0 = std::log10(least), f.x1 = std::log10(most * 1.1);
  f.y1 = 100;
  std::vector<Tick> ticks;
  const std::pair<double, const char*> marks[] = {
      {1, "1 s"},     {10, "10 s"},   {60, "1 min"},   {600, "10 min"},  {3600, "1 h"},
      {21600, "6 h"}, {86400, "1 d"}, {259200, "3 d"}, {864000, "10 d"}, {2592000, "30 d"}};
  for (const auto& [at, label] : marks) {
    if (std::log10(at) <= f.x1) ticks.push_back({std::log10(at), label});
  }
  f.draw(svg, ticks, linear_ticks(0, 100, 5, " %"), "wait", "jobs started");
  double y = kTop + 8;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::vector<double>& waits = results[i].waits_s;
    std::vector<Point> curve;
    constexpr int kSteps = 400;
    for (int s = 0; s <= kSteps && !waits.empty(); ++s) {
      const double x = f.x0 + (f.x1 - f.x0) * s / kSteps;
      const auto upto = std::upper_bound(waits.begin(), waits.end(), std::pow(10, x));
      const double part = 100 * double(upto - waits.begin()) / double(waits.size());
      curve.push_back(f.map(x, std::max(f.y0, part)));
    }
    svg.path(curve, colour(i), 2.2);
    legend_row(svg, y, colour(i), results[i].policy, human_seconds(results[i].wait_s.mean));
    y += 22;
  }
  svg.text({kWidth - 14, kTop - 14}, "mean", 11, "end", "#555555");
  return svg.finish();
}

std::optional<Error> write_plots(const Workload& workload, const std::vector<SimResult>& results,
                                 const std::string& directory) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  std::vector<std::pair<std::string, std::string>> files{{"waits.svg", waits_plot(results)}};
  for (const SimResult& r : results) {
    files.emplace_back("share-" + r.policy + ".svg", share_plot(workload, r));
    files.emplace_back("load-" + r.policy + ".svg", load_plot(workload, r));
  }
  for (const auto& [name, text] : files) {
    std::ofstream file(std::filesystem::path(directory) / name, std::ios::binary);
    file << text;
    file.close();
    if (!file) return Error{ErrorCode::kPrecondition, "plot", directory, "a directory to write to"};
  }
  return std::nullopt;
}

}  // namespace subak::sim
