#include "accounting/quota/account_budgets.h"

#include <algorithm>
#include <utility>
#include <vector>

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

TimeMs turn_ms(const BudgetBook& book) {
  if (book.span().to_ms >= kEndless) return kEndless;
  const bool is_last_part = book.until_ms() > book.span().to_ms;
  return is_last_part ? book.span().to_ms : book.span().to_ms - limits::kEndingMs;
}

}  // namespace

void take_from_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at) {
  each_book(tree, use.leaf, use.product, [&](BudgetBook& book) { book.take(use.hold, at); });
}

void give_to_budgets(AccountTree& tree, const BudgetUse& use, TimeMs at) {
  each_book(tree, use.leaf, use.product, [&](BudgetBook& book) { book.give(use.hold, at); });
}

void move_end_in_budgets(AccountTree& tree, const BudgetUse& use, TimeMs end_ms) {
  each_book(tree, use.leaf, use.product, [&](BudgetBook& b) { b.move_end(use.hold, end_ms); });
}

void refund_to_budgets(AccountTree& tree, BudgetRefund refund) {
  if (tree.quota_sums().extra_limits().empty()) return;
  for (AccountId id = refund.leaf; id; id = tree.node(id).parent) {
    for (BudgetBook& book : tree.budgets(id)) {
      if (book.counts(refund.product)) book.refund(refund.milligpu, refund.when);
    }
    const LastMove& moved = tree.node(id).jobs.moved;
    if (moved.at_ms <= refund.when.from_ms) continue;
    BudgetRefund before = refund;
    before.leaf = moved.from;
    before.when.to_ms = std::min(refund.when.to_ms, moved.at_ms);
    refund_to_budgets(tree, before);
    if (refund.when.to_ms <= moved.at_ms) return;
    refund.when.from_ms = moved.at_ms;
  }
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
