#include "server/whatif/what_if_report.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "server/api/convert/convert.h"

namespace subak::whatif {
namespace {

void put_waits(const std::string& size, const sim::Spread& s, v1::WhatIfWaits* out) {
  out->set_size(size);
  out->set_jobs(static_cast<std::int64_t>(s.jobs));
  out->set_mean_seconds(s.mean);
  out->set_p50_seconds(s.p50);
  out->set_p90_seconds(s.p90);
  out->set_p99_seconds(s.p99);
}

void put_figures(const sim::SimResult& r, const std::vector<sim::JobFate>& fates,
                 const sim::Workload& workload, v1::WhatIfFigures* out) {
  put_waits("", r.wait_s, out->mutable_waits());
  for (std::size_t c = 0; c < sim::kSizeClasses.size(); ++c) {
    if (r.wait_by_size[c].jobs == 0) continue;
    put_waits(sim::kSizeClasses[c], r.wait_by_size[c], out->add_waits_by_size());
  }
  out->set_slowdown_mean(r.bounded_slowdown.mean);
  out->set_utilisation(r.utilisation);
  out->set_installed_gpus(static_cast<double>(workload.capacity) / kMilliPerGpu);
  out->set_interruptions(std::accumulate(
      fates.begin(), fates.end(), std::int64_t{0},
      [](std::int64_t sum, const sim::JobFate& fate) { return sum + fate.preemptions; }));
  out->set_finished(static_cast<std::int64_t>(r.finished));
}

void put_replay(const sim::HistoryReplay& replay, const sim::Workload& workload,
                v1::WhatIfFigures* out) {
  put_figures(replay.result, replay.fates, workload, out);
  out->set_refused_jobs(static_cast<std::int64_t>(replay.refused_jobs));
  out->set_refused_edits(static_cast<std::int64_t>(replay.refused_edits));
  if (replay.first_refusal) out->set_first_refusal(replay.first_refusal->message());
}

// The three results in the order of WhatIfValues.
struct Results {
  const sim::SimResult& real;
  const sim::SimResult& unchanged;
  const sim::SimResult& changed;
};

void put_values(double real, double unchanged, double changed, v1::WhatIfValues* out) {
  out->set_real(real);
  out->set_unchanged(unchanged);
  out->set_changed(changed);
}

// The teams of the workload, by the path of their account.
std::vector<std::size_t> by_path(const sim::Workload& workload) {
  std::vector<std::size_t> order(workload.teams.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return workload.teams[a].account < workload.teams[b].account;
  });
  return order;
}

void put_accounts(const Results& r, const std::vector<std::size_t>& order, v1::WhatIfReport* out) {
  for (const std::size_t team : order) {
    const sim::TeamResult &a = r.real.teams[team], &b = r.unchanged.teams[team],
                          &c = r.changed.teams[team];
    v1::WhatIfAccount* const account = out->add_accounts();
    account->set_account(b.team);
    account->set_jobs(static_cast<std::int64_t>(b.jobs));
    put_values(a.wait_mean_s, b.wait_mean_s, c.wait_mean_s, account->mutable_wait_mean_seconds());
    put_values(a.received_gpu_h, b.received_gpu_h, c.received_gpu_h, account->mutable_gpu_hours());
  }
}

void put_days(const sim::Workload& workload, const Results& r,
              const std::vector<std::size_t>& order, v1::WhatIfReport* out) {
  const auto real = shares_by_day(workload, r.real);
  const auto unchanged = shares_by_day(workload, r.unchanged);
  const auto changed = shares_by_day(workload, r.changed);
  for (std::size_t day = 0; day < real.size(); ++day) {
    v1::WhatIfDay* const row = out->add_days();
    api::put(real[day].from_ms, row->mutable_from());
    for (const std::size_t team : order) {
      put_values(real[day].gpu_h[team], unchanged[day].gpu_h[team], changed[day].gpu_h[team],
                 row->add_gpu_hours());
    }
  }
}

void put_nearness(const sim::Nearness& near, v1::WhatIfNearness* out) {
  out->set_jobs(static_cast<std::int64_t>(near.jobs));
  out->set_within_minute(near.within_minute);
  out->set_wait_difference_mean_seconds(near.mean_s);
  out->set_wait_difference_p90_seconds(near.p90_s);
  out->set_share_difference(near.share);
}

void put_move(const sim::JobMove& move, v1::WhatIfMove* out) {
  out->set_job_id(text::job_id_text(move.job));
  out->set_name(move.name);
  out->set_account(move.account);
  out->set_user(move.user);
  if (move.before_ms) api::put(*move.before_ms, out->mutable_before());
  if (move.after_ms) api::put(*move.after_ms, out->mutable_after());
}

void put_claim(const sim::ClaimMade& claim, v1::WhatIfClaim* out) {
  out->set_job_id(text::job_id_text(claim.job));
  out->set_account(claim.account);
  out->set_victims(static_cast<std::int64_t>(claim.victims));
}

}  // namespace

void put(const sim::History& history, const sim::HistoryReplay& before,
         const sim::Workload& changed, const sim::HistoryReplay& after, v1::WhatIfReport* out) {
  const sim::Workload& workload = history.workload;
  api::put(workload.from_ms, out->mutable_from());
  api::put(workload.to_ms, out->mutable_to());
  out->set_last_sequence(history.end.seq);
  out->set_jobs(static_cast<std::int64_t>(before.result.jobs));
  out->set_running_at_start(static_cast<std::int64_t>(before.result.warm));
  out->set_other_pods(static_cast<std::int64_t>(history.other_pods));
  out->set_added_jobs(static_cast<std::int64_t>(changed.jobs.size() - workload.jobs.size()));
  put_nearness(nearness(history, before), out->mutable_nearness());
  put_figures(history.result, history.fates, workload, out->mutable_real());
  put_replay(before, workload, out->mutable_unchanged());
  put_replay(after, changed, out->mutable_changed());
  const Results results{history.result, before.result, after.result};
  const std::vector<std::size_t> order = by_path(workload);
  put_accounts(results, order, out);
  put_days(workload, results, order, out);
}

void put(const sim::PresentDifference& present, v1::WhatIfPresent* out) {
  out->set_waiting(static_cast<std::int64_t>(present.waiting));
  out->set_sooner(static_cast<std::int64_t>(present.sooner));
  out->set_later(static_cast<std::int64_t>(present.later));
  out->set_until_start_before_seconds(present.mean_before_s);
  out->set_until_start_after_seconds(present.mean_after_s);
  for (const sim::JobMove& move : present.starts) put_move(move, out->add_starts());
  for (const sim::JobMove& move : present.promises) put_move(move, out->add_promises());
  out->set_promises_moved(static_cast<std::int64_t>(present.promises_moved));
  for (const sim::ClaimMade& c : present.claims_before) put_claim(c, out->add_claims_before());
  for (const sim::ClaimMade& c : present.claims_after) put_claim(c, out->add_claims_after());
}

}  // namespace subak::whatif
