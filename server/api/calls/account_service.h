// Accounts are named by path: "ml.vision" is an account, "ml.vision/ana" a user in it, "" the root.
// gRPC calls the methods on its own threads, several at once. Each returns at once and finishes its
// call later, from the thread that has the answer. `in` and `out` belong to gRPC and outlive the
// call.
// Errors of all methods: INVALID_ARGUMENT names the field. NOT_FOUND means that there is no such
// account. Edits also need the role team-admin and the leader; other replicas answer UNAVAILABLE.
// An edit may give a `revision`. If the account has another revision, the edit is ABORTED.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/account_service.grpc.pb.h"

namespace subak::api {

// The calls of AccountService (proto/subak/v1): accounts, their history and shares.
class AccountService final : public v1::AccountService::CallbackService {
 public:
  // `shared` outlives the service.
  explicit AccountService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Role viewer. Returns one account with its revision; a cheap read.
  Reactor* GetAccount(Context* context, const v1::GetAccountRequest* in, v1::Account* out) override;
  // Role viewer. Lists `parent` and all accounts below it, parents first. Users are left out unless
  // include_users. The page token is an offset in that order. So a row can appear twice if an
  // account is created between two pages.
  Reactor* ListAccounts(Context* context, const v1::ListAccountsRequest* in,
                        v1::ListAccountsResponse* out) override;
  // Refuses an existing account with ALREADY_EXISTS. A reason is required.
  Reactor* CreateAccount(Context* context, const v1::CreateAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  // Changes the fields that the mask names. Without a mask, it changes the fields that are set. It
  // creates a missing account only with allow_missing. An empty path is the root.
  Reactor* UpdateAccount(Context* context, const v1::UpdateAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  // Removes an account without children and jobs; its ledger rows and its history stay.
  Reactor* DeleteAccount(Context* context, const v1::DeleteAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  // Role viewer. Returns the edits of exactly this account, newest first, from the audit log. It
  // reads rows of accounts below too, so a page may take several reads of the store. An account
  // that never existed has an empty history.
  Reactor* GetAccountHistory(Context* context, const v1::GetAccountHistoryRequest* in,
                             v1::GetAccountHistoryResponse* out) override;
  // Role viewer. Returns usage and shares of `account` and all below it, in tree order, decayed to
  // one instant (`time`). `rank` counts the leaves of the whole tree from 1 by fairshare; equal
  // factors share a rank.
  Reactor* ListShares(Context* context, const v1::ListSharesRequest* in,
                      v1::ListSharesResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
