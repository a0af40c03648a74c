// Inputs that edit the account tree. Part of model/input.h, which describes the common fields of
// requests.
// Threads: any; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"

namespace subak::in {

// Says which fields of an account an edit does not change. A new account gets the defaults of these
// fields.
struct UnchangedFields {
  // True: the edit does not change the field of AccountSpec with this name.
  bool shares = false, quota = false, limit = false, borrow = false, lend = false;
  bool namespaces = false, held = false, draining = false, time_limits = false;
  bool job_limits = false, user_limits = false, budgets = false;
  bool default_time_limit = false, managed_by = false;
  template <class V>
  void fields(V& v) {
    v(1, "shares", shares);
    v(2, "quota", quota);
    v(3, "limit", limit);
    v(4, "borrow", borrow);
    v(5, "lend", lend);
    v(6, "namespaces", namespaces);
    v(7, "held", held);
    v(8, "draining", draining);
    v(9, "time_limits", time_limits);
    v(10, "job_limits", job_limits);
    v(11, "user_limits", user_limits);
    v(12, "budgets", budgets);
    v(13, "default_time_limit", default_time_limit);
    v(14, "managed_by", managed_by);
  }
  friend bool operator==(const UnchangedFields&, const UnchangedFields&) = default;
};

// Creates an account if it does not exist, or else changes it. A `revision` other than 0 must be
// the account's current revision, which is the number of its edits. The reply has the account
// before and after the edit. `override_managed` allows an edit of an account that another caller
// manages (accounting/edit/managed_by.h). Without it, such an edit is refused with kPrecondition.
// kExists: `must_create` is set, and the account exists. kNotFound: `must_exist` is set, and there
// is no such account. kConflict: the revision is not the current one. kPrecondition: the quotas
// below an account would exceed the account's own quota. kInvalid: a path or amount is wrong.
// kExhausted: too many product names.
struct SetAccount {
  static constexpr std::string_view kName = "set_account";
  // The account's settings; `path` names the account. The parent of the account must exist.
  AccountSpec spec;
  // The revision that the caller has seen. 0: any.
  std::int64_t revision = 0;
  std::string reason;
  bool validate_only = false;
  // Refuses the request if the account exists.
  bool must_create = false;
  // Refuses the request if the account does not exist.
  bool must_exist = false;
  UnchangedFields unchanged;
  bool override_managed = false;
  // True: the new shares also count for past usage (ShareEdit::kRetroactive). The edit must set the
  // shares of an account that exists.
  bool retroactive = false;
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
    v(5, "must_create", must_create);
    v(6, "must_exist", must_exist);
    v(7, "unchanged", unchanged);
    v(8, "override_managed", override_managed);
    v(9, "retroactive", retroactive);
  }
};

// Removes an account without jobs and without accounts below it. `revision` and `override_managed`:
// as in SetAccount.
// kNotFound: no such account. kConflict: the revision is not the current one. kPrecondition: the
// account is the root, or it has children, GPUs or jobs.
struct DeleteAccount {
  static constexpr std::string_view kName = "delete_account";
  // The account to remove: "ml.vision", or "ml.vision/ana" for a user.
  std::string path;
  // The revision that the caller has seen. 0: any.
  std::int64_t revision = 0;
  std::string reason;
  bool validate_only = false;
  bool override_managed = false;
  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
    v(5, "override_managed", override_managed);
  }
};

// One change of ApplyAccounts: creates, changes or removes one account.
struct AccountChange {
  // The account's settings after the change. If `remove` is set, only `path` has an effect.
  AccountSpec spec;
  UnchangedFields unchanged;
  // The account's revision that the caller has seen. 0: any.
  std::int64_t revision = 0;
  bool remove = false;
  bool must_create = false;  // the account must not exist yet
  bool expects = false;      // before the change, the account must have the settings `expected`
  AccountSpec expected;
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
    v(2, "unchanged", unchanged);
    v(3, "revision", revision);
    v(4, "remove", remove);
    v(5, "must_create", must_create);
    v(6, "expects", expects);
    v(7, "expected", expected);
  }
  friend bool operator==(const AccountChange&, const AccountChange&) = default;
};

// Makes all changes, or none. The engine checks the tree as it is after all changes, so their order
// has no influence. Errors: as for SetAccount and DeleteAccount, with the account's name. kInvalid:
// two changes are of one account. kConflict: also if `revision` is not the tree's revision, or an
// account does not have the settings `expected`.
struct ApplyAccounts {
  static constexpr std::string_view kName = "apply_accounts";
  std::vector<AccountChange> changes;
  std::uint64_t revision = 0;  // AccountTree::revision() that the caller has seen; 0: any
  std::string reason;
  bool validate_only = false;
  bool override_managed = false;
  // As in SetAccount, for the accounts that exist and get other shares.
  bool retroactive = false;
  template <class V>
  void fields(V& v) {
    v(1, "changes", changes);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
    v(5, "override_managed", override_managed);
    v(6, "retroactive", retroactive);
  }
};

// Gives an account another path, with all accounts and users below it. Their ids, usage, quotas and
// jobs stay. `revision` and `override_managed`: as in SetAccount.
// Errors: those of check_move() (accounting/edit/account_move.h). kNotFound: no such account.
// kConflict: the revision is not the current one, or the path or the new parent is another account
// than the caller expects. kPrecondition: the quotas below the new parent would exceed its quota,
// or a hard budget of a new parent does not cover the running jobs.
struct MoveAccount {
  static constexpr std::string_view kName = "move_account";
  std::string path;
  std::string to;
  std::int64_t revision = 0;
  std::string reason;
  bool validate_only = false;
  bool override_managed = false;
  // The ids that the account and its new parent must have. None: any.
  AccountId expected_id, expected_parent;
  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "to", to);
    v(3, "revision", revision);
    v(4, "reason", reason);
    v(5, "validate_only", validate_only);
    v(6, "override_managed", override_managed);
    v(7, "expected_id", expected_id);
    v(8, "expected_parent", expected_parent);
  }
};

}  // namespace subak::in
