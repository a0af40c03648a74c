#include "server/api/convert/plan_read.h"

#include <algorithm>
#include <string>

#include "core/duration.h"
#include "core/limits.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

constexpr std::int32_t kColumns = 48, kRows = 48, kLanes = 3, kJobs = 20;  // as in the proto file

std::size_t count(Check& check, const char* field, std::int32_t value, std::int32_t usual,
                  std::int32_t most) {
  check.number(field, value, 0, most);
  return static_cast<std::size_t>(value > 0 ? value : usual);
}

v1::PlanKind to_proto(PlanKind kind) {
  return static_cast<v1::PlanKind>(static_cast<int>(kind) + 1);
}

std::string name_of(const Engine& engine, JobId id) {
  const auto job = engine.job(id, false);
  return job ? job->name : std::string();
}

void put_row(const PlanRow& row, const Engine& engine, v1::PlanRow* out) {
  out->set_cluster(engine.cluster_name(row.cluster));
  out->set_product(row.product);
  out->set_kind(row.kind);
  out->set_name(row.name);
  out->set_last_name(row.last);
  out->set_domains(static_cast<std::int64_t>(row.domains));
  out->set_nodes(static_cast<std::int64_t>(row.nodes));
  out->set_installed_milligpu(row.installed);
  for (const PlanLane& lane : row.lanes) {
    v1::PlanLane* const l = out->add_lanes();
    l->set_kind(to_proto(lane.kind));
    l->set_jobs(static_cast<std::int64_t>(lane.jobs));
    l->set_job_id(text_of(lane.job));
    l->set_job_name(name_of(engine, lane.job));
    l->mutable_milligpu()->Assign(lane.milligpu.begin(), lane.milligpu.end());
  }
  out->mutable_free_milligpu()->Assign(row.free.begin(), row.free.end());
  out->mutable_closed_milligpu()->Assign(row.closed.begin(), row.closed.end());
}

void put_job(const PlanJob& job, const Engine& engine, const ForecastStarts& starts, TimeMs now,
             v1::PlanJob* out) {
  const JobRow row = *engine.job(job.job, false);
  out->set_kind(to_proto(job.kind));
  put(row, engine, out->mutable_job());
  if (job.start_ms != 0) put(job.start_ms, out->mutable_start());
  if (job.end_ms != 0) put(job.end_ms, out->mutable_end());
  out->set_start_assumed(job.start_assumed);
  out->set_end_assumed(job.end_assumed);
  if (auto start = expected_start(row, starts, now)) {
    *out->mutable_expected_start() = *std::move(start);
  }
  for (const NodeId id : job.nodes) {
    if (out->nodes_size() == limits::kMaxNodesShown) break;
    if (const NodeSpec* const node = engine.fleet().node(id)) out->add_nodes(node->name);
  }
  out->set_node_count(static_cast<std::int32_t>(job.nodes.size()));
  out->set_idle_milligpu(job.idle);
}

// Adds the items that fit into the remaining bytes; returns how many do not.
template <class Items, class List, class Put>
std::size_t add_what_fits(const Items& items, List* out, std::size_t& bytes, Put put_item) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto* const one = out->Add();
    put_item(items[i], one);
    bytes += one->ByteSizeLong();
    if (bytes <= limits::kMaxPageBytes) continue;
    out->RemoveLast();
    return items.size() - i;
  }
  return 0;
}

}  // namespace

PlanAsked read_plan_asked(Check& check, const v1::GetPlanRequest& in) {
  PlanAsked asked;
  check.name("cluster", in.cluster(), false);
  asked.domain = check.sentence("domain", in.domain(), limits::kMaxTextBytes);
  if (in.has_until()) asked.until_ms = check.time("until", in.until());
  asked.columns = count(check, "columns", in.columns(), kColumns, limits::kMaxPlanColumns);
  asked.rows = count(check, "rows", in.rows(), kRows, limits::kMaxPlanRows);
  asked.lanes = count(check, "lanes", in.lanes(), kLanes, limits::kMaxPlanLanes);
  asked.jobs = count(check, "jobs", in.jobs(), kJobs, limits::kMaxPlanJobs);
  return asked;
}

std::optional<Error> put_plan(const Engine& engine, const ForecastStarts& starts, TimeMs now,
                              const v1::GetPlanRequest& in, PlanAsked asked, v1::Plan* out) {
  if (!in.cluster().empty()) {
    asked.cluster = engine.find_cluster(in.cluster());
    if (!asked.cluster) {
      return Error{ErrorCode::kNotFound, "cluster", in.cluster(), "there is no such cluster"};
    }
  }
  if (in.has_until() &&
      (asked.until_ms <= now || asked.until_ms > now + limits::kForecastAheadMs)) {
    return Error{ErrorCode::kInvalid, "until", format_time(asked.until_ms),
                 "want a time after now, at most 30 days ahead"};
  }
  const FleetPlan plan = engine.plan(asked, *starts.forecast, now);
  if (!asked.domain.empty() && plan.rows.empty()) {
    return Error{ErrorCode::kNotFound, "domain", asked.domain,
                 "there is no domain, rack or node with GPUs of this name"};
  }
  put(now, out->mutable_time());
  out->set_state_seq(static_cast<std::int64_t>(engine.seq()));
  if (starts.is_made()) put(starts.forecast->time_ms(), out->mutable_forecast_time());
  put(plan.until_ms, out->mutable_until());
  put_duration(plan.step_ms, out->mutable_step());
  std::size_t bytes = 0;
  const std::size_t rows =
      add_what_fits(plan.rows, out->mutable_rows(), bytes,
                    [&](const PlanRow& row, v1::PlanRow* to) { put_row(row, engine, to); });
  out->set_rows_left_out(static_cast<std::int64_t>(plan.rows_left_out + rows));
  const std::size_t jobs = add_what_fits(
      plan.jobs, out->mutable_jobs(), bytes,
      [&](const PlanJob& job, v1::PlanJob* to) { put_job(job, engine, starts, now, to); });
  out->set_jobs_left_out(static_cast<std::int64_t>(plan.jobs_left_out + jobs));
  return std::nullopt;
}

}  // namespace subak::api
