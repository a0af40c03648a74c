#include "server/metrics/events.h"

namespace subak::metrics {

void CounterTable::add(std::string_view first, std::string_view second, std::uint64_t by) {
  const std::lock_guard lock(mutex_);
  counts_[Key(first, second)] += by;
}

std::map<CounterTable::Key, std::uint64_t> CounterTable::read() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::size_t class_of(std::int32_t priority) { return priority < 0 ? 0 : priority == 0 ? 1 : 2; }

Histogram Events::wait_histogram() {
  return Histogram({1000, 5000, 15'000, 60'000, 300'000, 900'000, 3'600'000, 14'400'000, 43'200'000,
                    86'400'000, 259'200'000, 604'800'000},
                   1000);
}

JobsToLookUp Events::durable(const Released& batch) {
  JobsToLookUp jobs;
  if (!batch.facts || batch.facts->empty()) return jobs;
  commit_us.observe(batch.commit_us);
  batch_facts.observe(static_cast<std::int64_t>(batch.facts->size()));
  for (const Fact& fact : *batch.facts) {
    if (const auto* reserved = std::get_if<fact::JobReserved>(&fact.body)) {
      jobs.reserved.push_back(reserved->id);
    } else if (const auto* moved = std::get_if<fact::JobMoved>(&fact.body)) {
      if (moved->to == JobState::kRunning) jobs.started.push_back(moved->id);
    } else if (const auto* released = std::get_if<fact::HoldReleased>(&fact.body)) {
      if (released->reason == "expired") {
        reservations_expired.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  return jobs;
}

void Events::look_up(const JobsToLookUp& jobs, const Engine* engine) {
  const auto find = [engine](JobId id) {
    return engine ? engine->job(id, false) : std::optional<JobRow>();
  };
  for (const JobId id : jobs.reserved) {
    const std::optional<JobRow> row = find(id);
    placements.add(row ? enum_name(row->request.topology) : "unknown");
  }
  for (const JobId id : jobs.started) {
    const std::optional<JobRow> row = find(id);
    if (!row || row->started_ms < row->submit_ms) continue;
    wait_ms[class_of(row->priority)].observe(row->started_ms - row->submit_ms);
  }
}

void Events::input(const Input& input) {
  if (std::holds_alternative<in::ListBegin>(input.body)) {
    watch_relists.fetch_add(1, std::memory_order_relaxed);
  }
}

void Events::admission(std::string_view decision, std::string_view reason, std::int64_t us) {
  admission_us.observe(us);
  admissions.add(decision, reason);
}

}  // namespace subak::metrics
