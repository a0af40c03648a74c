// The gRPC handlers for jobs and the queue. gRPC calls the methods on its own threads, and may run
// several at the same time. Each method returns at once; the call is finished later. `in` and `out`
// belong to gRPC and outlive the call.
//
// Reads need the role viewer. Changes need the role team-admin, and only the leader accepts them. A
// team admin may change only jobs of the admin's own subtree (Caller::may_run_as); a change of
// another job gets PERMISSION_DENIED. A job id has the form "1-42". A caller can repeat a call that
// has a `request_id`: the answer is that of the first call, with repeated_request set.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// The calls of JobService (proto/subak/v1): jobs, the queue and explanations.
class JobService final : public v1::JobService::CallbackService {
 public:
  // `shared` must outlive the service.
  explicit JobService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Submits a job. If an edge of this service follows the cluster, the call gets
  // FAILED_PRECONDITION, because users of that cluster must create pods instead. The answer has a
  // warning if no launcher, a program that runs the pods of such jobs, serves the cluster.
  Reactor* CreateJob(Context* context, const v1::CreateJobRequest* in,
                     v1::CreateJobResponse* out) override;
  // Submits 1 to limits::kMaxBatchJobs jobs. The service decides each job independently. The call
  // succeeds even if all jobs are refused: results[i] has the answer to requests[i], or the error.
  Reactor* BatchCreateJobs(Context* context, const v1::BatchCreateJobsRequest* in,
                           v1::BatchCreateJobsResponse* out) override;
  // Returns one job, by a cheap read. The answer has the job's pods if the request says so. If the
  // job has ended and is no longer stored, the call gets NOT_FOUND.
  Reactor* GetJob(Context* context, const v1::GetJobRequest* in, v1::Job* out) override;
  // Lists jobs in the order of their ids. If the request names no state, ended jobs are left out.
  // Each row has the first reason why the job waits. But once the reasons for a page have required
  // a look at limits::kMaxNodesLookedAtForList nodes, further rows may have no reason. The page
  // token is the id of the last job on the page before.
  Reactor* ListJobs(Context* context, const v1::ListJobsRequest* in,
                    v1::ListJobsResponse* out) override;
  // Streams all jobs, then their changes; see JobWatch.
  // With changes_only, it streams only the changes.
  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchJobs(
      Context* context, const v1::WatchJobsRequest* in) override;
  // CancelJob ends one job, HoldJob pauses it, and ReleaseJob resumes it. The answer has only the
  // id of the job, since the effect on the job's pods follows later. A reason is optional.
  Reactor* CancelJob(Context* context, const v1::CancelJobRequest* in,
                     v1::EditJobResponse* out) override;
  Reactor* HoldJob(Context* context, const v1::HoldJobRequest* in,
                   v1::EditJobResponse* out) override;
  Reactor* ReleaseJob(Context* context, const v1::ReleaseJobRequest* in,
                      v1::EditJobResponse* out) override;
  // Returns one page of the queue's order, see list_queue(). With `would`, see list_shadow_queue().
  Reactor* ListQueue(Context* context, const v1::ListQueueRequest* in,
                     v1::ListQueueResponse* out) override;
  // Returns all claims. A claim is GPUs that other jobs must give back to a waiting job. If the
  // request names an account, it returns only claims of that account and those below it.
  Reactor* ListClaims(Context* context, const v1::ListClaimsRequest* in,
                      v1::ListClaimsResponse* out) override;
  // Says why a job waits: all reasons, its ranking and its start estimate. The job's position comes
  // from a snapshot of the queue, and `order_time` is the time of that snapshot. With
  // `alternatives`, the answer also says what would start the job earlier. If there are more than
  // limits::kMaxAlternativesSize jobs and nodes, a call with `alternatives` gets
  // RESOURCE_EXHAUSTED.
  Reactor* ExplainJob(Context* context, const v1::ExplainJobRequest* in,
                      v1::Explanation* out) override;
  // Returns a page of the job's history (server/api/history/job_past.h). The page token is the
  // number of the last fact that the previous page read.
  Reactor* GetJobHistory(Context* context, const v1::GetJobHistoryRequest* in,
                         v1::GetJobHistoryResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
