// One edit of an account. It reads the account, puts the named fields over it, and posts the
// result. If the account changed meanwhile and the caller named no revision, it tries again.
#pragma once

#include <memory>
#include <string>

#include "server/api/calls/shared.h"
#include "server/api/convert/convert.h"

namespace subak::api {

class AccountEdit : public std::enable_shared_from_this<AccountEdit> {
 public:
  struct Order {
    const v1::Account* account = nullptr;  // lives as long as the call
    AccountMask mask;
    std::int64_t revision = 0;
    std::string reason;
    RequestFingerprint fingerprint;
    bool validate_only = false;
    bool must_create = false;
    bool may_create = false;
  };
  AccountEdit(Call call, Order order, v1::EditAccountResponse* out)
      : call_(std::move(call)), order_(std::move(order)), out_(out) {}
  Call::Reactor* run();

 private:
  void read(const Engine& engine);
  void answered(const Reply& reply);
  // Names the part of a team admin's edit that reaches beyond the subtree. Empty: there is none.
  std::string beyond_subtree(const Engine& engine) const;

  Call call_;
  Order order_;
  v1::EditAccountResponse* out_;
  int attempts_ = 0;
};

// Fills in the answer to an edit. A repeated request gets the account in its present state.
void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out);

}  // namespace subak::api
