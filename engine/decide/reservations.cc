#include "engine/decide/reservations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/must.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/reservations.h"
#include "model/bounds/pass_limits.h"

namespace subak::decide {

using derive::Start;
using state::Reservation;

namespace {

const std::vector<Reservation>& reservations(const Decision& d, ClusterId cluster) {
  return d.s.clusters().at(cluster).reservations;
}

void give_up(Decision& d, const Reservation& r, ReserveCause cause) {
  const JobId id = r.job;
  fact::Reserved none;
  none.job = r.job;
  none.cause = cause;
  d.emit(std::move(none));
  must(d.s.clusters().reservation_of(id) == nullptr, "a reservation that ended is gone");
}

// Emits a fact only if something changed.
void move(Decision& d, Reservation r, Start to, ReserveCause cause) {
  if (r.nodes == to.nodes && r.start_ms == to.start_ms && r.estimated == to.estimated) return;
  must(!to.nodes.empty() && std::is_sorted(to.nodes.begin(), to.nodes.end()),
       "a reservation has nodes in order");
  const bool later = !r.estimated && (to.estimated || to.start_ms > r.start_ms);
  if (later) ++r.late;
  r.nodes = std::move(to.nodes);
  r.start_ms = to.start_ms;
  r.estimated = to.estimated;
  r.cause = cause;
  d.emit(r.as_fact());
}

std::optional<Start> best_start(Decision& d, const state::Job& job) {
  auto start = derive::promised_start(d.s, d.search, job, state::kNever);
  return start ? std::move(start) : derive::estimated_start(d.s, d.search, job);
}

PassMemory::StartsPoint point_of(const Decision& d) {
  const Policy& policy = d.s.policy();
  return {d.s.fleet().freed_version() + 1,     d.s.tree().structure_version(),
          d.s.reserved_nodes().version(),      d.s.nodes().planned_version(),
          d.s.jobs().limit_record().version(), policy.time_limit_grace_ms,
          policy.enforce_time_limits};
}

std::size_t most_reservations(const Policy& policy) {
  return policy.patience_ms > 0 ? policy.queue.reserve_jobs : 0;
}

bool is_free_in_time(const Decision& d, const Reservation& r) {
  const derive::FreeFor free(d.s, d.s.jobs().at(r.job), r.start_ms);
  return free.at(r.nodes) <= std::max(r.start_ms, d.s.now());
}

// True if the job ends before its nodes' planned drains.
bool is_before_drains(const Decision& d, const Reservation& r) {
  const TimeMs start_ms = r.estimated ? d.s.now() : std::max(r.start_ms, d.s.now());
  return derive::gone_before_drains(d.s, d.s.jobs().at(r.job), r.nodes, start_ms);
}

ReserveCause cause_of_delay(const Decision& d, const Reservation& r) {
  if (!derive::may_stay(d.s, r) || is_free_in_time(d, r)) return ReserveCause::kNode;
  const derive::FreeFor free(d.s, d.s.jobs().at(r.job), r.start_ms);
  const bool overrun = std::any_of(r.nodes.begin(), r.nodes.end(), [&](NodeId node) {
    return free.any(node, [&](const state::Job& job) {
      return job.run().end_ms > r.start_ms && job.overruns > 0;
    });
  });
  return overrun ? ReserveCause::kOverrun : ReserveCause::kTaken;
}

AccountId account_of(const Decision& d, const state::Job& job) {
  const AccountNode& leaf = d.s.tree().node(job.leaf);
  return leaf.spec.user ? leaf.parent : job.leaf;
}

// True if the job's account already has its part of the reservations, and jobs of other accounts
// wait.
bool has_its_part(const Decision& d, const state::Job& job) {
  const AccountId account = account_of(d, job);
  const auto& theirs = reservations(d, job.id.cluster());
  const auto own = std::count_if(theirs.begin(), theirs.end(), [&](const Reservation& r) {
    return account_of(d, d.s.jobs().at(r.job)) == account;
  });
  must(own <= static_cast<std::ptrdiff_t>(theirs.size()),
       "an account's reservations are among all");
  if (own < std::max<std::int64_t>(1, d.s.policy().queue.reserve_jobs / 2)) return false;
  const ReadyQueue& ready = d.s.jobs().ready();
  return ready.queued_jobs(account) < ready.size();
}

}  // namespace

std::vector<Reservation> all_reservations(const Decision& d) {
  std::vector<Reservation> out;
  for (const auto& [id, cluster] : d.s.clusters().all()) {
    out.insert(out.end(), cluster.reservations.begin(), cluster.reservations.end());
  }
  return out;
}

bool has_waited(const Decision& d, const state::Job& job) {
  const DurationMs patience_ms = derive::patience(d.s, job.id.cluster());
  return patience_ms > 0 && d.s.now() - job.submit_ms >= patience_ms;
}

bool may_reserve(const Decision& d, ClusterId cluster) {
  return d.s.clusters().at(cluster).synced &&
         reservations(d, cluster).size() < most_reservations(d.s.policy());
}

bool give_up_stopped(Decision& d) {
  bool any = false;
  const std::vector<Reservation> made = all_reservations(d);
  // If there are too many reservations, the newest ones end first.
  for (auto it = made.rbegin(); it != made.rend(); ++it) {
    const Reservation& r = *it;
    const state::Job& job = d.s.jobs().at(r.job);
    if (derive::stopped(d.s, job, Asking::kStart) ||
        derive::stopped_on(d.s, job, r.nodes, Asking::kStart)) {
      give_up(d, r, ReserveCause::kAccount);
    } else if (reservations(d, r.job.cluster()).size() > most_reservations(d.s.policy())) {
      give_up(d, r, ReserveCause::kPolicy);
    } else {
      continue;
    }
    any = true;
  }
  return any;
}

bool mend(Decision& d, PassMemory& memory) {
  const PassMemory::Point point{d.s.fleet().description_version(), 0,
                                d.s.reserved_nodes().version()};
  const bool known_open = memory.open_at == point;
  bool any = false;
  for (const Reservation& r : all_reservations(d)) {
    const bool in_time = r.estimated || is_free_in_time(d, r);
    if (in_time && is_before_drains(d, r) && (known_open || derive::may_stay(d.s, r))) continue;
    const ReserveCause cause = cause_of_delay(d, r);
    const state::Job& job = d.s.jobs().at(r.job);
    auto start = best_start(d, job);
    if (!start) {
      give_up(d, r, ReserveCause::kNoPlace);
    } else if (derive::stopped_on(d.s, job, start->nodes, Asking::kAmounts)) {
      give_up(d, r, ReserveCause::kAccount);
    } else {
      move(d, r, *std::move(start), cause);
    }
    any = true;
  }
  if (!any) memory.open_at = point;
  return any;
}

Reserving reserve(Decision& d, const state::Job& job, PassMemory& memory) {
  must(d.s.clusters().reservation_of(job.id) == nullptr, "a job has one reservation");
  const auto& theirs = reservations(d, job.id.cluster());
  const auto is_small = [](const Reservation& r) { return r.nodes.size() == 1; };
  const bool any_small = std::any_of(theirs.begin(), theirs.end(), is_small);
  if (!may_reserve(d, job.id.cluster()) || !has_waited(d, job) || has_its_part(d, job))
    return Reserving::kNothing;
  if (any_small && d.s.fleet().request(job.shape).pods() == 1) return Reserving::kNothing;
  if (memory.refused_at != point_of(d)) memory.refused.clear();
  memory.refused_at = point_of(d);
  const std::pair asked{job.id, d.s.fleet().shapes().serial(job.shape)};
  if (!memory.refused.insert(asked).second || !d.search.fits_empty_fleet(job.shape))
    return Reserving::kNothing;
  auto start = best_start(d, job);
  if (!start) return Reserving::kNothing;
  const bool is_second_small = any_small && start->nodes.size() == 1;
  const bool stopped =
      !is_second_small && derive::stopped_on(d.s, job, start->nodes, Asking::kAmounts).has_value();
  // If the nodes are free, the job has no placement there, and the end of no other job would help.
  if (is_second_small || stopped ||
      !derive::FreeFor(d.s, job, start->start_ms).is_held(start->nodes)) {
    memory.refused.erase(asked);  // the start of a job may change each of these
    return stopped ? Reserving::kStopped : Reserving::kNothing;
  }
  const auto is_estimated = [](const Reservation& r) { return r.estimated; };
  if (start->estimated && std::any_of(theirs.begin(), theirs.end(), is_estimated))
    return Reserving::kNothing;
  const Reservation made{job.id,
                         std::move(start->nodes),
                         start->start_ms,
                         start->estimated,
                         ReserveCause::kMade,
                         d.s.now(),
                         0};
  d.emit(made.as_fact());
  must(theirs.size() <= d.s.policy().queue.reserve_jobs, "reservations are bounded by the policy");
  return Reserving::kMade;
}

void choose_estimates(Decision& d) {
  for (const Reservation& r : all_reservations(d)) {
    if (!r.estimated) continue;
    auto start = best_start(d, d.s.jobs().at(r.job));
    const bool better = start && (!start->estimated || derive::held_on(d.s, start->nodes) <
                                                           derive::held_on(d.s, r.nodes));
    if (better) move(d, r, *std::move(start), ReserveCause::kEarlier);
  }
}

void pull(Decision& d, PassMemory& memory) {
  if (memory.pulled_at == point_of(d)) return;
  for (const Reservation& r : all_reservations(d)) {
    if (r.estimated || r.start_ms <= d.s.now()) continue;
    must(r.made_ms <= d.s.now(), "a reservation was made by now");
    const DurationMs gain_ms =
        std::max(limits::kReserveGainMs, (r.start_ms - r.made_ms) / limits::kReserveGainPart);
    auto sooner = derive::promised_start(d.s, d.search, d.s.jobs().at(r.job), r.start_ms - gain_ms);
    if (!sooner || sooner->nodes == r.nodes) continue;
    move(d, r, *std::move(sooner), ReserveCause::kEarlier);
  }
  memory.pulled_at = point_of(d);
}

void cancel_reservation(Decision& d, const Reservation& r, bool blocked_by_rule) {
  give_up(d, r, blocked_by_rule ? ReserveCause::kAccount : ReserveCause::kNoPlace);
}

}  // namespace subak::decide
