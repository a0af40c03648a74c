// Computes the quota hours of each account in a period, for usage reports: quota x time, exactly.
// An account's quota is the GPUs that it is guaranteed. The present quotas come from the account
// tree, and earlier ones from the edits in the audit log, which the caller reverts one by one.
//
// The quota of an account is its own quota, or else the sum of the quotas of its children, all
// products together. An account appears under its present path, also for the time before a move.
//
// Units: milli-GPU, ms, milli-GPU x ms. Days are UTC days since 1970-01-01.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/error.h"
#include "server/runtime/ports.h"

namespace subak::api {

// The quota hours of one period, computed backwards from the present. Call revert() for each edit,
// then finish().
class QuotaTime {
 public:
  // The path of an account, and the first day of a period; -1: the sums have no periods.
  using Key = std::pair<std::string, std::int64_t>;

  // Begins with the quotas of `tree`, which are those at the time `now`. finish() returns the sums
  // of the time from `from_ms` to `to_ms`, but at most to `now`.
  QuotaTime(const AccountTree& tree, TimeMs now, TimeMs from_ms, TimeMs to_ms, UsagePeriod period);

  // Does the same for one account, by its present path, in steps from `from_ms` on. The number in
  // each Key is then the index of a step instead of a day.
  QuotaTime(const AccountTree& tree, TimeMs now, TimeMs from_ms, TimeMs to_ms, DurationMs step_ms,
            std::string account);

  // Reverts one entry of the audit log. The entries must come newest first, without gaps. Entries
  // that are no edits of an account have no effect. Returns an error if the entry cannot be read.
  std::optional<Error> revert(const AuditEntry& entry);
  // Adds up the time that is left, and returns the sums that are not 0. Call it once, after
  // revert() of the entries since `from_ms`. Users are accounts too.
  std::map<Key, GpuTime> finish();

 private:
  struct Account {
    // The present path.
    std::string name;
    // The account's own quota. nullopt: it has none, or does not exist at this time.
    std::optional<MilliGpu> own;
    // The sum of the quotas of its children.
    MilliGpu below = 0;
    // The sums include the account's quota x time from this instant on.
    TimeMs until_ms = 0;
    MilliGpu quota() const { return own ? *own : below; }
  };

  // Returns the account that had this path before the last reverted entry. Adds the account if it
  // is missing.
  Account& at(const std::string& path);
  // Drops the account from a path that it got by the last reverted entry. Before that entry, the
  // path may have named another account.
  void leave(const std::string& path);
  // Sets the account's own quota for the time before `t`, and changes the quotas of the accounts
  // above it accordingly.
  void set_own(const std::string& path, std::optional<MilliGpu> own, TimeMs t);
  // Returns the number of the period with this instant, for the Key, and the end of the period.
  std::pair<std::int64_t, TimeMs> period_of(TimeMs t) const;
  // Adds the account's quota x time from `t` to Account::until_ms to the sums.
  void add_up(Account& account, TimeMs t);
  // Returns the present path of an account that had this path.
  std::string present_path(std::string path) const;
  std::optional<Error> revert_move(const AccountSpec& before, const AccountSpec& after, TimeMs t);

  const TimeMs now_, from_ms_, to_ms_;
  const UsagePeriod period_;
  // With steps: their length, and the only account that is summed. step_ms_ is 0 without steps.
  DurationMs step_ms_ = 0;
  std::string only_;
  std::map<std::string, Account> accounts_;
  // The reverted moves, newest first: the paths before and after.
  std::vector<std::pair<std::string, std::string>> moves_;
  std::map<Key, GpuTime> sums_;
};

}  // namespace subak::api
