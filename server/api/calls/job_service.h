// gRPC calls the methods on its own threads, several at once. Each returns at once and finishes its
// call later. `in` and `out` belong to gRPC and outlive the call.
// Reads need the role viewer. Changes need the leader and the role team-admin. A team admin may
// change only jobs of the admin's own subtree (Caller::may_run_as); other calls get
// PERMISSION_DENIED. A job id has the form "1-42". A call with a `request_id` can be repeated: the
// answer is that of the first call, with repeated_request set.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/job_service.grpc.pb.h"

namespace subak::api {

// The calls of JobService (proto/subak/v1): jobs, the queue and explanations.
class JobService final : public v1::JobService::CallbackService {
 public:
  // `shared` outlives the service.
  explicit JobService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Submits a job. If an edge of this service follows the cluster, the call gets
  // FAILED_PRECONDITION: users of that cluster create pods instead. The answer has a warning if no
  // launcher serves the cluster.
  Reactor* CreateJob(Context* context, const v1::CreateJobRequest* in,
                     v1::CreateJobResponse* out) override;
  // Submits 1 to limits::kMaxBatchJobs jobs. The call succeeds even if each job is refused:
  // results[i] is the answer or the error to requests[i].
  // The service decides each job independently.
  Reactor* BatchCreateJobs(Context* context, const v1::BatchCreateJobsRequest* in,
                           v1::BatchCreateJobsResponse* out) override;
  // A cheap read. Pods are included on request. For a job that has ended and is no longer stored,
  // the call gets NOT_FOUND.
  Reactor* GetJob(Context* context, const v1::GetJobRequest* in, v1::Job* out) override;
  // Lists jobs by id. If the request names no state, it leaves out ended jobs. A row has the first
  // reason why its job waits. Once the page has examined limits::kMaxNodesLookedAtForList nodes,
  // later rows have no reason. The page token is the last id.
  Reactor* ListJobs(Context* context, const v1::ListJobsRequest* in,
                    v1::ListJobsResponse* out) override;
  // Streams all jobs, then their changes; see JobWatch.
  // With changes_only, it streams only the changes.
  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchJobs(
      Context* context, const v1::WatchJobsRequest* in) override;
  // CancelJob ends one job, HoldJob pauses it, ReleaseJob resumes it. The answer has only the id:
  // the effect on pods follows later. A reason is optional.
  Reactor* CancelJob(Context* context, const v1::CancelJobRequest* in,
                     v1::EditJobResponse* out) override;
  Reactor* HoldJob(Context* context, const v1::HoldJobRequest* in,
                   v1::EditJobResponse* out) override;
  Reactor* ReleaseJob(Context* context, const v1::ReleaseJobRequest* in,
                      v1::EditJobResponse* out) override;
  // Returns one page of the queue's order, see list_queue(). With `would`, see list_shadow_queue().
  Reactor* ListQueue(Context* context, const v1::ListQueueRequest* in,
                     v1::ListQueueResponse* out) override;
  // All claims, of one subtree if an account is named.
  Reactor* ListClaims(Context* context, const v1::ListClaimsRequest* in,
                      v1::ListClaimsResponse* out) override;
  // Says why a job waits: all reasons, its ranking, its start estimate. `order_time` is the time of
  // the queue snapshot that has the job's position. With `alternatives` it also says what would
  // start the job earlier. With more than limits::kMaxAlternativesSize jobs and nodes, that
  // gets RESOURCE_EXHAUSTED.
  Reactor* ExplainJob(Context* context, const v1::ExplainJobRequest* in,
                      v1::Explanation* out) override;

  Shared& shared_;
};

}  // namespace subak::api
