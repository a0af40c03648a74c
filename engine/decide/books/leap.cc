// Corrects the books after a wrong clock at a start: refunds the charges over that time
// (docs/design/0078).
#include <algorithm>
#include <span>
#include <vector>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// Writes rows up to now for all holders since before `to`, so that the time before it is in rows.
// For unbound holds the payer is not known yet, so the platform pays for that time.
void charge_all(Decision& d, TimeMs to) {
  std::vector<state::PodPlace> places;
  d.s.allocations().each_node([&](NodeId /*node*/, std::span<const state::PodPlace> pods) {
    places.insert(places.end(), pods.begin(), pods.end());
  });
  for (const state::PodPlace& place : places) {
    const state::Job& job = d.s.jobs().at(place.job);
    const state::Pod& pod = job.pods[place.rank];
    must(pod.holds_slot(), "a place on a node is held");
    if (pod.since_ms >= to) continue;
    if (pod.is_bound()) {
      charge_end(d, job, place.rank, d.s.now());
    } else {
      charge(d, job, place.rank, to, UsageState::kHeldUnbound, kPlatform);
    }
  }
}

}  // namespace

void note_leap(Decision& d) {
  const bool leapt = d.s.now() - d.before_ms > limits::kMaxClockStepMs;
  if (d.before_ms != 0 && leapt && d.s.allocations().keeps_books()) {
    d.emit(fact::TimeLeapt{d.before_ms, d.s.now(), 0, {}});
  }
}

void decide(Decision& d, const in::ClockWrong& i) {
  const state::Leap& leap = d.s.leap();
  if (!leap.is_open() || d.s.now() > leap.until_ms()) return;
  const TimeMs to = leap.to_ms();
  const TimeMs from = std::max(leap.from_ms(), to - i.ahead_ms);
  must(leap.from_ms() <= to && to <= d.s.now(), "a leap lies in the past");
  charge_all(d, to);
  for (const state::Leap::Row& row : std::vector(d.s.leap().rows())) {
    refund(d, row.charged, row.row, from, to);
  }
  d.emit(fact::TimeLeapt{});
  must(!d.s.leap().is_open(), "a leap is corrected once");
}

}  // namespace subak::decide
