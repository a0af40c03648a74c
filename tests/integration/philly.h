// The Philly trace (Jeon et al., ATC'19) for tests, and a made-up trace for machines without it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.h"
#include "sim/read/workload.h"

namespace subak {

// Returns the path of the trace, in $SUBAK_TRACES or ../shared/traces. There may be no such file.
inline std::string philly_path() {
  const char* const folder = std::getenv("SUBAK_TRACES");
  return std::string(folder != nullptr ? folder : "../shared/traces") + "/philly.csv.gz";
}

// Returns a seeded trace with Philly's mix: 93 % of jobs take one GPU, the rest up to 32.
// Run times are lognormal around 20 minutes.
inline std::vector<sim::TraceJob> like_philly(std::size_t jobs) {
  std::mt19937_64 random(20170803);
  auto unit = [&] { return static_cast<double>(random() >> 11) / 9007199254740992.0; };
  std::vector<sim::TraceJob> trace;
  DurationMs now = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    sim::TraceJob job;
    job.id = "j" + std::to_string(i);
    now += static_cast<DurationMs>(unit() * 120'000);
    job.submit_ms = now;
    const double bell = unit() + unit() + unit() + unit() - 2;  // enough of a normal for a mix
    job.duration_ms = 1000 + static_cast<DurationMs>(1'150'000 * std::exp(2.6 * bell));
    const double u = unit();
    job.milligpu = (u < 0.932   ? 1
                    : u < 0.95  ? 2
                    : u < 0.98  ? 4
                    : u < 0.993 ? 8
                                : 32) *
                   kMilliPerGpu;
    job.team = "vc" + std::to_string(random() % 5 * (random() % 3));
    trace.push_back(job);
  }
  return trace;
}

// The day of the trace on which its busiest weeks begin.
inline constexpr double kBusyDay = 21;

// A part of the busiest weeks, and a fleet for it.
struct BusyPart {
  double days = 14;
  std::size_t most_jobs = SIZE_MAX;
  // As --nodes of `subak sim`.
  std::string nodes;
};

// Returns the jobs that were submitted in the part, as if no job ran before. Without the trace, a
// made-up one with at most 1,200 jobs a day on 64 GPUs.
inline sim::Workload busy_weeks(const BusyPart& part) {
  const auto from_ms = static_cast<DurationMs>(kBusyDay * kDayMs);
  const auto to_ms = from_ms + static_cast<DurationMs>(part.days * kDayMs);
  std::vector<sim::TraceJob> trace;
  std::string nodes = part.nodes;
  if (std::filesystem::exists(philly_path())) {
    auto read = sim::read_trace(philly_path());
    EXPECT_TRUE(read.ok());
    for (sim::TraceJob& job : *read) {
      if (job.submit_ms < from_ms || job.submit_ms >= to_ms) continue;
      if (trace.size() == part.most_jobs) break;
      job.submit_ms -= from_ms;
      trace.push_back(std::move(job));
    }
  } else {
    trace = like_philly(std::min(part.most_jobs, static_cast<std::size_t>(1200 * part.days)));
    nodes = "8x8";
  }
  auto fleet = sim::read_nodes(nodes);
  EXPECT_TRUE(fleet.ok());
  auto made = sim::make_workload(std::move(trace), std::move(*fleet), {});
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

}  // namespace subak
