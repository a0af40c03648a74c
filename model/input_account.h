// Inputs that edit the tree of accounts (model/input.h, which says what all requests share).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/tree.h"

namespace subak::in {

// The fields of an account that an edit does not change. A new account gets their defaults.
struct UnchangedFields {
  // True: the edit does not change the field of AccountSpec with this name.
  bool shares = false, quota = false, limit = false, borrow = false, lend = false;
  bool namespaces = false, held = false, draining = false, time_limits = false;
  bool job_limits = false, user_limits = false, budgets = false;
  bool default_time_limit = false;
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
  }
  friend bool operator==(const UnchangedFields&, const UnchangedFields&) = default;
};

// Creates an account if it does not exist, or else changes it. A `revision` other than 0 must be
// the account's current revision. The reply has the account before and after the edit.
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
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
    v(5, "must_create", must_create);
    v(6, "must_exist", must_exist);
    v(7, "unchanged", unchanged);
  }
};

// Removes an account without jobs and without accounts below it. `revision`: as in SetAccount.
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
  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
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
// two changes of one account. kConflict: also another revision of the tree, or other settings.
struct ApplyAccounts {
  static constexpr std::string_view kName = "apply_accounts";
  std::vector<AccountChange> changes;
  std::uint64_t revision = 0;  // AccountTree::revision() that the caller has seen; 0: any
  std::string reason;
  bool validate_only = false;
  template <class V>
  void fields(V& v) {
    v(1, "changes", changes);
    v(2, "revision", revision);
    v(3, "reason", reason);
    v(4, "validate_only", validate_only);
  }
};

}  // namespace subak::in
