// Turns of the budgets' periods, and the jobs that must end by them (docs/design/0101).
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "accounting/quota/account_budgets.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/account_edit.h"
#include "engine/decide/decide.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/derive/reasons.h"
#include "engine/state/planned_end.h"

namespace subak::decide {
namespace {

// True if the holds of running jobs are more than the budget has left in some period. Looks at the
// present period only if `present` is true.
bool is_overdrawn(const BudgetBook& book, bool present, TimeMs now) {
  if (present && book.at(now).left() < GpuTime()) return true;
  PeriodSpan span = book.span();
  for (int i = 0; i < limits::kMaxBudgetPeriods; ++i) {
    if (book.ends().empty() || book.ends().rbegin()->first <= span.to_ms) return false;
    span = book.after(span);
    if (book.held_in(span) > book.budget().granted) return true;
  }
  return false;
}

// Calls fn(node, book) for each hard budget from the account to the root, until fn returns true.
// Returns true if fn did.
template <class F>
bool any_hard_book(const AccountTree& tree, AccountId leaf, F&& fn) {
  for (AccountId id = leaf; id; id = tree.node(id).parent) {
    for (const BudgetBook& book : tree.node(id).jobs.budgets) {
      if (!book.budget().soft && fn(tree.node(id), book)) return true;
    }
  }
  return false;
}

// Returns the milli-GPU of the job that the budget counts.
MilliGpu counted_milligpu(const State& s, const state::Job& job, const BudgetBook& book) {
  MilliGpu amount = 0;
  for (const state::Pod& pod : job.pods) {
    const bool counts = pod.holds_slot() && book.counts(s.fleet().product_of(pod.slot.node));
    if (counts) amount += pod.slot.milligpu;
  }
  return amount;
}

// The jobs without a time limit that hold GPUs of the budget, those that started last first. At the
// turn of a period, jobs with a default time limit are left out: their planned ends do not move.
std::vector<JobId> endable(const State& s, AccountId account, const BudgetBook& book,
                           bool is_turn) {
  std::vector<std::pair<TimeMs, JobId>> found;
  derive::each_holder(s, [&](const state::Job& job) {
    if (job.time_limit_ms != 0 || !job.is_ours() || job.state == JobState::kEnding) return;
    if (job.leaf == kUnassigned || !is_below(s.tree(), job.leaf, account)) return;
    if (is_turn && state::default_limit(s, job.leaf) != 0) return;
    if (counted_milligpu(s, job, book) > 0) found.emplace_back(job.run().started_ms, job.id);
  });
  std::sort(found.rbegin(), found.rend());
  std::vector<JobId> out;
  for (const auto& [started_ms, id] : found) out.push_back(id);
  return out;
}

// What end_beyond_budgets() is called for.
struct Occasion {
  bool is_turn = false;
  // Budgets with these periods are almost at the end of their present period: only their later
  // periods count. nullptr: there are none.
  const BudgetPeriod* turning = nullptr;
};

// Asks jobs without a time limit to end until no hard budget is overdrawn.
void end_beyond_budgets(Decision& d, const Occasion& occasion) {
  for (const AccountId id : std::set(d.s.tree().quota_sums().extra_limits())) {
    const auto& books = d.s.tree().node(id).jobs.budgets;
    for (std::size_t i = 0; i < books.size(); ++i) {
      const Budget& budget = books[i].budget();
      const bool present = occasion.turning == nullptr || !(budget.period == *occasion.turning);
      if (budget.soft || !is_overdrawn(books[i], present, d.s.now())) continue;
      for (const JobId job : endable(d.s, id, books[i], occasion.is_turn)) {
        ask_stop(d, d.s.jobs().at(job), Cause::kBudget, {}, d.s.now() + limits::kEndingMs);
        if (!is_overdrawn(books[i], present, d.s.now())) break;
      }
    }
  }
}

Error too_small(const Budget& budget, const std::string& why) {
  return {ErrorCode::kPrecondition, "budgets", budgets_text({budget}), why};
}

TimeMs end_by_limit(const State& s, const state::Job& job) {
  return state::limit_end(s, job, job.run().started_ms) + limits::kEndingMs;
}

// Returns the default time limit that a job of `leaf` has if the account moves below `parent`.
DurationMs default_limit_below(const State& s, AccountId leaf, AccountId account,
                               AccountId parent) {
  for (AccountId id = leaf; id; id = id == account ? parent : s.tree().node(id).parent) {
    const DurationMs own = s.tree().node(id).spec.default_time_limit_ms;
    if (own != 0) return own;
  }
  return s.policy().default_time_limit_ms;
}

// Gives a book the running jobs of the account, as if the account were below `parent`. Returns a
// job that has no planned end.
JobId take_running_jobs(const State& s, AccountId account, AccountId parent, BudgetBook& book) {
  JobId endless;
  derive::each_holder(s, [&](const state::Job& job) {
    if (job.leaf == kUnassigned || !is_below(s.tree(), job.leaf, account)) return;
    TimeMs end_ms = job.run().end_ms;
    if (job.is_ours() && job.time_limit_ms == 0 && job.state != JobState::kEnding) {
      const DurationMs limit = default_limit_below(s, job.leaf, account, parent);
      end_ms = limit == 0 ? book.until_ms() : state::end_by_default(job, limit);
    }
    if (job.is_ours() && job.time_limit_ms != 0) end_ms = std::max(end_ms, end_by_limit(s, job));
    const MilliGpu amount = counted_milligpu(s, job, book);
    if (amount == 0) return;
    book.take({amount, std::max(end_ms, s.now())}, s.now());  // an end may be due
    if (end_ms >= kEndless) endless = job.id;
  });
  return endless;
}

// Returns the book that the account has for the budget. nullptr: the budget is new.
const BudgetBook* book_of(const AccountNode& node, const Budget& budget) {
  for (const BudgetBook& book : node.jobs.budgets) {
    if (book.budget().same_but_granted(budget)) return &book;
  }
  return nullptr;
}

std::optional<Error> check_budget(const State& s, AccountId account, const Budget& budget) {
  const BudgetBook* const known = book_of(s.tree().node(account), budget);
  if (known != nullptr && budget.granted >= known->budget().granted) return std::nullopt;
  const ProductId product = s.fleet().products().find(budget.product);
  BudgetBook book =
      known != nullptr ? *known : BudgetBook(budget, product, s.now(), s.allocations().calendar());
  book.grant(budget.granted);
  if (known == nullptr) {
    const bool is_unknown = !budget.product.empty() && !product;
    if (is_unknown || s.tree().node(account).alloc() == 0) return std::nullopt;
    if (const JobId endless = take_running_jobs(s, account, s.tree().node(account).parent, book)) {
      return too_small(budget, "its job " + text::job_id_text(endless) +
                                   " has no time limit, and so the budget could not cover it");
    }
  }
  if (!is_overdrawn(book, true, s.now())) return std::nullopt;
  const BudgetFigures now = book.at(s.now());
  return too_small(budget, "want at least the " + gpu_hours_text(now.spent) +
                               " that are spent and " + gpu_hours_text(now.held) +
                               " that running jobs may still spend in each period");
}

}  // namespace

std::optional<Error> check_budgets(const State& s, const AccountSpec& spec) {
  if (spec.budgets.empty()) return std::nullopt;  // a budget may always go
  const AccountId id = s.tree().find(spec.path);
  if (!id || spec.budgets == s.tree().node(id).spec.budgets) return std::nullopt;
  for (const Budget& budget : budgets_of(spec.budgets)) {
    if (budget.soft) continue;
    if (auto error = check_budget(s, id, budget)) return error;
  }
  return std::nullopt;
}

std::optional<Error> check_budgets_of_move(const State& s, AccountId id, AccountId parent,
                                           const std::string& to) {
  const AccountId from = s.tree().node(id).parent;
  for (AccountId up = parent; !is_below(s.tree(), from, up); up = s.tree().node(up).parent) {
    const AccountNode& node = s.tree().node(up);
    for (const BudgetBook& known : node.jobs.budgets) {
      if (known.budget().soft) continue;
      BudgetBook book = known;
      const std::string whose = "account " + derive::shown_path(node) + " has " +
                                gpu_hours_text(std::max(GpuTime(), known.at(s.now()).left())) +
                                " left of its budget " + budgets_text({known.budget()});
      if (const JobId endless = take_running_jobs(s, id, parent, book)) {
        return Error{ErrorCode::kPrecondition, "to", to,
                     whose + ", and the running job " + text::job_id_text(endless) +
                         " has no time limit; wait for its end"};
      }
      if (book.rate() == known.rate() || !is_overdrawn(book, true, s.now())) continue;
      const GpuTime more = book.at(s.now()).held - known.at(s.now()).held;
      return Error{ErrorCode::kPrecondition, "to", to,
                   whose + ", and the running jobs of the account may still spend " +
                       gpu_hours_text(more) + " in this period; raise the budget first"};
    }
  }
  return std::nullopt;
}

bool budgets_allow_longer(const State& s, const state::Job& job, std::uint32_t overruns) {
  if (overruns >= limits::kMaxOverruns) return false;
  const TimeMs end_ms = state::planned_end(s, job, job.run().started_ms, overruns);
  const PeriodSpan when{std::max(s.now(), job.run().end_ms), std::min(end_ms, kEndless)};
  return !any_hard_book(s.tree(), job.leaf, [&](const AccountNode&, const BudgetBook& book) {
    return book.lack(counted_milligpu(s, job, book), when, s.now()).has_value();
  });
}

void warn_of_budgets(Decision& d, AccountId account) {
  any_hard_book(d.s.tree(), account, [&](const AccountNode& node, const BudgetBook& book) {
    const BudgetFigures now = book.at(d.s.now());
    if (now.left().raw() * 10 >= now.granted.raw()) return false;
    const TimeMs to_ms = book.span().to_ms;
    d.out.reply.warnings.push_back("BudgetSpent: account " + derive::shown_path(node) + " has " +
                                   gpu_hours_text(std::max(GpuTime(), now.left())) +
                                   " left of its budget " + budgets_text({book.budget()}) +
                                   (to_ms < kEndless ? " until " + format_time(to_ms) : ""));
    return false;
  });
}

void keep_within_budgets(Decision& d) {
  std::vector<JobId> endless;
  derive::each_holder(d.s, [&](const state::Job& job) {
    const bool ends = job.run().end_ms < kEndless || job.state == JobState::kEnding;
    if (!ends && state::ends_by_budget(d.s, job)) endless.push_back(job.id);
  });
  std::sort(endless.begin(), endless.end());
  for (const JobId job : endless) {
    ask_stop(d, d.s.jobs().at(job), Cause::kBudget, {}, d.s.now() + limits::kEndingMs);
  }
  end_beyond_budgets(d, {});
}

void budgets_changed(Decision& d) {
  // If all jobs have a default time limit, no planned end depends on a period.
  if (d.s.policy().default_time_limit_ms == 0) keep_within_budgets(d);
}

void turn_budgets(Decision& d) {
  if (d.s.now() < d.s.leap().until_ms()) return;  // the clock may be wrong
  while (d.s.allocations().budget_turn_ms() <= d.s.now()) {
    const auto turn = due_budget_turn(d.s.tree(), d.s.now());
    if (!turn) return;  // at the end of all time
    d.emit(fact::BudgetPeriodSet{turn->period.kind,
                                 turn->period.fixed_ms,
                                 turn->span.from_ms,
                                 turn->span.to_ms,
                                 turn->until_ms,
                                 AccountId(),
                                 0,
                                 {}});
    const bool is_begin = turn->until_ms == turn->span.to_ms;
    // With a default time limit, no planned end moves at a turn.
    if (d.s.policy().default_time_limit_ms != 0) continue;
    end_beyond_budgets(d, {true, is_begin ? nullptr : &turn->period});
  }
}

void note_reached(Decision& d) {
  const bool same_minute = d.before_ms / kMinuteMs == d.s.now() / kMinuteMs;
  if (same_minute || d.s.now() < d.s.leap().until_ms()) return;
  if (d.s.allocations().budget_reach_ms() > d.s.now()) return;
  for (const AccountId id : std::set(d.s.tree().quota_sums().extra_limits())) {
    const AccountNode& node = d.s.tree().node(id);
    for (std::uint32_t i = 0; i < node.jobs.budgets.size(); ++i) {
      const BudgetBook& book = node.jobs.budgets[i];
      const std::uint32_t percent = book.spent_percent(d.s.now());
      if (percent <= book.reached()) continue;
      d.emit(fact::BudgetReached{id, i, percent, node.spec.path, budgets_text({book.budget()})});
    }
  }
}

void decide(Decision& d, const in::TellCivilEnds& i) {
  if (auto error = check_civil_ends(i.ends)) return d.refuse(*error, "budget zone");
  const BudgetCalendarPtr& known = d.s.allocations().calendar();
  if (!is_news(known != nullptr ? known->ends() : CivilEnds(), i.ends, d.s.now())) return;
  d.emit(fact::CivilEndsSet{i.ends});
  // The ends of later periods may have moved.
  keep_within_budgets(d);
}

}  // namespace subak::decide
