// Reads of jobs and of the queue.
#include "server/api/calls/job_service.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "engine/forecast/alternatives.h"
#include "server/activity/book.h"
#include "server/api/calls/queue_list.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"
#include "server/api/convert/first_reasons.h"

namespace subak::api {
namespace {

void put_activity(const std::optional<JobActivity>& activity, v1::Job* out) {
  if (!activity) return;
  put(activity->sums, GpuTime::from_parts(0, activity->unknown), out->mutable_activity());
  if (activity->idle_since_ms != 0) put(activity->idle_since_ms, out->mutable_idle_since());
}

Error no_job(JobId id) {
  return {ErrorCode::kNotFound, "job_id", text_of(id), "there is no such job"};
}

std::optional<JobState> state_filter(v1::JobState state) {
  if (state == v1::JOB_STATE_UNSPECIFIED) return std::nullopt;
  return static_cast<JobState>(static_cast<int>(state) - 1);
}

void list_jobs(const Engine& engine, const Growth* growth, const v1::ListJobsRequest& in,
               const Page& page, v1::ListJobsResponse* out) {
  const std::optional<JobState> state = state_filter(in.state());
  PageMeter meter(page);
  FirstReasons reasons(engine, growth, limits::kMaxNodesLookedAtForList);
  for (JobId after(page.after);;) {
    const std::vector<JobRow> rows = engine.jobs(after, page.size, state, in.account(), in.user());
    for (const JobRow& row : rows) {
      after = row.id;
      if (!state && row.state == JobState::kDone) continue;
      v1::Job* job = out->add_jobs();
      put(row, engine, job);
      if (const Reason* reason = reasons.of(row)) {
        job->set_waits_for(std::string(enum_name(reason->token)));
        job->set_waits_for_detail(reason->detail);
      }
      if (!meter.add(job->ByteSizeLong())) {
        out->set_next_page_token(std::to_string(row.id.value));
        return;
      }
    }
    if (rows.size() < page.size) return;
  }
}

}  // namespace

JobService::Reactor* JobService::GetJob(Context* context, const v1::GetJobRequest* in,
                                        v1::Job* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  Check check;
  const JobId id = get_job_id(check, "job_id", in->job_id());
  if (!check.ok()) return call.fail(check.error());
  return call.read([in, out, id, call](const Engine& engine) -> std::optional<Error> {
    const Shared& shared = call.shared();
    const auto row = engine.job(id, in->include_pods());
    if (!row) return no_job(id);
    put(*row, engine, out);
    if (call.is_past()) return std::nullopt;
    put_compute_domain(shared.compute_domains(row->cluster), out);
    if (shared.options.activity != nullptr) put_activity(shared.options.activity->job(id), out);
    return std::nullopt;
  });
}

JobService::Reactor* JobService::ListJobs(Context* context, const v1::ListJobsRequest* in,
                                          v1::ListJobsResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  Check check;
  const Page page = read_page(check, in->page_size(), in->page_token());
  check.enum_value("state", in->state(), v1::JOB_STATE_DONE);
  check.name("account", in->account(), false);
  check.name("user", in->user(), false);
  if (!check.ok()) return call.fail(check.error());
  return call.read_starts(
      [in, out, page](const Engine& engine, const ForecastStarts& starts) -> std::optional<Error> {
        list_jobs(engine, starts.growth.get(), *in, page, out);
        return std::nullopt;
      });
}

JobService::Reactor* JobService::ListQueue(Context* context, const v1::ListQueueRequest* in,
                                           v1::ListQueueResponse* out) {
  Call call(shared_, context);
  // Shadow mode needs reports that no fact stores.
  if (!call.allow(Role::kViewer, in->would() ? Moments::kPresent : Moments::kAny))
    return call.reactor();
  Check check;
  check.name("account", in->account(), false);
  if (in->would()) {
    const Page page = read_page(check, in->page_size(), in->page_token());
    if (!check.ok()) return call.fail(check.error());
    return call.read_expensive(
        [in, out, page, view = shared_.runtime.view(), &shared = shared_](const Engine& engine) {
          return list_shadow_queue(engine, *view, shared.now(engine), *in, page, out);
        });
  }
  const QueuePage page = read_queue_page(check, in->page_size(), in->page_token());
  if (!check.ok()) return call.fail(check.error());
  return call.read_queue([in, out, page, call](const Engine& engine, const QueueSnapshot& order,
                                               const ForecastStarts& starts) {
    list_queue(engine, order, starts, call.now(engine), *in, page, out);
    return std::optional<Error>();
  });
}

namespace {

// A job that has ended by now is left out.
void put_idle_holders(const Engine& engine, const ActivityBook& book, ClusterId cluster,
                      v1::Explanation* out) {
  for (const IdleJob& idle : book.idle_jobs(cluster)) {
    const auto row = engine.job(idle.job, false);
    if (!row || row->state != JobState::kRunning) continue;
    v1::IdleHolder* const holder = out->add_idle_holders();
    holder->set_job_id(text_of(idle.job));
    holder->set_account(row->account);
    holder->set_milligpu(row->milligpu);
    put(idle.since_ms, holder->mutable_idle_since());
    if (out->idle_holders_size() == static_cast<int>(limits::kMaxIdleShown)) return;
  }
}

std::optional<Error> put_alternatives(const Engine& engine, const ForecastStarts& starts, JobId id,
                                      TimeMs now, v1::Explanation* out) {
  if (engine.live_size() > limits::kMaxAlternativesSize) {
    return Error{ErrorCode::kExhausted, "alternatives", "true",
                 "want at most " + std::to_string(limits::kMaxAlternativesSize) +
                     " jobs and nodes; the service has more"};
  }
  for (const Alternative& one : alternatives(engine.forecast_basis(now), id)) {
    if (one.assumed && !starts.odds.learned) continue;  // as for its own start: too uncertain
    v1::Alternative* const row = out->add_alternatives();
    row->set_change(one.change);
    put(starts.odds.of(now, one.start_ms).expected_ms, row->mutable_start());
  }
  return std::nullopt;
}

}  // namespace

JobService::Reactor* JobService::ListClaims(Context* context, const v1::ListClaimsRequest* in,
                                            v1::ListClaimsResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const std::string account = check.name("account", in->account(), false);
  if (!check.ok()) return call.fail(check.error());
  const bool would = in->would();
  const auto list = [out, account, would,
                     &shared = shared_](const Engine& engine) -> std::optional<Error> {
    if (would && engine.live_size() > limits::kMaxShadowQueue) {
      return Error{ErrorCode::kExhausted, "would", "true",
                   "want at most " + std::to_string(limits::kMaxShadowQueue) +
                       " jobs and nodes for a dry run"};
    }
    for (const ClaimRow& row : engine.claims(account, would)) put(row, out->add_claims());
    put(shared.now(engine), out->mutable_time());
    return std::nullopt;
  };
  return would ? call.read_expensive(list) : call.read(list);
}

JobService::Reactor* JobService::ExplainJob(Context* context, const v1::ExplainJobRequest* in,
                                            v1::Explanation* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  Check check;
  const JobId id = get_job_id(check, "job_id", in->job_id());
  if (!check.ok()) return call.fail(check.error());
  return call.read_queue([in, out, id, call](const Engine& engine, const QueueSnapshot& order,
                                             const ForecastStarts& starts) -> std::optional<Error> {
    const Shared& shared = call.shared();
    const TimeMs now = call.now(engine);
    const std::size_t position = engine.is_queued_below(id, "") ? order.position(id) : 0;
    const auto why = engine.explain(id, now, position, starts.growth.get());
    if (!why) return no_job(id);
    put(*why, engine, starts, now, out);
    put(now, out->mutable_time());
    put(order.time_ms(), out->mutable_order_time());
    if (!call.is_past())
      put_compute_domain(shared.compute_domains(why->job.cluster), out->mutable_job());
    if (!call.is_past() && shared.options.show_idle_holders && shared.options.activity != nullptr &&
        !why->reasons.empty()) {
      put_idle_holders(engine, *shared.options.activity, id.cluster(), out);
    }
    if (in->alternatives()) return put_alternatives(engine, starts, id, now, out);
    return std::nullopt;
  });
}

grpc::ServerWriteReactor<v1::WatchJobsResponse>* JobService::WatchJobs(
    Context* context, const v1::WatchJobsRequest* in) {
  const Admission admission = admit_stream(shared_, *context, Role::kViewer);
  Check check;
  JobWatch::Filter filter;
  filter.account = check.name("account", in->account(), false);
  if (!in->job_id().empty()) filter.job = get_job_id(check, "job_id", in->job_id());
  auto watch = std::make_shared<JobWatch>(shared_.streams, shared_.watch, shared_.follower,
                                          std::move(filter), !in->changes_only());
  if (!watch->begin(StreamKind::kWatchJobs, admission)) return watch.get();
  if (!check.ok()) {
    watch->close(to_status(check.error()));
  } else {
    shared_.watch.add(watch);
    watch->start(admission.caller->actor);
  }
  return watch.get();
}

}  // namespace subak::api
