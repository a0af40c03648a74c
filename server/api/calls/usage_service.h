// All calls need the role viewer, and any replica answers. gRPC calls the methods on its own
// threads, several at once. `in` and `out` belong to gRPC and outlive the call.
// A period is [from, to) in UTC; `to` must be after `from`. A named account includes all accounts
// below it, also removed ones, whose rows stay. An empty account means all accounts. NOT_FOUND
// means that no account at or below that path ever existed.
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
  // sum of ledger rows. `running` is the GPU time of running pods that has no row yet. Both are as
  // of one instant (`time`) and one fact (last_sequence). A row that reaches beyond the period
  // counts only with its part inside.
  Reactor* ReportUsage(Context* context, const v1::ReportUsageRequest* in,
                       v1::ReportUsageResponse* out) override;
  // Lists rows in the order in which they were written. The page token is the number of the fact of
  // the last row.
  Reactor* ListLedger(Context* context, const v1::ListLedgerRequest* in,
                      v1::ListLedgerResponse* out) override;
  // Sums all ledger rows again and compares the sums with the accounts' balances at the same fact.
  // It returns at most 100 differences, and `drift`, the sum of all absolute differences. It reads
  // the store in parts of 20,000 rows, so that other callers get their turns. The call takes longer
  // as the ledger grows.
  Reactor* VerifyUsage(Context* context, const v1::VerifyUsageRequest* in,
                       v1::VerifyUsageResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
