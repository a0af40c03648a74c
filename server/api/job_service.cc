// Reads of jobs and of the queue.
#include "server/api/job_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/limits.h"
#include "server/api/convert.h"
#include "server/api/paging.h"

namespace subak::api {
namespace {

// Positions looked at for one page when an account filters them.
constexpr std::size_t kMaxPositionsPerPage = 100'000;
constexpr std::size_t kMaxExplainedPositions = 2'000'000;

Error no_job(JobId id) {
  return {ErrorCode::kNotFound, "job_id", text_of(id), "there is no such job"};
}

std::optional<JobState> state_filter(v1::JobState state) {
  if (state == v1::JOB_STATE_UNSPECIFIED) return std::nullopt;
  return static_cast<JobState>(static_cast<int>(state) - 1);
}

void list_jobs(const Engine& engine, const v1::ListJobsRequest& in, const Page& page,
               v1::ListJobsResponse* out) {
  const std::optional<JobState> state = state_filter(in.state());
  PageMeter meter(page);
  for (JobId after(page.after);;) {
    const std::vector<JobRow> rows = engine.jobs(after, page.size, state, in.account());
    for (const JobRow& row : rows) {
      after = row.id;
      if (!state && row.state == JobState::kDone) continue;
      v1::Job* job = out->add_jobs();
      put(row, engine, job);
      if (!meter.add(job->ByteSizeLong())) {
        out->set_next_page_token(std::to_string(row.id.value));
        return;
      }
    }
    if (rows.size() < page.size) return;
  }
}

// The first reason of each row. Explaining one job costs time in proportion to the queue, so jobs
// of one account with one shape share an answer, and a page explains no more than
// kMaxExplainedPositions allow.
class FirstReasons {
 public:
  FirstReasons(const Engine& engine, TimeMs now)
      : engine_(engine), now_(now), queue_(engine.count(JobState::kQueued) + 1) {}

  // nullptr: the page has used up its work.
  const Reason* of(const JobRow& row) {
    const std::string key =
        row.cluster + " " + row.account + "/" + row.user + " " + to_text(row.request);
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return &known->second;
    if (!by_key_.empty() && (by_key_.size() + 1) * queue_ > kMaxExplainedPositions) return nullptr;
    auto why = engine_.explain(row.id, now_);
    if (!why || why->reasons.empty()) return nullptr;
    return &by_key_.emplace(key, std::move(why->reasons.front())).first->second;
  }

 private:
  const Engine& engine_;
  TimeMs now_;
  std::size_t queue_;
  std::map<std::string, Reason> by_key_;
};

void put_queue_row(const Engine& engine, const JobRow& row, std::size_t position, TimeMs now,
                   FirstReasons& reasons, v1::QueueRow* out) {
  out->set_position(static_cast<std::int64_t>(position));
  put(row, engine, out->mutable_job());
  out->set_shape(shape_text(row.request));
  put_duration(std::max<TimeMs>(0, now - row.submit_ms), out->mutable_wait());
  if (const Reason* reason = reasons.of(row)) put(*reason, out->mutable_waits_for());
}

void list_queue(const Engine& engine, TimeMs now, const v1::ListQueueRequest& in, const Page& page,
                v1::ListQueueResponse* out) {
  const std::size_t wanted = in.account().empty() ? page.size : kMaxPositionsPerPage;
  const std::size_t end = page.after > SIZE_MAX - wanted ? SIZE_MAX : page.after + wanted;
  const std::vector<JobRow> rows = engine.queue(end);
  put(now, out->mutable_time());
  FirstReasons reasons(engine, now);
  PageMeter meter(page);
  for (std::size_t i = page.after; i < rows.size(); ++i) {
    if (!in.account().empty() && !AccountsView::is_within(rows[i].account, in.account())) continue;
    v1::QueueRow* row = out->add_rows();
    put_queue_row(engine, rows[i], i + 1, now, reasons, row);
    if (meter.add(row->ByteSizeLong())) continue;
    out->set_next_page_token(std::to_string(i + 1));
    return;
  }
  if (rows.size() == end) out->set_next_page_token(std::to_string(end));
}

}  // namespace

JobService::Reactor* JobService::GetJob(Context* context, const v1::GetJobRequest* in,
                                        v1::Job* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const JobId id = get_job_id(check, "job_id", in->job_id());
  if (!check.ok()) return call.fail(check.error());
  return call.read([in, out, id](const Engine& engine) -> std::optional<Error> {
    const auto row = engine.job(id, in->include_pods());
    if (!row) return no_job(id);
    put(*row, engine, out);
    return std::nullopt;
  });
}

JobService::Reactor* JobService::ListJobs(Context* context, const v1::ListJobsRequest* in,
                                          v1::ListJobsResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const Page page = read_page(check, in->page_size(), in->page_token());
  check.enum_value("state", in->state(), v1::JOB_STATE_DONE);
  check.name("account", in->account(), false);
  if (!check.ok()) return call.fail(check.error());
  return call.read([in, out, page](const Engine& engine) -> std::optional<Error> {
    list_jobs(engine, *in, page, out);
    return std::nullopt;
  });
}

JobService::Reactor* JobService::ListQueue(Context* context, const v1::ListQueueRequest* in,
                                           v1::ListQueueResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const Page page = read_page(check, in->page_size(), in->page_token());
  check.name("account", in->account(), false);
  if (!check.ok()) return call.fail(check.error());
  return call.read(
      [in, out, page, &shared = shared_](const Engine& engine) -> std::optional<Error> {
        list_queue(engine, shared.now(engine), *in, page, out);
        return std::nullopt;
      });
}

JobService::Reactor* JobService::ExplainJob(Context* context, const v1::ExplainJobRequest* in,
                                            v1::Explanation* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  Check check;
  const JobId id = get_job_id(check, "job_id", in->job_id());
  if (!check.ok()) return call.fail(check.error());
  return call.read([out, id, &shared = shared_](const Engine& engine) -> std::optional<Error> {
    const auto why = engine.explain(id, shared.now(engine));
    if (!why) return no_job(id);
    put(*why, engine, out);
    return std::nullopt;
  });
}

grpc::ServerWriteReactor<v1::WatchJobsResponse>* JobService::WatchJobs(
    Context* context, const v1::WatchJobsRequest* in) {
  const Admission admission = admit(shared_, *context, Role::kViewer);
  Check check;
  JobWatch::Filter filter;
  filter.account = check.name("account", in->account(), false);
  if (!in->job_id().empty()) filter.job = get_job_id(check, "job_id", in->job_id());
  auto watch = std::make_shared<JobWatch>(shared_.streams, shared_.watch, shared_.follower,
                                          std::move(filter), !in->changes_only());
  watch->begin();
  if (!admission.caller) {
    watch->close(admission.refusal);
  } else if (!check.ok()) {
    watch->close(to_status(check.error()));
  } else {
    shared_.watch.add(watch);
    watch->start();
  }
  return watch.get();
}

}  // namespace subak::api
