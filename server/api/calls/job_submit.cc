// CreateJob and BatchCreateJobs.
#include <memory>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/api/calls/job_service.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

in::SubmitJob get_submit(Check& check, const v1::CreateJobRequest& in) {
  in::SubmitJob body;
  {
    const auto scope = check.in("job");
    body = get(check, in.job());
  }
  check.name("request_id", in.request_id(), false);
  body.validate_only = in.validate_only();
  return body;
}

Error not_yours(const Caller& caller, const std::string& account) {
  return {ErrorCode::kDenied, "job.account", account, "want an account of " + caller.subtree};
}

void put_reply(const Reply& reply, const std::string& warning, v1::CreateJobResponse* out) {
  out->set_job_id(text_of(reply.job));
  out->set_repeated_request(reply.repeated);
  for (const std::string& w : reply.warnings) out->add_warnings(w);
  if (!warning.empty()) out->add_warnings(warning);
}

// Refuses jobs of the API for such a cluster: its pods are created there.
std::optional<Error> made_elsewhere(const Shared& shared, const std::string& cluster) {
  const std::shared_ptr<const View> view = shared.runtime.view();
  const ClusterView* found = view->cluster(cluster);
  if (found == nullptr) return std::nullopt;
  if (!shared.launchers.ours(found->name, view->clusters->size() == 1)) return std::nullopt;
  return Error{
      ErrorCode::kPrecondition, "job.cluster", found->name,
      "want a cluster that a launcher serves: in this cluster, create the pods themselves"};
}

// Warns a user that nothing would start a job of this cluster; empty if a launcher or an edge
// would.
std::string not_served(const Shared& shared, const std::string& cluster) {
  const std::shared_ptr<const View> view = shared.runtime.view();
  const ClusterView* found = view->cluster(cluster);
  if (found == nullptr || shared.launchers.any(found->name, view->clusters->size() == 1)) return "";
  return "no launcher serves cluster \"" + found->name +
         "\": nothing starts the job until one follows ClusterService.Effects";
}

// Reads all requests: results of those refused here, inputs of the others.
struct Batch {
  std::vector<Input> inputs;
  std::vector<int> index;  // of each input in the results
  std::vector<std::string> warnings;
};

Batch read_batch(const Call& call, const v1::BatchCreateJobsRequest& in,
                 v1::BatchCreateJobsResponse* out) {
  Batch batch;
  for (int i = 0; i < in.requests_size(); ++i) {
    v1::BatchCreateJobsResult* result = out->add_results();
    Check check;
    in::SubmitJob body;
    {
      const auto scope = check.in("requests", i);
      body = get_submit(check, in.requests(i));
    }
    if (!check.ok()) {
      *result->mutable_error() = to_rpc(check.error());
    } else if (!call.caller().may_run_as(body.account)) {
      const Error error = not_yours(call.caller(), body.account);
      call.report_denied(error);
      *result->mutable_error() = to_rpc(error);
    } else if (const auto elsewhere = made_elsewhere(call.shared(), body.cluster)) {
      *result->mutable_error() = to_rpc(*elsewhere);
    } else {
      const RequestFingerprint one = fingerprint_of(in.requests(i));
      std::string warning = not_served(call.shared(), body.cluster);
      Input input{0, one.request_id, call.caller().actor, std::move(body), one.content};
      if (const auto error = bounds::check(input)) {
        *result->mutable_error() = to_rpc(*error);
        continue;
      }
      batch.warnings.push_back(std::move(warning));
      batch.inputs.push_back(std::move(input));
      batch.index.push_back(i);
    }
  }
  return batch;
}

}  // namespace

JobService::Reactor* JobService::CreateJob(Context* context, const v1::CreateJobRequest* in,
                                           v1::CreateJobResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  in::SubmitJob body = get_submit(check, *in);
  if (!check.ok()) return call.fail(check.error());
  if (!call.caller().may_run_as(body.account)) {
    return call.deny(body.account, "want an account of " + call.caller().subtree);
  }
  if (const auto error = made_elsewhere(shared_, body.cluster)) return call.fail(*error);
  const std::string warning = not_served(shared_, body.cluster);
  return call.post(std::move(body), fingerprint_of(*in),
                   [out, warning](const Reply& reply) { put_reply(reply, warning, out); });
}

JobService::Reactor* JobService::BatchCreateJobs(Context* context,
                                                 const v1::BatchCreateJobsRequest* in,
                                                 v1::BatchCreateJobsResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  Check check;
  check.number("requests", in->requests_size(), 1, limits::kMaxBatchJobs);
  if (!check.ok()) return call.fail(check.error());
  if (const auto error = shared_.not_ready()) return call.fail(*error);
  Batch batch = read_batch(call, *in, out);
  if (batch.inputs.empty()) return call.done();
  const bool posted = shared_.runtime.post_many(
      std::move(batch.inputs),
      [call, out, index = std::move(batch.index),
       warnings = std::move(batch.warnings)](const std::vector<Reply>& replies) {
        call.rests_on_all();
        for (std::size_t i = 0; i < replies.size(); ++i) {
          v1::BatchCreateJobsResult* result = out->mutable_results(index[i]);
          if (replies[i].error) {
            *result->mutable_error() = to_rpc(*replies[i].error);
          } else {
            put_reply(replies[i], warnings[i], result->mutable_job());
          }
        }
        call.done();
      });
  if (!posted) return call.finish(shared_.why_refused("the mailbox"));
  return call.reactor();
}

}  // namespace subak::api
