// The gRPC handlers for operators. gRPC calls the methods on its own threads, and may run several
// at the same time. Each method returns at once; the call is finished later. `in` and `out` belong
// to gRPC and outlive the call.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/admin_service.grpc.pb.h"

namespace subak::api {

// The calls of AdminService (proto/subak/v1): status, audit log, backup and the operator's
// decisions.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  // `shared` must outlive the service.
  explicit AdminService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Role viewer. Describes this replica: its leadership, clock, queue lengths and clusters, and
  // warnings for an operator. Figures of the process are current. The numbers of jobs and the
  // clusters are as of the fact follower_sequence, so they can be a little older. Any replica
  // answers, even while the wall clock waits to be accepted.
  Reactor* GetStatus(Context* context, const v1::GetStatusRequest* in, v1::Status* out) override;
  // Role admin. Lists rows of the audit log, newest first. The page token is the number of the last
  // fact on the page before.
  Reactor* ListAudit(Context* context, const v1::ListAuditRequest* in,
                     v1::ListAuditResponse* out) override;
  // Role admin. Only the leader answers, because the copy needs data that only the leader has. One
  // backup runs at a time; a second call gets RESOURCE_EXHAUSTED. See BackupStream.
  grpc::ServerWriteReactor<v1::BackupResponse>* Backup(Context* context,
                                                       const v1::BackupRequest*) override;
  // Role admin; only the leader answers. From now on, the service may write facts of the version
  // `fact_version`; 0: the newest version that this program knows. A program that does not know
  // this version can no longer read the store.
  Reactor* Finalize(Context* context, const v1::FinalizeRequest* in,
                    v1::FinalizeResponse* out) override;
  // Role admin; only the leader answers. Accepts a wall clock that the service does not believe.
  // The service's time never goes back: if the wall clock is behind, the service's time stands
  // still until the wall clock has caught up. `previous_time` and `time` are the service's time
  // before and after the call.
  Reactor* AcceptClock(Context* context, const v1::AcceptClockRequest* in,
                       v1::AcceptClockResponse* out) override;
  // Role viewer. Returns the policy in force.
  Reactor* GetPolicy(Context* context, const v1::GetPolicyRequest* in,
                     v1::PolicyResponse* out) override;
  // Role admin; only the leader answers. Changes values that the configuration does not set.
  Reactor* SetPolicy(Context* context, const v1::SetPolicyRequest* in,
                     v1::PolicyResponse* out) override;
  // Role admin. Declares all facts after `until` lost. If the store is not shared with other
  // processes, it cannot lose facts, and the call gets FAILED_PRECONDITION.
  Reactor* AcceptLoss(Context* context, const v1::AcceptLossRequest* in,
                      v1::AcceptLossResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
