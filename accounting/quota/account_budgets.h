// The budgets of a whole account tree. A budget is GPU time that an account may spend in each
// period; its book counts what is spent (budget_book.h). Each start and end of a job changes the
// books of all accounts from the job's account to the root.
//
// A period that ends has two *turns*. The first is limits::kEndingMs before its end: from then on,
// running jobs without a time limit hold GPU time of the next period too. At the second turn, the
// next period begins. Each turn is a fact, so each replica makes it at the same point of the log.
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

// take_from_budgets() counts that a job begins to hold GPUs at the time `at`, and give_to_budgets()
// that it stops. `at` may be before the last change. If an account on the path was moved after
// `at`, the books above its former parent count the time before the move. O(depth x budgets x log
// jobs) for each call, and nothing if no account has budgets.
void take_from_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at);
void give_to_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at);
// Changes the planned end of the job from use.hold.end_ms to `end_ms`.
void move_end_in_budgets(AccountTree& tree, const BudgetUse& use, TimeMs end_ms);
// GPU time of a job that another account or the platform pays: `milligpu` during `when`.
struct BudgetRefund {
  AccountId leaf;
  ProductId product;
  MilliGpu milligpu = 0;
  PeriodSpan when;
};
// Subtracts the refund from the books that counted this time. If an account on the path was moved,
// these are the books above its former parent for the time before the move. O(depth x budgets) for
// each move.
void refund_to_budgets(AccountTree& tree, const BudgetRefund& refund);

// Makes the books of an account agree with its spec. Call it after AccountTree::set(). If a budget
// still counts the same GPU time, its book stays and gets the new granted amount. A new book gets
// this calendar, and fill(book) adds the holds of the jobs that run at or below the account.
void set_books(AccountTree& tree, AccountId id, TimeMs now, const BudgetCalendarPtr& calendar,
               const std::function<void(BudgetBook&)>& fill);
// Sets the calendar of all books.
void set_calendar(AccountTree& tree, const BudgetCalendarPtr& calendar);

// True if the account or one above it has a hard budget. Jobs then end at their time limit.
bool has_hard_budget(const AccountTree& tree, AccountId leaf);
// Returns the planned end of a job of the account that has no time limit: the first
// BudgetBook::until_ms() of the hard budgets at and above the account. kEndless: there is none.
TimeMs budget_until(const AccountTree& tree, AccountId leaf);

// One turn. It sets the present period of all budgets of this kind of period, and their
// BudgetBook::until_ms().
struct BudgetTurn {
  BudgetPeriod period;
  PeriodSpan span;
  TimeMs until_ms = 0;
};
// Returns when the next turn is due. kEndless: there is none. O(accounts with limits besides GPUs).
TimeMs next_budget_turn(const AccountTree& tree);
// Returns the first turn that is due at `now`. nullopt: none is due.
std::optional<BudgetTurn> due_budget_turn(const AccountTree& tree, TimeMs now);
// Returns when the first budget has spent its next 80 or 100 percent at the present rates
// (BudgetBook::next_percent_at()). kEndless: never. O(accounts with limits besides GPUs).
TimeMs next_budget_reach(const AccountTree& tree);
// Makes the turn in each book whose budget has the period `turn.period`.
void make_turn(AccountTree& tree, const BudgetTurn& turn);

}  // namespace subak
