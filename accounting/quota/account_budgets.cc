#include "accounting/quota/account_budgets.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/account_limits.h"
#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace {

// Calls fn(book) for each book from the account to the root that counts the product.
template <class F>
void each_book(AccountTree& tree, AccountId leaf, ProductId product, F&& fn) {
  if (tree.quota_sums().extra_limits().empty()) return;
  for (AccountId id = leaf; id; id = tree.node(id).parent) {
    if (tree.node(id).jobs.budgets.empty()) continue;
    for (BudgetBook& book : tree.budgets(id)) {
      if (book.counts(product)) fn(book);
    }
  }
}

// Calls fn(book) for each book of the tree.
template <class F>
void each_book(const AccountTree& tree, F&& fn) {
  for (const AccountId id : tree.quota_sums().extra_limits()) {
    for (const BudgetBook& book : tree.node(id).jobs.budgets) fn(book);
  }
}

// Calls fn(account, part) for each account that was at or above the leaf in a part of `when`.
// `levels` is the most accounts of a path. It ends the search if an account was moved more often
// than the tree remembers, so that the remembered moves are of no tree that ever was.
template <class F>
void each_account_at(const AccountTree& tree, AccountId leaf, PeriodSpan when, F&& fn,
                     std::uint32_t levels = limits::kMaxAccountDepth + 1) {
  for (AccountId id = leaf; id && when.from_ms < when.to_ms && levels > 0;
       id = tree.node(id).parent) {
    fn(id, when);
    --levels;
    TimeMs since = when.from_ms;
    for (const PastMove& move : tree.node(id).jobs.moves) {
      const TimeMs to_ms = std::min(move.at_ms, when.to_ms);
      if (to_ms <= since) continue;
      each_account_at(tree, move.from, {since, to_ms}, fn, levels);
      since = to_ms;
    }
    when.from_ms = since;
  }
}

// A job of the account begins or ends to hold GPUs at `at` (`sign` 1 or -1). Returns `at`, or the
// account's last move if that is later. The books above former places then count the time before.
TimeMs after_moves(AccountTree& tree, AccountId id, const BudgetUse& use, TimeMs at, int sign) {
  const std::vector<PastMove>& moves = tree.node(id).jobs.moves;
  if (moves.empty() || moves.back().at_ms <= at) return at;
  TimeMs since = at;
  for (const PastMove& move : moves) {
    if (move.at_ms <= since) continue;
    each_account_at(tree, move.from, {since, move.at_ms}, [&](AccountId of, const PeriodSpan& on) {
      for (BudgetBook& book : tree.budgets(of)) {
        if (book.counts(use.product)) book.spend(sign * use.hold.amount, on.to_ms - on.from_ms);
      }
    });
    since = move.at_ms;
  }
  return since;
}

TimeMs turn_ms(const BudgetBook& book) {
  if (book.span().to_ms >= kEndless) return kEndless;
  const bool is_last_part = book.until_ms() > book.span().to_ms;
  return is_last_part ? book.span().to_ms : book.span().to_ms - limits::kEndingMs;
}

}  // namespace

void take_from_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at) {
  if (tree.quota_sums().extra_limits().empty()) return;
  TimeMs from = at;
  for (AccountId id = use.leaf; id; id = tree.node(id).parent) {
    for (BudgetBook& book : tree.budgets(id)) {
      if (book.counts(use.product)) book.take(use.hold, from);
    }
    from = after_moves(tree, id, use, from, 1);
  }
}

void give_to_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at) {
  if (tree.quota_sums().extra_limits().empty()) return;
  TimeMs to = at;
  for (AccountId id = use.leaf; id; id = tree.node(id).parent) {
    for (BudgetBook& book : tree.budgets(id)) {
      if (book.counts(use.product)) book.give(use.hold, to);
    }
    to = after_moves(tree, id, use, to, -1);
  }
}

void move_end_in_budgets(AccountTree& tree, const BudgetUse& use, TimeMs end_ms) {
  each_book(tree, use.leaf, use.product, [&](BudgetBook& b) { b.move_end(use.hold, end_ms); });
}

