// The oracle's sums of surplus and adjustment that edits of accounts add (tests/oracle/oracle.h),
// and where each account was in the tree at which time. All amounts are computed from the list of
// all edits, with the half-life in force. Threads: one at a time.
#pragma once

#include "tests/oracle/oracle.h"

namespace subak::sim {

class OracleMeters {
 public:
  explicit OracleMeters(Oracle& oracle) : o_(oracle) {}

  // Records an edit of shares, a new account, or a move to another parent, and adds its amounts.
  // `factor`: the change of the shares, as a part of the shares before.
  void change_shares(AccountId id, long double factor);
  void begin_at_mean(const Oracle::Account& fresh, bool user);
  void move(Oracle::Account& account, AccountId parent);
  // Computes the amounts of all edits again. Call it after the half-life has changed: usage and
  // surplus are then as if it had been in force from the start, and so must these amounts be.
  void compute_anew();

  // Returns how long in this interval the account `leaf` was at or below `top`. Negative if `from`
  // is after `to`.
  static DurationMs within(const Oracle& oracle, AccountId leaf, AccountId top, TimeMs from,
                           TimeMs to);

 private:
  using Edit = Oracle::MeterEdit;

  void record(Edit edit);
  void add(const Edit& edit);
  long double usage_of(AccountId leaf) const;

  Oracle& o_;
};

}  // namespace subak::sim
