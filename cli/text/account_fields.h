// The fields of an account as a user writes them, for flags, files and diffs alike. Threads: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "subak/v1/account_service.pb.h"

namespace subak::cli {

// The wanted fields of an account; an unset field stays unchanged. The texts are those of the
// flags: "3", "gpu=16", "none", "unlimited", namespaces each on its own.
struct AccountWish {
  // The account that is wanted.
  std::string path;
  std::optional<std::string> shares, quota, limit, borrow, lend, time_limits;
  std::optional<std::vector<std::string>> namespaces;
  std::optional<bool> held, draining;

  // True if no field is set.
  bool empty() const {
    return !shares && !quota && !limit && !borrow && !lend && !namespaces && !held && !draining &&
           !time_limits;
  }
};

// Fills in account and mask. `where` goes in front of a field's name in errors. Throws Failure
// (usage).
void put_wish(const AccountWish& wish, const std::string& where, v1::UpdateAccountRequest* request);

// One field of an account with its text.
struct FieldText {
  // As in the account file: "shares".
  std::string name;
  std::string text;  // "none", "unlimited", "1": never empty
};
// Returns all fields that can be edited, in the order of the manual.
std::vector<FieldText> account_fields(const v1::Account& account);

// A line of a diff for people; '-' is the old value, '+' the new one. Unchanged fields are left
// out; for a new or deleted account these are the fields at their default.
struct DiffLine {
  char sign = ' ';
  std::string text;
};
// Returns the changed fields in the order of account_fields(). nullptr: no such account.
std::vector<DiffLine> account_diff(const v1::Account* before, const v1::Account* after);

}  // namespace subak::cli
