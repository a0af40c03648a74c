// gRPC calls the methods on its own threads, several at once. Each returns at once and finishes its
// call later. `in` and `out` belong to gRPC and outlive the call.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/admin_service.grpc.pb.h"

namespace subak::api {

// The calls of AdminService (proto/subak/v1): status, audit log, backup and the operator's
// decisions.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  // `shared` outlives the service.
  explicit AdminService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Role viewer. Describes this replica: leadership, clock, queue lengths, clusters, and warnings
  // for an operator. Process figures are current. Job counts and clusters are as of
  // follower_sequence, which can be a little older. Any replica answers, also while the clock waits
  // to be accepted.
  Reactor* GetStatus(Context* context, const v1::GetStatusRequest* in, v1::Status* out) override;
  // Role admin. Lists rows newest first. The page token is the number of the last fact shown.
  Reactor* ListAudit(Context* context, const v1::ListAuditRequest* in,
                     v1::ListAuditResponse* out) override;
  // Role admin, leader only: the copy needs data that only the leader has. One backup runs at a
  // time; a second call gets RESOURCE_EXHAUSTED. See BackupStream.
  grpc::ServerWriteReactor<v1::BackupResponse>* Backup(Context* context,
                                                       const v1::BackupRequest*) override;
  // Role admin, leader only. Lets the service write facts of `fact_version` from now on; 0: the
  // newest that this program knows. An older program can then no longer read the store.
  Reactor* Finalize(Context* context, const v1::FinalizeRequest* in,
                    v1::FinalizeResponse* out) override;
  // Role admin, leader only. Accepts a wall clock that the service does not believe. The service's
  // time never goes back: if the clock is behind, the time stands still. `previous_time` and `time`
  // are the service's time before and after the call.
  Reactor* AcceptClock(Context* context, const v1::AcceptClockRequest* in,
                       v1::AcceptClockResponse* out) override;
  // Role admin. Declares all facts after `until` lost. If this process alone has the store, no fact
  // can be lost, and the call gets FAILED_PRECONDITION.
  Reactor* AcceptLoss(Context* context, const v1::AcceptLossRequest* in,
                      v1::AcceptLossResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
