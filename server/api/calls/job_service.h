// gRPC calls the methods on its own threads, several at once. Each returns at once and finishes its
// call later. `in` and `out` belong to gRPC and outlive the call.
// Reads need the role viewer. Changes need the leader and the role team-admin. A team admin may
// change only jobs of the own subtree (Caller::may_run_as); else the call is PERMISSION_DENIED. A
// job id has the form "1-42". A call with a `request_id` can be repeated: it answers as the first
// did, with repeated_request.
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
  // Submits a job. FAILED_PRECONDITION for a cluster that an edge of this service follows: there
  // users create pods. A warning says if no launcher serves the cluster.
  Reactor* CreateJob(Context* context, const v1::CreateJobRequest* in,
                     v1::CreateJobResponse* out) override;
  // Submits 1 to limits::kMaxBatchJobs jobs. The call succeeds even if each job is refused:
  // results[i] is the answer or the error to requests[i]. Each job is decided by itself.
  Reactor* BatchCreateJobs(Context* context, const v1::BatchCreateJobsRequest* in,
                           v1::BatchCreateJobsResponse* out) override;
  // A cheap read. Pods are included on request. An ended job is NOT_FOUND once it is forgotten.
  Reactor* GetJob(Context* context, const v1::GetJobRequest* in, v1::Job* out) override;
  // Lists jobs by id. Without a state it leaves out ended jobs. The first wait reason is given
  // until the page has examined limits::kMaxNodesLookedAtForList nodes; later rows have none. The
  // page token is the last id.
  Reactor* ListJobs(Context* context, const v1::ListJobsRequest* in,
                    v1::ListJobsResponse* out) override;
  // Streams jobs and then their changes; see JobWatch. changes_only: without the present jobs.
  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchJobs(
      Context* context, const v1::WatchJobsRequest* in) override;
  // Ends, pauses or resumes one job. The answer has only the id: the effect on pods follows later.
  // A reason is optional.
  Reactor* CancelJob(Context* context, const v1::CancelJobRequest* in,
                     v1::EditJobResponse* out) override;
  Reactor* HoldJob(Context* context, const v1::HoldJobRequest* in,
                   v1::EditJobResponse* out) override;
  Reactor* ReleaseJob(Context* context, const v1::ReleaseJobRequest* in,
                      v1::EditJobResponse* out) override;
  // One page of the order, see list_queue(). With `would`: list_shadow_queue().
  Reactor* ListQueue(Context* context, const v1::ListQueueRequest* in,
                     v1::ListQueueResponse* out) override;
  // All claims, of one subtree if an account is named.
  Reactor* ListClaims(Context* context, const v1::ListClaimsRequest* in,
                      v1::ListClaimsResponse* out) override;
  // Says why a job waits: all reasons, its ranking, its start estimate. `order_time` is the time of
  // the snapshot that its position is from. With `alternatives` also what would start it earlier;
  // RESOURCE_EXHAUSTED beyond limits::kMaxAlternativesSize jobs and nodes.
  Reactor* ExplainJob(Context* context, const v1::ExplainJobRequest* in,
                      v1::Explanation* out) override;

  Shared& shared_;
};

}  // namespace subak::api
