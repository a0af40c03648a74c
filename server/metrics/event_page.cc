#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

void write_decisions(Exposition& out, const Events& events) {
  out.counter("admissions_total", "Answers of the webhook.");
  for (const auto& [key, count] : events.admissions.read()) {
    out.sample({{"decision", key.first}, {"reason", key.second}}, count);
  }
  out.histogram("admission_seconds", "Time in the webhook's handler.");
  out.sample({}, events.admission_us.snapshot());
  out.counter("bypass_attempts_total", "Ways around the gate that were tried.");
  out.sample({}, events.bypass_attempts.load(std::memory_order_relaxed));
  out.histogram("scheduling_pass_seconds", "Duration of a scheduling pass.");
  out.sample({}, events.pass_us.snapshot());
  out.counter("placements_total", "Jobs that got a place, by the topology they asked for.");
  for (const auto& [key, count] : events.placements.read()) {
    out.sample({{"topology", key.first}}, count);
  }
  out.counter("reservations_expired_total", "Holds taken back because nothing was bound in time.");
  out.sample({}, events.reservations_expired.load(std::memory_order_relaxed));
}

}  // namespace

void write_events(Exposition& out, const Events& events) {
  write_decisions(out, events);
  out.histogram("job_wait_seconds", "From submission until the whole gang had its place.");
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    out.sample({{"class", kClasses[i]}}, events.wait_ms[i].snapshot());
  }
  out.histogram("store_commit_seconds", "Duration of a durable commit.");
  out.sample({}, events.commit_us.snapshot());
  out.histogram("store_batch_facts", "Facts in one commit.");
  out.sample({}, events.batch_facts.snapshot());
  out.counter("watch_relists_total", "Complete lists begun by the watches.");
  out.sample({}, events.watch_relists.load(std::memory_order_relaxed));
}

}  // namespace subak::metrics
