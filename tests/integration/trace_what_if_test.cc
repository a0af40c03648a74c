// A trace through the whole service, asked back by PolicyService.WhatIf: the replay without a change
// has the figures of `subak sim` on the trace, and the replay with other shares has those of `sim`
// with these shares.
//
// Input: the first 2,000 jobs from day 21 of the Philly trace (Jeon et al., ATC'19), or with
// SUBAK_WHATIF_DAYS=14 all 17,000 jobs of 14 days. The trace is read from $SUBAK_TRACES or
// ../shared/traces; without it a seeded workload with Philly's mix of sizes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "sim/simulate.h"
#include "subak/v1/policy_service.grpc.pb.h"
#include "tests/integration/fact_port.h"
#include "tests/integration/philly.h"
#include "tests/integration/service_port.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

constexpr std::size_t kJobs = 2000;
constexpr std::int64_t kOtherShares = 5;

BusyPart part() {
  const char* const days = std::getenv("SUBAK_WHATIF_DAYS");
  return days == nullptr ? BusyPart{14, kJobs, "24x8"}
                         : BusyPart{std::atof(days), SIZE_MAX, "80x8"};
}

Policy policy() {
  Policy out;
  out.patience_ms = kHourMs;
  return out;
}

// Returns the figures of `subak sim` for the workload.
sim::SimResult simulated(const sim::Workload& jobs) {
  auto result = sim::simulate(jobs, policy());
  EXPECT_TRUE(result.ok());
  return *std::move(result);
}

// Returns the team whose jobs wait the longest in all.
std::size_t longest_waiting(const sim::SimResult& result) {
  const auto wait_s = [](const sim::TeamResult& team) {
    return team.wait_mean_s * static_cast<double>(team.jobs);
  };
  const auto most =
      std::max_element(result.teams.begin(), result.teams.end(),
                       [&](const auto& a, const auto& b) { return wait_s(a) < wait_s(b); });
  return static_cast<std::size_t>(most - result.teams.begin());
}

v1::WhatIfReport what_if(const ServicePort& service, const v1::WhatIfRequest& request) {
  const auto stub = v1::PolicyService::NewStub(service.channel());
  grpc::ClientContext context;
  const auto reader = stub->WhatIf(&context, request);
  v1::WhatIfResponse message;
  v1::WhatIfReport report;
  while (reader->Read(&message)) {
    if (message.has_report()) report = message.report();
  }
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return report;
}

void expect_waits(const v1::WhatIfWaits& waits, const sim::Spread& wanted) {
  EXPECT_EQ(waits.jobs(), static_cast<std::int64_t>(wanted.jobs));
  EXPECT_DOUBLE_EQ(waits.mean_seconds(), wanted.mean);
  EXPECT_DOUBLE_EQ(waits.p50_seconds(), wanted.p50);
  EXPECT_DOUBLE_EQ(waits.p90_seconds(), wanted.p90);
  EXPECT_DOUBLE_EQ(waits.p99_seconds(), wanted.p99);
}

// Compares the figures of a replay with those of the simulation: the table of `subak sim compare`.
void expect_figures(const v1::WhatIfFigures& figures, const sim::SimResult& wanted) {
  EXPECT_EQ(figures.finished(), static_cast<std::int64_t>(wanted.finished));
  EXPECT_EQ(figures.refused_jobs(), 0);
  EXPECT_EQ(figures.refused_edits(), 0);
  EXPECT_DOUBLE_EQ(figures.slowdown_mean(), wanted.bounded_slowdown.mean);
  expect_waits(figures.waits(), wanted.wait_s);
  std::map<std::string, v1::WhatIfWaits> sizes;
  for (const v1::WhatIfWaits& waits : figures.waits_by_size()) sizes[waits.size()] = waits;
  for (std::size_t size = 0; size < sim::kSizeClasses.size(); ++size) {
    SCOPED_TRACE(sim::kSizeClasses[size]);
    expect_waits(sizes[sim::kSizeClasses[size]], wanted.wait_by_size[size]);
  }
}

