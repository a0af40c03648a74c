// Converts the fields of an account to and from the texts of flags, account files and diffs.
// Threads: any; the functions have no shared state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "subak/v1/account_service.pb.h"

namespace subak::cli {

// The fields that an account should have. An unset field stays unchanged. Each text has the form of
// the flag's value: "3", "gpu=16", "none", "unlimited". Each namespace is a text of its own.
struct AccountWish {
  // The path of the account.
  std::string path;
  std::optional<std::string> shares, quota, limit, user_limit, borrow, lend, time_limits, budget,
      default_time_limit, managed_by;
  std::optional<std::vector<std::string>> namespaces;
  std::optional<bool> held, draining;

  // True if no field is set.
  bool empty() const {
    return !shares && !quota && !limit && !borrow && !lend && !namespaces && !held && !draining &&
           !time_limits && !user_limit && !budget && !default_time_limit && !managed_by;
  }
};

// True if the name is a limit on jobs in a list of limits: "jobs", "queued", "time", "gpu-minutes".
bool is_job_limit(const std::string& name);
// Fills in the request's account, and the mask of the fields that it sets. Throws Failure (usage)
// for a text that it cannot read, with `where` before the field's name.
void put_wish(const AccountWish& wish, const std::string& where, v1::UpdateAccountRequest* request);

// One field of an account with its text.
struct FieldText {
  // The name as in the account file: "shares".
  std::string name;
  std::string text;  // "none", "unlimited", "1": never empty
};
// Returns all fields that a user can edit, in the order in which commands show them.
std::vector<FieldText> account_fields(const v1::Account& account);

// A line of a diff for people. '-' marks the old value, and '+' the new value. The diff leaves out
// unchanged fields. For a new or deleted account it also leaves out fields with their default
// value.
struct DiffLine {
  char sign = ' ';
  std::string text;
};
// Returns the changed fields in the order of account_fields(), after the path if that changed.
// `before` is nullptr for a new account, `after` for a deleted one.
std::vector<DiffLine> account_diff(const v1::Account* before, const v1::Account* after);

}  // namespace subak::cli
