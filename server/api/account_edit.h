// One edit of an account: read what is there, put the named fields over it, post, and when somebody
// else was faster and the caller named no revision, again.
#pragma once

#include <memory>
#include <string>

#include "server/api/convert.h"
#include "server/api/shared.h"

namespace subak::api {

class AccountEdit : public std::enable_shared_from_this<AccountEdit> {
 public:
  struct Order {
    const v1::Account* account = nullptr;  // lives as long as the call
    AccountMask mask;
    std::int64_t revision = 0;
    std::string reason;
    Asked asked;
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
  // What a team admin asks for that would reach beyond the subtree; empty: nothing.
  std::string beyond_subtree(const Engine& engine) const;

  Call call_;
  Order order_;
  v1::EditAccountResponse* out_;
  int attempts_ = 0;
};

// Fills in what a reply to an edit says; a repeated request gets the account as it is now.
void finish_account_edit(const Call& call, const Reply& reply, v1::EditAccountResponse* out);

}  // namespace subak::api
