// The gRPC handlers that read and edit accounts. A path names an account: "ml.vision" is an
// account, "ml.vision/ana" is a user below it, and "" is the root.
//
// gRPC calls the methods on its own threads, and may run several at the same time. Each method
// returns at once; the call is finished later, by the thread that has the answer. `in` and `out`
// belong to gRPC and outlive the call.
//
// The error INVALID_ARGUMENT names the field that is wrong. NOT_FOUND means that there is no such
// account. An edit needs the role team-admin and is accepted only by the leader; other replicas
// answer UNAVAILABLE. An edit may give a `revision`. If the account has another revision, the edit
// gets ABORTED.
#pragma once

#include "server/api/calls/shared.h"
#include "subak/v1/account_service.grpc.pb.h"

namespace subak::api {

// The calls of AccountService (proto/subak/v1): accounts, their history and shares.
class AccountService final : public v1::AccountService::CallbackService {
 public:
  // `shared` must outlive the service.
  explicit AccountService(Shared& shared) : shared_(shared) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  // Role viewer. Returns one account with its revision; a cheap read.
  Reactor* GetAccount(Context* context, const v1::GetAccountRequest* in, v1::Account* out) override;
  // Role viewer. Lists `parent` and all accounts below it, each account before those below it.
  // Users are left out unless include_users is set. The page token is an offset in this order. So a
  // row can appear twice if an account is created between two pages.
  Reactor* ListAccounts(Context* context, const v1::ListAccountsRequest* in,
                        v1::ListAccountsResponse* out) override;
  // Creates an account. If the account exists, the call gets ALREADY_EXISTS. A reason is required.
  Reactor* CreateAccount(Context* context, const v1::CreateAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  // Changes the fields that the mask names. Without a mask, it changes the fields that are set. If
  // the account is missing, it creates the account only if allow_missing is set. An empty path is
  // the root.
  Reactor* UpdateAccount(Context* context, const v1::UpdateAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  // Removes an account, which must have no accounts below it and no jobs. The account's ledger rows
  // and its history stay.
  Reactor* DeleteAccount(Context* context, const v1::DeleteAccountRequest* in,
                         v1::EditAccountResponse* out) override;
  // Makes all changes, or none. The error names the account of the first change that is refused.
  Reactor* ApplyAccounts(Context* context, const v1::ApplyAccountsRequest* in,
                         v1::ApplyAccountsResponse* out) override;
  // Moves an account with all accounts and users below it. A caller with the role team-admin must
  // be allowed to edit both paths.
  Reactor* MoveAccount(Context* context, const v1::MoveAccountRequest* in,
                       v1::ApplyAccountsResponse* out) override;
  // Reads the facts of the edit from the store, and posts the edit that restores the accounts. A
  // caller with the role team-admin may undo an edit only if it may edit all accounts of the edit.
  Reactor* UndoAccountEdit(Context* context, const v1::UndoAccountEditRequest* in,
                           v1::ApplyAccountsResponse* out) override;
  // Role viewer. Returns the edits of this account from the audit log, newest first. Edits of the
  // accounts below it are left out, but the call has to read their rows too, so a page may take
  // several reads of the store. An account that never existed has an empty history.
  Reactor* GetAccountHistory(Context* context, const v1::GetAccountHistoryRequest* in,
                             v1::GetAccountHistoryResponse* out) override;
  // Role viewer. Returns the usage and shares of `account` and of all accounts below it, in the
  // order of the tree. All usage is decayed to the same instant (`time`). `rank` numbers the leaves
  // of the whole tree from 1, in the order of their fairshare factors; leaves with equal factors
  // have the same rank.
  Reactor* ListShares(Context* context, const v1::ListSharesRequest* in,
                      v1::ListSharesResponse* out) override;
  // Role viewer. Returns the budgets of `account` and of all accounts below it, in the order of the
  // tree, with the figures of one instant (`time`).
  Reactor* ListBudgets(Context* context, const v1::ListBudgetsRequest* in,
                       v1::ListBudgetsResponse* out) override;

  Shared& shared_;
};

}  // namespace subak::api