class TraceWhatIf : public testing::Test {
 protected:
  void SetUp() override {
    Nobody nobody;
    service_.start(jobs_.from_ms);
    sim::Driver driver(jobs_, service_, nobody);
    ASSERT_FALSE(driver.set_up(policy()));
    service_.connect_edge();
    driver.run();
  }
  // A request about the whole trace.
  v1::WhatIfRequest request() const {
    v1::WhatIfRequest out;
    out.mutable_from()->set_seconds(jobs_.from_ms / kSecondMs - 1);
    return out;
  }
  // Compares the waits by account in one column of the table.
  void expect_accounts(const v1::WhatIfReport& report, const sim::SimResult& wanted,
                       double (v1::WhatIfValues::*column)() const) const {
    std::size_t found = 0;
    for (const v1::WhatIfAccount& row : report.accounts()) {
      for (std::size_t team = 0; team < jobs_.teams.size(); ++team) {
        if (jobs_.teams[team].account != row.account()) continue;
        SCOPED_TRACE(row.account());
        ++found;
        EXPECT_EQ(row.jobs(), static_cast<std::int64_t>(wanted.teams[team].jobs));
        EXPECT_DOUBLE_EQ((row.wait_mean_seconds().*column)(), wanted.teams[team].wait_mean_s);
      }
    }
    EXPECT_EQ(found, jobs_.teams.size());
  }

  const sim::Workload jobs_ = busy_weeks(part());
  const TempFolder folder_;
  ServicePort service_{folder_.file("subak.db")};
};

TEST_F(TraceWhatIf, TheReplaysAreThoseOfTheSimulator) {
  const sim::SimResult before = simulated(jobs_);
  const v1::WhatIfReport same = what_if(service_, request());
  EXPECT_EQ(same.last_sequence(), service_.facts().size());
  EXPECT_EQ(same.jobs(), static_cast<std::int64_t>(before.jobs - before.unplaceable));
  EXPECT_EQ(same.nearness().within_minute(), 1);
  EXPECT_EQ(same.nearness().wait_difference_mean_seconds(), 0) << "each job starts as it did";
  EXPECT_EQ(same.nearness().jobs(), static_cast<std::int64_t>(before.wait_s.jobs));
  expect_figures(same.real(), before);
  expect_figures(same.unchanged(), before);
  expect_figures(same.changed(), before);
  expect_accounts(same, before, &v1::WhatIfValues::real);
  expect_accounts(same, before, &v1::WhatIfValues::unchanged);
  expect_accounts(same, before, &v1::WhatIfValues::changed);
  EXPECT_EQ(what_if(service_, request()).SerializeAsString(), same.SerializeAsString());

  const std::size_t team = longest_waiting(before);
  sim::Workload other = jobs_;
  other.teams[team].shares = kOtherShares;
  const sim::SimResult after = simulated(other);
  ASSERT_NE(after.teams[team].wait_mean_s, before.teams[team].wait_mean_s);
  v1::WhatIfRequest change = request();
  v1::AccountChange& line = *change.add_accounts();
  line.mutable_account()->set_path(jobs_.teams[team].account);
  line.mutable_account()->set_shares(kOtherShares);
  line.mutable_update_mask()->add_paths("shares");
  const v1::WhatIfReport changed = what_if(service_, change);
  EXPECT_EQ(changed.unchanged().SerializeAsString(), same.unchanged().SerializeAsString());
  expect_figures(changed.changed(), after);
  expect_accounts(changed, before, &v1::WhatIfValues::unchanged);
  expect_accounts(changed, after, &v1::WhatIfValues::changed);
  std::printf("%zu jobs, %llu facts; %s with %lld shares: a mean wait of %.0f s becomes %.0f s\n",
              jobs_.jobs.size(), static_cast<unsigned long long>(same.last_sequence()),
              jobs_.teams[team].account.c_str(), static_cast<long long>(kOtherShares),
              before.teams[team].wait_mean_s, after.teams[team].wait_mean_s);
}

}  // namespace
}  // namespace subak
