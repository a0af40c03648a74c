// CancelJob, HoldJob, ReleaseJob.
#include <utility>

#include "server/api/calls/job_service.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {

void post_edit(const Call& call, in::Body body, const RequestFingerprint& fingerprint,
               v1::EditJobResponse* out) {
  call.post(std::move(body), fingerprint, [out](const Reply& reply) {
    out->set_job_id(text_of(reply.job));
    out->set_repeated_request(reply.repeated);
  });
}

// An admin's edit goes straight to the engine. For a team admin the job's account is looked up
// first. The account of a job never changes, so the result stays valid.
Call::Reactor* edit_job(const Call& call, JobId id, in::Body body,
                        const RequestFingerprint& fingerprint, v1::EditJobResponse* out) {
  if (call.caller().is_admin()) {
    post_edit(call, std::move(body), fingerprint, out);
    return call.reactor();
  }
  return call.read_then([call, id, body = std::move(body), fingerprint, out](const Engine& engine) {
    const auto row = engine.job(id, false);
    if (!row) {
      call.fail({ErrorCode::kNotFound, "job_id", text_of(id), "there is no such job"});
    } else if (!call.caller().may_run_as(row->account)) {
      call.deny(text_of(id), "want a job of " + call.caller().subtree);
    } else {
      post_edit(call, body, fingerprint, out);
    }
  });
}

template <class Request>
struct EditFields {
  JobId id;
  std::string reason;
  std::optional<Error> error;

  explicit EditFields(const Request& in) {
    Check check;
    id = get_job_id(check, "job_id", in.job_id());
    reason = get_reason(check, in.reason(), false);
    check.name("request_id", in.request_id(), false);
    if (!check.ok()) error = check.error();
  }
};

}  // namespace

JobService::Reactor* JobService::CancelJob(Context* context, const v1::CancelJobRequest* in,
                                           v1::EditJobResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  const EditFields fields(*in);
  if (fields.error) return call.fail(*fields.error);
  return edit_job(call, fields.id, in::CancelJob{fields.id, fields.reason}, fingerprint_of(*in),
                  out);
}

JobService::Reactor* JobService::HoldJob(Context* context, const v1::HoldJobRequest* in,
                                         v1::EditJobResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  const EditFields fields(*in);
  if (fields.error) return call.fail(*fields.error);
  return edit_job(call, fields.id, in::HoldJob{fields.id, true, fields.reason}, fingerprint_of(*in),
                  out);
}

JobService::Reactor* JobService::ReleaseJob(Context* context, const v1::ReleaseJobRequest* in,
                                            v1::EditJobResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kTeamAdmin)) return call.reactor();
  const EditFields fields(*in);
  if (fields.error) return call.fail(*fields.error);
  return edit_job(call, fields.id, in::HoldJob{fields.id, false, fields.reason},
                  fingerprint_of(*in), out);
}

}  // namespace subak::api