void refund_to_budgets(AccountTree& tree, const BudgetRefund& refund) {
  if (tree.quota_sums().extra_limits().empty()) return;
  each_account_at(tree, refund.leaf, refund.when, [&](AccountId id, const PeriodSpan& when) {
    for (BudgetBook& book : tree.budgets(id)) {
      if (book.counts(refund.product)) book.refund(refund.milligpu, when);
    }
  });
}

void set_calendar(AccountTree& tree, const BudgetCalendarPtr& calendar) {
  for (const AccountId id : tree.quota_sums().extra_limits()) {
    for (BudgetBook& book : tree.budgets(id)) book.set_calendar(calendar);
  }
}

void set_books(AccountTree& tree, AccountId id, TimeMs now, const BudgetCalendarPtr& calendar,
               const std::function<void(BudgetBook&)>& fill) {
  const auto extra = tree.node(id).limits.extra;
  std::vector<BudgetBook>& books = tree.budgets(id);
  std::vector<BudgetBook> before = std::exchange(books, {});
  if (extra == nullptr) return;
  for (const ExtraLimits::OfProduct& of : extra->budgets) {
    const auto old = std::find_if(before.begin(), before.end(), [&](const BudgetBook& book) {
      return book.budget().same_but_granted(of.budget);
    });
    if (old != before.end()) {
      books.push_back(std::move(*old));
      books.back().grant(of.budget.granted);
      continue;
    }
    books.emplace_back(of.budget, of.product, now, calendar);
    fill(books.back());
  }
  must(books.size() == extra->budgets.size(), "each budget has a book");
}

bool has_hard_budget(const AccountTree& tree, AccountId leaf) {
  if (tree.quota_sums().extra_limits().empty()) return false;
  for (AccountId id = leaf; id; id = tree.node(id).parent) {
    const auto& books = tree.node(id).jobs.budgets;
    // Hard budgets come first.
    if (!books.empty() && !books.front().budget().soft) return true;
  }
  return false;
}

TimeMs budget_until(const AccountTree& tree, AccountId leaf) {
  TimeMs until = kEndless;
  if (tree.quota_sums().extra_limits().empty()) return until;
  for (AccountId id = leaf; id; id = tree.node(id).parent) {
    for (const BudgetBook& book : tree.node(id).jobs.budgets) {
      if (!book.budget().soft) until = std::min(until, book.until_ms());
    }
  }
  return until;
}

TimeMs next_budget_turn(const AccountTree& tree) {
  TimeMs next = kEndless;
  each_book(tree, [&](const BudgetBook& book) { next = std::min(next, turn_ms(book)); });
  return next;
}

TimeMs next_budget_reach(const AccountTree& tree) {
  TimeMs next = kEndless;
  each_book(tree, [&](const BudgetBook& book) { next = std::min(next, book.next_percent_at()); });
  return next;
}

std::optional<BudgetTurn> due_budget_turn(const AccountTree& tree, TimeMs now) {
  const BudgetBook* first = nullptr;
  each_book(tree, [&](const BudgetBook& book) {
    if (first == nullptr || turn_ms(book) < turn_ms(*first)) first = &book;
  });
  if (first == nullptr || turn_ms(*first) > now || turn_ms(*first) >= kEndless) return std::nullopt;
  const BudgetPeriod period = first->budget().period;
  if (now < first->span().to_ms) {
    return BudgetTurn{period, first->span(), first->after(first->span()).to_ms};
  }
  const PeriodSpan span = first->turned(now);
  return BudgetTurn{period, span, span.to_ms};
}

void make_turn(AccountTree& tree, const BudgetTurn& turn) {
  for (const AccountId id : tree.quota_sums().extra_limits()) {
    for (BudgetBook& book : tree.budgets(id)) {
      if (!(book.budget().period == turn.period)) continue;
      if (book.span().to_ms <= turn.span.from_ms) book.roll(turn.span);
      if (book.span() == turn.span) book.set_until(turn.until_ms);
    }
  }
}

}  // namespace subak
