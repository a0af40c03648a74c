// The gRPC handlers for usage reports and the ledger. All calls need the role viewer, and any
// replica answers them. gRPC calls the methods on its own threads, and may run several at the same
// time. `in` and `out` belong to gRPC and outlive the call.
//
// A period is [from, to) in UTC, and `to` must be after `from`. An account in a request stands for
// itself and all accounts below it. Accounts that were removed count too, since their rows stay. An
// empty account means all accounts. NOT_FOUND means that neither this account nor any account below
// its path ever existed.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/usage_service.grpc.pb.h"

namespace subak::api {

// The calls of UsageService (proto/subak/v1): usage reports, ledger rows and their verification.
class UsageService final : public v1::UsageService::CallbackService {
 public:
  // `shared` must outlive the service.
  explicit UsageService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Sums GPU time by account. If the request says so, it also sums by user, product, MIG profile,
  // cluster, namespace, job, state, and UTC day, week or month. `amount` is the sum of ledger rows.
  // Complete days come from the sums of days (server/store/days); with by_job, all rows are read.
  // `running` is the GPU time of running pods for which there is no row yet. Both are as of one
  // instant (`time`) and one fact (last_sequence). If a row reaches beyond the period, only the
  // part within the period counts.
  Reactor* ReportUsage(Context* context, const v1::ReportUsageRequest* in,
                       v1::ReportUsageResponse* out) override;
  // Lists rows of the ledger in the order in which they were written. The page token is the number
  // of the fact of the last row on the page before.
  Reactor* ListLedger(Context* context, const v1::ListLedgerRequest* in,
                      v1::ListLedgerResponse* out) override;
  // Sums all ledger rows again, and compares the sums with the accounts' balances as of the same
  // fact. It returns at most 100 differences, and `drift`, which is the sum of all absolute
  // differences. It also compares the stored sums of days with their rows. It reads the store in
  // parts of 20,000 rows, so that other callers get their turns. As the ledger grows, the call
  // takes longer.
  Reactor* VerifyUsage(Context* context, const v1::VerifyUsageRequest* in,
                       v1::VerifyUsageResponse* out) override;
  // Sums the usage and the quota of an account in steps (server/api/history/usage_steps.h). It
  // reads the account's ledger rows from the begin of the first step on, in parts, so that other
  // callers get their turns.
  Reactor* GetUsageHistory(Context* context, const v1::GetUsageHistoryRequest* in,
                           v1::GetUsageHistoryResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
