#include "core/limits.h"
#include "engine/forecast/start_estimate.h"
#include "model/bounds/bounds.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

void put_pod(const PodRow& row, const Engine& engine, v1::JobPod* out) {
  out->set_rank(static_cast<std::int32_t>(row.rank));
  out->set_uid(row.uid);
  out->set_name(row.name);
  out->set_state(static_cast<v1::PodState>(static_cast<int>(row.state) + 1));
  if (const NodeSpec* node = engine.fleet().node(row.slot.node)) out->set_node(node->name);
  out->set_gate(static_cast<v1::PodGate>(row.gate));
  out->set_gpu_mask(row.slot.gpu_mask);
  out->set_milligpu(row.slot.milligpu);
  if (row.since_ms != 0) put(row.since_ms, out->mutable_since());
}

void put_step(const RankStep& step, v1::RankStep* out) {
  out->set_parent(step.node);
  for (const RankStep::Entry& entry : step.entries) {
    auto* row = out->add_entries();
    row->set_path(entry.path);
    row->set_shares(entry.shares);
    row->set_target(entry.target);
    row->set_usage_gpu_seconds(entry.usage_gpu_seconds);
    row->set_surplus_gpu_seconds(entry.surplus_gpu_seconds);
    row->set_allocated_milligpu(entry.alloc);
    row->set_quota_milligpu(entry.quota);
    row->set_next_milligpu(entry.next);
    row->set_on_path(entry.on_path);
  }
}

}  // namespace

in::SubmitJob get(Check& check, const v1::JobSpec& in) {
  in::SubmitJob out;
  out.cluster = check.name("cluster", in.cluster(), false);
  out.account = check.name("account", in.account(), true);
  if (out.account.find('/') != std::string::npos) {
    check.fail("account", out.account, "want an account path; the user goes into `user`");
  }
  out.user = check.name("user", in.user(), false);
  out.name = check.text("name", in.name(), limits::kMaxNameBytes);
  {
    const auto scope = check.in("request");
    out.request = get(check, in.request());
  }
  out.priority = in.priority();
  out.priority_class = check.text("priority_class", in.priority_class(), limits::kMaxNameBytes);
  if (in.has_time_limit()) {
    out.time_limit_ms = check.duration("time_limit", in.time_limit(), limits::kMaxTimeLimitMs);
  }
  if (in.has_grace()) out.grace_ms = check.duration("grace", in.grace(), limits::kMaxTimeLimitMs);
  out.held = in.held();
  check.take(bounds::check(out.request, "request"));
  return out;
}

v1::JobState to_proto(JobState state) {
  return static_cast<v1::JobState>(static_cast<int>(state) + 1);
}

void put(const JobRow& row, const Engine& engine, v1::Job* out) {
  out->set_id(text_of(row.id));
  v1::JobSpec* spec = out->mutable_spec();
  spec->set_cluster(row.cluster);
  spec->set_account(row.account);
  spec->set_user(row.user);
  spec->set_name(row.name);
  put(row.request, spec->mutable_request());
  spec->set_priority(row.priority);
  spec->set_priority_class(row.priority_class);
  if (row.time_limit_ms != 0) put_duration(row.time_limit_ms, spec->mutable_time_limit());
  if (row.grace_ms != 0) put_duration(row.grace_ms, spec->mutable_grace());
  spec->set_held(row.state == JobState::kPaused && row.until_ms == 0);
  out->set_state(to_proto(row.state));
  out->set_origin(static_cast<v1::JobOrigin>(static_cast<int>(row.origin) + 1));
  out->set_cause(static_cast<v1::Cause>(row.cause));
  out->set_gang_size(static_cast<std::int32_t>(row.gang_size));
  out->set_milligpu(row.milligpu);
  put(row.submit_ms, out->mutable_submit_time());
  if (row.started_ms != 0 && row.state != JobState::kStarting)
    put(row.started_ms, out->mutable_start_time());
  if (row.ended_ms != 0) put(row.ended_ms, out->mutable_end_time());
  out->set_attempt(static_cast<std::int32_t>(row.attempt));
  for (const PodRow& pod : row.pods) put_pod(pod, engine, out->add_pods());
  for (const NodeId id : row.nodes) {
    if (out->nodes_size() == limits::kMaxNodesShown) break;
    if (const NodeSpec* node = engine.fleet().node(id)) out->add_nodes(node->name);
  }
  out->set_node_count(static_cast<std::int32_t>(row.nodes.size()));
  if (row.until_ms != 0) put(row.until_ms, out->mutable_until());
  if (row.end_refused_ms != 0) put(row.end_refused_ms, out->mutable_end_refused());
  if (row.planned_end_ms != 0) put(row.planned_end_ms, out->mutable_planned_end());
  out->set_overruns(static_cast<std::int32_t>(row.overruns));
  out->set_limit_enforced(row.limit.enforced);
  out->set_parked(row.owners.parking == Parking::kParked);
  out->set_limit_distrusted(row.limit.distrusted);
  if (row.reclaim.preempted) put(*row.reclaim.preempted, out->mutable_preemption());
  if (!row.rejected.node.empty()) {
    v1::JobRejection* const rejection = out->mutable_rejection();
    rejection->set_node(row.rejected.node);
    rejection->set_error(row.rejected.rejection.error);
    rejection->set_message(row.rejected.rejection.words);
    rejection->set_explanation(explain_rejection(row.rejected.rejection));
  }
  if (row.owners.siblings) {
    v1::Workload* const workload = out->mutable_workload();
    workload->set_kind(row.owners.siblings->kind);
    workload->set_name(row.owners.siblings->name);
    workload->set_jobs(static_cast<std::int32_t>(row.owners.siblings->jobs));
    workload->set_running(static_cast<std::int32_t>(row.owners.siblings->running));
    workload->set_waiting(static_cast<std::int32_t>(row.owners.siblings->waiting));
  }
  if (row.reclaim.loan.milligpu != 0) put(row.reclaim.loan, out->mutable_loan());
}

