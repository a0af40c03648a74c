// The CSV files of the simulator: traces, and the small tables of teams.
#include <algorithm>
#include <set>

#include "core/limits.h"
#include "sim/read/trace.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_job(const sim::TraceJob& job) {
  assert(!job.id.empty() && job.id.size() <= limits::kMaxNameBytes);
  assert(job.submit_ms >= 0 && job.duration_ms >= 1 && job.milligpu > 0);
  assert(job.milligpu < kMilliPerGpu || job.milligpu % kMilliPerGpu == 0);
  assert(job.gang_pods <= limits::kMaxPodsPerJob);
  assert(std::is_sorted(job.products.begin(), job.products.end()));
  const std::string account = sim::account_name(job.team);
  assert(!account.empty());
  assert(account.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  const auto jobs = sim::read_trace(file.path());
  if (jobs.ok()) {
    for (const sim::TraceJob& job : *jobs) check_job(job);
    assert(std::is_sorted(jobs->begin(), jobs->end(),
                          [](const auto& a, const auto& b) { return a.submit_ms < b.submit_ms; }));
    assert(std::find(data, data + size, 0) == data + size || data[0] == 0x1f);  // or gzip
  } else {
    fuzz::check_error(jobs.error());
    assert(jobs.error().field.starts_with(file.path()));
  }
  const auto table = sim::read_team_table(file.path(), "share");
  if (!table.ok()) {
    fuzz::check_error(table.error());
    return 0;
  }
  std::set<std::string> teams;
  for (const auto& [team, amount] : *table) {
    assert(!team.empty() && amount >= 0 && teams.insert(team).second);
  }
  return 0;
}
