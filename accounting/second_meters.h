// Meters with a new half-life, for all accounts, while a change of the half-life is under way.
// Meters sum usage that decays with the half-life (accounting/decay.h). Example: an operator
// changes the half-life from 7 to 14 days. Decisions use the meters with 7 days until the
// service has computed earlier usage with 14 days from the stored facts (docs/design/0108).
// Meanwhile these second meters begin at 0, and sum with 14 days what jobs use after the edit.
// At the end, finished() adds the earlier usage. The sums are right because usage is an integral
// over time.
//
// Edits of shares, new accounts and moves of accounts add an amount to a surplus or an
// adjustment. The amount depends on complete meters, which are known only at the end. So this
// class records each such edit, with the values of its own meters at that time. finished()
// applies the edits in their order.
// Units: milli-GPU and milli-GPU x ms. Errors: none.
// Threads: one at a time; AccountTree owns the object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "accounting/account.h"
#include "accounting/decay.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The values of one account's decayed meters at one instant.
struct MeterValues {
  AccountId account;
  double usage = 0, surplus = 0, adjustment = 0;
  template <class V>
  void fields(V& v) {
    v(1, "account", account);
    v(2, "usage", usage);
    v(3, "surplus", surplus);
    v(4, "adjustment", adjustment);
  }
  friend bool operator==(const MeterValues&, const MeterValues&) = default;
};

// The second meters of all accounts. AccountTree owns the object and calls it.
class SecondMeters {
 public:
  // Begins at `now` with the present rates of all accounts. `nodes` are the accounts by id.
  SecondMeters(DurationMs half_life_ms, TimeMs now, std::span<const AccountNode> nodes);

  const DecayClock& clock() const { return clock_; }
  // Returns the time at which the meters began.
  TimeMs begun_ms() const { return begun_ms_; }

  // The tree calls these functions for each change of its own meters, with the same times.
  // adjust(), begin_at_mean() and move() record an edit, whose amounts finished() computes.
  //
  // Changes the rate of usage by `delta`, and sets the rate of the surplus.
  void change(AccountId id, MilliGpu delta, MilliGpu surplus_rate, TimeMs now);
  void set_surplus_rate(AccountId id, MilliGpu rate, TimeMs now);
  // Adds `factor` x (surplus + adjustment) of the account to its adjustment.
  void adjust(AccountId id, double factor, TimeMs now);
  // Adds to the adjustment of a new account: `factor` x the sum of surplus + adjustment over its
  // siblings with shares. With `own_jobs`, the sum includes the usage of jobs of the parent itself.
  // `nodes` are the accounts by id, with the new account. O(siblings).
  void begin_at_mean(std::span<const AccountNode> nodes, AccountId id, double factor, bool own_jobs,
                     TimeMs now);
  // Subtracts the usage and the surplus of the account from the accounts `left`, and adds them to
  // the accounts `joined`. `nodes` are the accounts by id, with their new holds. O(left + joined).
  void move(std::span<const AccountNode> nodes, AccountId id, std::vector<AccountId> left,
            std::vector<AccountId> joined, TimeMs now);

  // Returns the complete state of each account's meters, by id, as of the last change. `earlier`
  // has the values at begun_ms(); an account that it does not name had none. Each account must have
  // an id below nodes.size() (asserted). O(accounts + recorded edits).
  std::vector<AccountMeters::State> finished(std::span<const MeterValues> earlier,
                                             std::span<const AccountNode> nodes) const;

 private:
  enum class EditKind : std::uint8_t { kShares, kNew, kMove };
  // One recorded edit of the account `id`.
  struct Edit {
    EditKind kind = EditKind::kShares;
    AccountId id;
    TimeMs at = 0;
    double factor = 0;
    // kNew: the siblings with shares. If `parent` is set: the usage of this account counts too,
    // without the usage of `without`.
    std::vector<AccountId> of;
    AccountId parent;
    std::vector<AccountId> without;
    // kMove: the accounts that lose, and those that gain.
    std::vector<AccountId> left, joined;
    // The values of these meters at that time, without accounts whose values are 0, by id.
    std::vector<MeterValues> values;
  };
  // Applies the recorded edits in their order, with complete values of the meters.
  class Replay;

  AccountMeters& meters(AccountId id);
  void note_values(Edit& edit, AccountId id);
  void record(Edit edit);

  DecayClock clock_;
  TimeMs begun_ms_ = 0;
  std::vector<AccountMeters> meters_;  // by account id; without the amounts of edits_
  std::vector<Edit> edits_;            // in their order
};

}  // namespace subak