std::optional<v1::ExpectedStart> expected_start(const JobRow& row, const ForecastStarts& starts,
                                                TimeMs now) {
  const std::optional<StartEstimate> estimate = start_estimate(row, starts, now);
  if (!estimate || !is_estimate(estimate->by)) return std::nullopt;
  v1::ExpectedStart out;
  put(estimate->at.earliest_ms, out.mutable_earliest());
  if (estimate->by != EstimateBasis::kBeyond) {
    put(estimate->at.expected_ms, out.mutable_expected());
    put(estimate->at.latest_ms, out.mutable_latest());
  }
  out.set_promised(estimate->by == EstimateBasis::kPromise);
  out.set_calibrated(estimate->at.learned);
  out.set_assumption(std::string(assumption(*estimate)));
  if (estimate->by == EstimateBasis::kPromise || estimate->by == EstimateBasis::kGuess) {
    out.set_cause(std::string(enum_name(row.start_moved.cause)));
    out.set_moved_later(static_cast<std::int32_t>(row.start_moved.times));
  } else {
    out.set_cause("forecast");
  }
  return out;
}

std::string no_estimate(const JobRow& row, const ForecastStarts& starts, TimeMs now) {
  const std::optional<StartEstimate> estimate = start_estimate(row, starts, now);
  return !estimate || is_estimate(estimate->by) ? "" : std::string(assumption(*estimate));
}

void put(const Reason& reason, v1::WaitReason* out) {
  out->set_token(std::string(enum_name(reason.token)));
  out->set_subject(reason.subject);
  out->set_need(reason.need);
  out->set_have(reason.have);
  out->set_detail(reason.detail);
  for (const std::string& blocker : reason.blockers) out->add_blockers(blocker);
}

void put(const Explanation& why, const Engine& engine, const ForecastStarts& starts, TimeMs now,
         v1::Explanation* out) {
  put(why.job, engine, out->mutable_job());
  out->set_position(static_cast<std::int64_t>(why.position));
  for (const Reason& reason : why.reasons) put(reason, out->add_reasons());
  for (const RankStep& step : why.ranking) put_step(step, out->add_ranking());
  if (why.patience_until_ms != 0) put(why.patience_until_ms, out->mutable_patience_until());
  if (auto start = expected_start(why.job, starts, now)) {
    *out->mutable_expected_start() = *std::move(start);
  }
  out->set_no_estimate(no_estimate(why.job, starts, now));
  if (starts.is_made()) put(starts.forecast->time_ms(), out->mutable_forecast_time());
  out->set_kept_node_count(static_cast<std::int32_t>(why.reserved_nodes.size()));
  for (const std::string& node : why.reserved_nodes) {
    if (out->kept_nodes_size() == limits::kMaxNodesShown) break;
    out->add_kept_nodes(node);
  }
}

void put(const Preemption& preemption, v1::Preemption* out) {
  if (preemption.claimant) out->set_claimant(text_of(preemption.claimant));
  out->set_claimant_account(preemption.account);
  out->set_quota_milligpu(preemption.quota);
  out->set_used_milligpu(preemption.used);
  if (preemption.by_ms != 0) put(preemption.by_ms, out->mutable_by());
  put(preemption.started_ms, out->mutable_started());
  put(preemption.asked_ms, out->mutable_asked());
  put(preemption.submit_ms, out->mutable_submitted());
  out->set_times(static_cast<std::int32_t>(preemption.times));
  out->set_milligpu(preemption.milligpu);
  out->set_right(static_cast<v1::ClaimRight>(preemption.right));
  out->set_priority_class(preemption.priority_class);
}

void put(const Loan& loan, v1::Loan* out) {
  out->set_milligpu(loan.milligpu);
  if (loan.from_ms != 0) put(loan.from_ms, out->mutable_preemptible_from());
}

void put(const ClaimRow& row, v1::Claim* out) {
  out->set_right(static_cast<v1::ClaimRight>(row.right));
  out->set_job_id(text_of(row.job));
  out->set_account(row.account);
  out->set_user(row.user);
  put(row.amounts, out->mutable_amounts());
  out->set_node_count(static_cast<std::int32_t>(row.nodes.size()));
  out->set_victim_count(static_cast<std::int32_t>(row.victims.size()));
  put(row.made_ms, out->mutable_made());
  for (const std::string& node : row.nodes) {
    if (std::cmp_equal(out->nodes_size(), limits::kMaxNodesShown)) break;
    out->add_nodes(node);
  }
  for (const ClaimRow::Victim& victim : row.victims) {
    if (std::cmp_equal(out->victims_size(), limits::kMaxVictimsShown)) break;
    v1::ClaimVictim* const one = out->add_victims();
    one->set_job_id(text_of(victim.job));
    one->set_account(victim.account);
    one->set_user(victim.user);
    one->set_milligpu(victim.milligpu);
    put(victim.ask_ms, one->mutable_ask_time());
    one->set_ending(victim.ending);
    if (victim.by_ms != 0) put(victim.by_ms, one->mutable_by());
  }
}

}  // namespace subak::api
