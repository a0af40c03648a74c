// The same jobs through the bare engine of the simulator and through the whole service: the facts
// are the same, byte for byte, and so are those that the store gives back.
//
// Input: the first 2,000 jobs from day 21 of the Philly trace (Jeon et al., ATC'19), read from
// $SUBAK_TRACES or ../shared/traces; without it a seeded workload with Philly's mix of sizes.
#include <gtest/gtest.h>

#include "tests/integration/fact_port.h"
#include "tests/integration/philly.h"
#include "tests/integration/service_port.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

constexpr std::size_t kJobs = 2000;
constexpr char kActor[] = "loopback";

TEST(TraceOverGrpc, TheServiceMakesTheSimulatorsFacts) {
  const sim::Workload jobs = busy_weeks({14, kJobs, "24x8"});
  ASSERT_GE(jobs.jobs.size(), kJobs);
  Policy policy;
  policy.patience_ms = kHourMs;
  Nobody nobody;

  std::vector<std::string> facts;
  FactPort direct([&](const Fact& fact) { facts.push_back(fact_to_text(fact)); }, kActor);
  sim::Driver simulated(jobs, direct, nobody);
  ASSERT_FALSE(simulated.set_up(policy));
  simulated.run();

  const TempFolder folder;
  ServicePort service(folder.file("subak.db"));
  service.start(jobs.from_ms);
  sim::Driver driver(jobs, service, nobody);
  ASSERT_FALSE(driver.set_up(policy));
  service.connect_edge();
  driver.run();
  EXPECT_EQ(driver.finished(), simulated.finished());

  const std::vector<std::string> served = service.facts();
  ASSERT_GT(facts.size(), kJobs * 5);
  ASSERT_EQ(served.size(), facts.size());
  for (std::size_t i = 0; i < served.size(); ++i) ASSERT_EQ(served[i], facts[i]) << "fact " << i;
  EXPECT_EQ(service.stored(), served);
}

}  // namespace
}  // namespace subak
