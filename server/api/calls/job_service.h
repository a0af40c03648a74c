#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// The calls of JobService (proto/subak/v1): jobs, the queue and explanations.
class JobService final : public v1::JobService::CallbackService {
 public:
  explicit JobService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* CreateJob(Context* context, const v1::CreateJobRequest* in,
                     v1::CreateJobResponse* out) override;
  Reactor* BatchCreateJobs(Context* context, const v1::BatchCreateJobsRequest* in,
                           v1::BatchCreateJobsResponse* out) override;
  Reactor* GetJob(Context* context, const v1::GetJobRequest* in, v1::Job* out) override;
  Reactor* ListJobs(Context* context, const v1::ListJobsRequest* in,
                    v1::ListJobsResponse* out) override;
  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchJobs(
      Context* context, const v1::WatchJobsRequest* in) override;
  Reactor* CancelJob(Context* context, const v1::CancelJobRequest* in,
                     v1::EditJobResponse* out) override;
  Reactor* HoldJob(Context* context, const v1::HoldJobRequest* in,
                   v1::EditJobResponse* out) override;
  Reactor* ReleaseJob(Context* context, const v1::ReleaseJobRequest* in,
                      v1::EditJobResponse* out) override;
  Reactor* ListQueue(Context* context, const v1::ListQueueRequest* in,
                     v1::ListQueueResponse* out) override;
  Reactor* ExplainJob(Context* context, const v1::ExplainJobRequest* in,
                      v1::Explanation* out) override;

  Shared& shared_;
};

}  // namespace subak::api
