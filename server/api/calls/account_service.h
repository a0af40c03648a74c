#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/account_service.grpc.pb.h"

namespace subak::api {

// The calls of AccountService (proto/subak/v1): accounts, their history and shares.
class AccountService final : public v1::AccountService::CallbackService {
 public:
  explicit AccountService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* GetAccount(Context* context, const v1::GetAccountRequest* in, v1::Account* out) override;
  Reactor* ListAccounts(Context* context, const v1::ListAccountsRequest* in,
                        v1::ListAccountsResponse* out) override;
  Reactor* CreateAccount(Context* context, const v1::CreateAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  Reactor* UpdateAccount(Context* context, const v1::UpdateAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  Reactor* DeleteAccount(Context* context, const v1::DeleteAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  Reactor* GetAccountHistory(Context* context, const v1::GetAccountHistoryRequest* in,
                             v1::GetAccountHistoryResponse* out) override;
  Reactor* ListShares(Context* context, const v1::ListSharesRequest* in,
                      v1::ListSharesResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
