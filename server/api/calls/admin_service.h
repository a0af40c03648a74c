#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/admin_service.grpc.pb.h"

namespace subak::api {

// The calls of AdminService (proto/subak/v1): status, audit log, backup and the operator's
// decisions.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* GetStatus(Context* context, const v1::GetStatusRequest* in, v1::Status* out) override;
  Reactor* ListAudit(Context* context, const v1::ListAuditRequest* in,
                     v1::ListAuditResponse* out) override;
  grpc::ServerWriteReactor<v1::BackupResponse>* Backup(Context* context,
                                                       const v1::BackupRequest*) override;
  Reactor* Finalize(Context* context, const v1::FinalizeRequest* in,
                    v1::FinalizeResponse* out) override;
  Reactor* AcceptClock(Context* context, const v1::AcceptClockRequest* in,
                       v1::AcceptClockResponse* out) override;
  Reactor* AcceptLoss(Context* context, const v1::AcceptLossRequest* in,
                      v1::AcceptLossResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
