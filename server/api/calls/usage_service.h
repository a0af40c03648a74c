#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/usage_service.grpc.pb.h"

namespace subak::api {

// The calls of UsageService (proto/subak/v1): usage reports, ledger rows and their verification.
class UsageService final : public v1::UsageService::CallbackService {
 public:
  explicit UsageService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* ReportUsage(Context* context, const v1::ReportUsageRequest* in,
                       v1::ReportUsageResponse* out) override;
  Reactor* ListLedger(Context* context, const v1::ListLedgerRequest* in,
                      v1::ListLedgerResponse* out) override;
  Reactor* VerifyUsage(Context* context, const v1::VerifyUsageRequest* in,
                       v1::VerifyUsageResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
