// The budgets of a whole account tree: each start and end of a job changes the books of all
// accounts from the job's account to the root.
//
// Periods end at a *turn*. Shortly before the end of a period there is another turn: from it on,
// running jobs without a time limit hold GPU time of the next period too. The engine records each
// turn as a fact, so that each replica makes it at the same place.
//
// Units: milli-GPU, ms, milli-GPU x ms.
// Errors: none; broken preconditions are asserted.
// Threads: one at a time; the engine owns the tree.
#pragma once

#include <functional>
#include <optional>

#include "accounting/budget/budget_book.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// GPUs of one product that a job of `leaf` holds.
struct BudgetUse {
  AccountId leaf;
  ProductId product;
  BudgetHold hold;
};

// A job begins or ends to hold GPUs at the time `at`, which may be before the last change. If an
// account on the path was moved after `at`, the time before the move goes to the books above its
// former place. O(depth x budgets x log jobs) for each call, and nothing if no account has budgets.
void take_from_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at);
void give_to_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at);
// The planned end of the job changes from use.hold.end_ms to `end_ms`.
void move_end_in_budgets(AccountTree& tree, const BudgetUse& use, TimeMs end_ms);
// GPU time of a job that another account or the platform pays: `milligpu` during `when`.
struct BudgetRefund {
  AccountId leaf;
  ProductId product;
  MilliGpu milligpu = 0;
  PeriodSpan when;
};
// Takes the refund out of the books that counted this time. If an account on the path was moved,
// the time before the move goes to the books above its former place. O(depth x budgets) for each
// move.
void refund_to_budgets(AccountTree& tree, const BudgetRefund& refund);

// Makes the books of an account agree with its spec. Call it after AccountTree::set(). The book of
// a budget stays if the budget still counts the same GPU time. A new book has this calendar, and
// fill(book) gives it the holds of the jobs that run at or below the account.
void set_books(AccountTree& tree, AccountId id, TimeMs now, const BudgetCalendarPtr& calendar,
               const std::function<void(BudgetBook&)>& fill);
// Sets the calendar of all books.
void set_calendar(AccountTree& tree, const BudgetCalendarPtr& calendar);

// True if the account or one above it has a hard budget. Jobs then end at their time limit.
bool has_hard_budget(const AccountTree& tree, AccountId leaf);
// Returns the planned end of a job of the account that has no time limit: the first
// BudgetBook::until_ms() of the hard budgets at and above the account. kEndless: there is none.
TimeMs budget_until(const AccountTree& tree, AccountId leaf);

// The present period of all budgets with these periods, and their BudgetBook::until_ms().
struct BudgetTurn {
  BudgetPeriod period;
  PeriodSpan span;
  TimeMs until_ms = 0;
};
// Returns when the next turn is due. kEndless: there is none. O(accounts with limits besides GPUs).
TimeMs next_budget_turn(const AccountTree& tree);
// Returns the first turn that is due at `now`. nullopt: none is due.
std::optional<BudgetTurn> due_budget_turn(const AccountTree& tree, TimeMs now);
// Returns when the next part of some budget is spent at the present rates
// (BudgetBook::next_percent_at()). kEndless: never. O(accounts with limits besides GPUs).
TimeMs next_budget_reach(const AccountTree& tree);
// Makes the turn in each book with these periods.
void make_turn(AccountTree& tree, const BudgetTurn& turn);

}  // namespace subak
