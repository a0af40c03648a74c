// All calls need the role viewer, and any replica answers. gRPC calls the methods on its own
// threads, several at once. `in` and `out` belong to gRPC and outlive the call.
// A period is [from, to) in UTC; `to` must be after `from`. An account includes all below it, also
// removed ones, whose rows stay. An empty account means all. NOT_FOUND: no account at or below that
// path ever existed.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/usage_service.grpc.pb.h"

namespace subak::api {

// The calls of UsageService (proto/subak/v1): usage reports, ledger rows and their verification.
class UsageService final : public v1::UsageService::CallbackService {
 public:
  // `shared` outlives the service.
  explicit UsageService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Sums GPU time by account, and on request by user, product, UTC day and state. `amount` is the
  // sum of ledger rows, `running` the part of running pods that has no row yet. Both are as of one
  // instant (`time`) and one fact (last_sequence). An interval that crosses the period is cut to
  // it.
  Reactor* ReportUsage(Context* context, const v1::ReportUsageRequest* in,
                       v1::ReportUsageResponse* out) override;
  // Lists rows in the order in which they were written. The page token is the fact of the last row.
  Reactor* ListLedger(Context* context, const v1::ListLedgerRequest* in,
                      v1::ListLedgerResponse* out) override;
  // Sums all ledger rows again and compares them with the balances of the same fact. It returns at
  // most 100 differences, and `drift`, the sum of all absolute differences. It reads the store in
  // parts of 20,000 rows, so that other callers get their turns. The time grows with the ledger.
  Reactor* VerifyUsage(Context* context, const v1::VerifyUsageRequest* in,
                       v1::VerifyUsageResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
