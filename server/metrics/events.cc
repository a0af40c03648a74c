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

Reservations Events::durable(const Released& batch) {
  Reservations found;
  if (!batch.facts || batch.facts->empty()) return found;
  commit_us.observe(batch.commit_us);
  batch_facts.observe(static_cast<std::int64_t>(batch.facts->size()));
  for (const Fact& fact : *batch.facts) {
    if (const auto* reserved = std::get_if<fact::JobReserved>(&fact.body)) {
      found.push_back({reserved->id, fact.time_ms});
    } else if (const auto* released = std::get_if<fact::HoldReleased>(&fact.body)) {
      if (released->reason == "expired") {
        reservations_expired.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  return found;
}

void Events::look_up(const Reservations& reservations, const Engine* engine) {
  for (const Reservation& reservation : reservations) {
    const std::optional<JobRow> row =
        engine ? engine->job(reservation.job, false) : std::optional<JobRow>();
    if (!row) {
      placements.add("unknown");
      continue;
    }
    if (row->started_ms != reservation.at_ms) continue;  // a hold that was only extended
    placements.add(enum_name(row->request.topology));
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
