#include "tests/oracle/oracle_budgets.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/oracle/oracle_meters.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {

void OracleBudgets::note(Oracle& oracle, const fact::Body& body) {
  if (const auto* const f = std::get_if<fact::AccountSet>(&body)) set(oracle, *f);
  if (const auto* const f = std::get_if<fact::BudgetPeriodSet>(&body)) turn(oracle, *f);
  if (const auto* const f = std::get_if<fact::CivilEndsSet>(&body)) set_calendar(oracle, *f);
  if (const auto* const f = std::get_if<fact::BudgetReached>(&body)) reach(oracle, *f);
  if (const auto* const f = std::get_if<fact::Charged>(&body)) charge(oracle, f->row);
  if (const auto* const f = std::get_if<fact::StopAsked>(&body))
    oracle.job(f->id)->last.late = false;
  if (const auto* const f = std::get_if<fact::DeadlinePassed>(&body)) {
    oracle.job(f->id)->last.late = true;
  }
  if (const auto* const f = std::get_if<fact::ClusterSynced>(&body)) put_off(oracle, *f);
  if (const auto* const f = std::get_if<fact::AccountDeleted>(&body)) {
    if (Oracle::Account* const a = oracle.account(f->id)) a->budgets.clear();
  }
  if (const auto* const f = std::get_if<fact::PolicySet>(&body)) {
    if (f->policy.time_limit_grace_ms == oracle.policy_.time_limit_grace_ms) return;
    for (Oracle::Account& a : oracle.accounts_) {
      for (Book& book : a.budgets) book.excused = true;
    }
  }
  if (const auto* const f = std::get_if<fact::NodeSet>(&body)) {
    const Oracle::Node* const node = oracle.node(f->id);
    if (node == nullptr || node->spec.product == f->spec.product) return;
    for (Oracle::Account& a : oracle.accounts_) {
      for (Book& book : a.budgets) book.relabelled = true;
    }
  }
}

// Deadlines stand still while the cluster's events are not known.
void OracleBudgets::put_off(Oracle& oracle, const fact::ClusterSynced& f) {
  for (Oracle::Cluster& cluster : oracle.clusters_) {
    if (cluster.id != f.id) continue;
    if (f.synced && cluster.since != 0) {
      for (Oracle::Job& job : oracle.jobs_) {
        if (job.id.cluster() == f.id && job.until != 0) job.until += oracle.now_ - cluster.since;
      }
    }
    cluster.since = f.synced ? 0 : f.since_ms;
  }
}

void OracleBudgets::set(Oracle& oracle, const fact::AccountSet& f) {
  Oracle::Account* const a = oracle.account(f.id);
  std::vector<Book> books;
  for (const Budget& budget : budgets_of(f.spec.budgets)) {
    Book book;
    book.budget = budget;
    book.calendar = oracle.calm_.calendar;
    book.since = oracle.now_;
    book.span = period_in(book.calendar.get(), budget.period, oracle.now_);
    book.until = book.span.to_ms;
    book.base =
        a != nullptr ? OracleBudgets(oracle).used(f.id, budget.product, oracle.now_) : GpuTime();
    for (const Book& old : a != nullptr ? a->budgets : std::vector<Book>()) {
      if (!old.budget.same_but_granted(budget)) continue;
      book = old;
      if (old.budget.granted != budget.granted) book.reached = 0;
      book.budget = budget;
    }
    books.push_back(std::move(book));
  }
  // A new account is not known yet.
  (a != nullptr ? a->budgets : oracle.calm_.fresh_budgets) = std::move(books);
}

void OracleBudgets::turn(Oracle& oracle, const fact::BudgetPeriodSet& f) {
  const BudgetPeriod period{f.kind, f.fixed_ms};
  const PeriodSpan span{f.from_ms, f.to_ms};
  if (oracle.now_ < span.from_ms || oracle.now_ >= span.to_ms)
    oracle.wrong("a period turns at another time");
  for (Oracle::Account& a : oracle.accounts_) {
    for (Book& book : a.budgets) {
      if (!(book.budget.period == period)) continue;
      if (book.span.to_ms <= span.from_ms) {
        book.base = OracleBudgets(oracle).used(a.id, book.budget.product, span.from_ms);
        book.span = span;
        book.reached = 0;
        book.until = std::max(book.until, span.to_ms);
      }
      if (book.span == span) book.until = f.until_ms;
    }
  }
}

// The present periods stay. Jobs may hold too much of later periods, whose ends have moved.
void OracleBudgets::set_calendar(Oracle& oracle, const fact::CivilEndsSet& f) {
  oracle.calm_.calendar =
      f.ends.zone.empty() ? nullptr : std::make_shared<const BudgetCalendar>(f.ends);
  for (Oracle::Account& a : oracle.accounts_) {
    for (Book& book : a.budgets) {
      book.calendar = oracle.calm_.calendar;
      book.excused = true;
    }
  }
}

void OracleBudgets::reach(Oracle& oracle, const fact::BudgetReached& f) {
  Oracle::Account* const a = oracle.account(f.account);
  if (a == nullptr || f.index >= a->budgets.size())
    return oracle.wrong("no budget has reached a part");
  Book& book = a->budgets[f.index];
  const bool relabelled = book.relabelled && !book.budget.product.empty();
  const GpuTime spent = OracleBudgets(oracle).spent(a->id, book);
  const bool is_spent = spent.raw() * 100 >= book.budget.granted.raw() * f.percent;
  if (f.percent <= book.reached || (!is_spent && !relabelled)) {
    oracle.wrong(a->spec.path + ": the budget " + f.budget + " has not just reached " +
                 std::to_string(f.percent) + "%");
  }
  book.reached = f.percent;
}

// Time before a budget began is not in its figures, so it cannot come back. `used` counted this time
// when the budget began, and after this row it does not.
void OracleBudgets::charge(Oracle& oracle, const LedgerRow& row) {
  const AccountId owner = row.corrects != 0 ? row.payer : row.holder;
  const bool comes_back = row.corrects != 0 ? row.milligpu < 0 : row.payer == kPlatform;
  if (!comes_back || owner == kUnassigned || owner == kPlatform) return;
  for (Oracle::Account& a : oracle.accounts_) {
    for (Book& book : a.budgets) {
      if (!book.budget.product.empty() && book.budget.product != row.product) continue;
      const TimeMs to = std::min(row.to_ms, book.since);
      if (row.from_ms >= to) continue;
      const DurationMs ms = OracleMeters::within(oracle, owner, a.id, row.from_ms, to);
      book.base -= GpuTime::of(std::abs(row.milligpu), ms);
    }
  }
}

std::string OracleBudgets::product_of(NodeId node) const {
  for (const Oracle::Node& n : o_.nodes_) {
    if (n.id == node) return n.spec.product;
  }
  return "";
}

bool OracleBudgets::counts(const Book& book, NodeId node) const {
  return book.budget.product.empty() || book.budget.product == product_of(node);
}

GpuTime OracleBudgets::used(AccountId id, const std::string& product, TimeMs t) const {
  GpuTime sum;
  for (const LedgerRow& row : o_.rows_) {
    const bool counts = product.empty() || product == row.product;
    if (!counts || row.payer == kPlatform || row.payer == kUnassigned) continue;
    sum +=
        GpuTime::of(row.milligpu, OracleMeters::within(o_, row.payer, id, row.from_ms, row.to_ms));
  }
  for (const Oracle::Slot& s : o_.slots_) {
    if (s.leaf == kUnassigned) continue;
    if (!product.empty() && product != product_of(s.at.node)) continue;
    sum += GpuTime::of(s.at.milligpu, OracleMeters::within(o_, s.leaf, id, s.charged_to, t));
  }
  return sum;
}

GpuTime OracleBudgets::spent(AccountId id, const Book& book) const {
  return used(id, book.budget.product, o_.now_) - book.base;
}

// The GPU time of running jobs in the period, from now on, until their planned ends.
GpuTime OracleBudgets::held(AccountId id, const Book& book, const PeriodSpan& span) const {
  GpuTime sum;
  for (const Oracle::Slot& s : o_.slots_) {
    if (s.leaf == kUnassigned || !o_.below(s.leaf, id) || !counts(book, s.at.node)) continue;
    for (const Oracle::Job& j : o_.jobs_) {
      if (j.id != s.job || !Oracle::holds(j) || o_.end_of(j) == kNeverEnds) continue;
      if (o_.end_of(j) <= span.from_ms) continue;
      const TimeMs from = std::max(o_.now_, span.from_ms);
      sum += GpuTime::of(s.at.milligpu, std::min(o_.end_of(j), span.to_ms) - from);
    }
  }
  return sum;
}

bool OracleBudgets::is_hard(AccountId leaf) const {
  for (const Oracle::Account* a = o_.account(leaf); a != nullptr; a = o_.account(a->parent)) {
    for (const Book& book : a->budgets) {
      if (!book.budget.soft) return true;
    }
  }
  return false;
}

DurationMs OracleBudgets::default_limit(const Oracle::Job& j) const {
  const Oracle::Account* a = j.leaf == kUnassigned ? nullptr : o_.account(j.leaf);
  for (; a != nullptr; a = o_.account(a->parent)) {
    if (a->spec.default_time_limit_ms != 0) return a->spec.default_time_limit_ms;
  }
  return o_.policy_.default_time_limit_ms;
}

TimeMs OracleBudgets::until(AccountId leaf) const {
  TimeMs until = kEndless;
  for (const Oracle::Account* a = o_.account(leaf); a != nullptr; a = o_.account(a->parent)) {
    for (const Book& book : a->budgets) {
      if (!book.budget.soft) until = std::min(until, book.until);
    }
  }
  return until;
}

std::string OracleBudgets::stops(const Oracle::Job& j, const ProductAmounts& gpus) const {
  Oracle::Job started = j;
  started.started = o_.now_;
  started.overruns = 0;
  const TimeMs end = o_.end_of(started);
  for (const Oracle::Account* a = o_.account(j.leaf); a != nullptr; a = o_.account(a->parent)) {
    for (const Book& book : a->budgets) {
      if (book.budget.soft) continue;
      MilliGpu amount = 0;
      for (const ProductAmount& gpu : gpus) {
        if (book.budget.product.empty() || book.budget.product == gpu.product)
          amount += gpu.milligpu;
      }
      if (amount == 0) continue;
      if (end == kNeverEnds) return "a budget without an end";
      PeriodSpan span = book.span;
      for (; span.from_ms < end; span = book.after(span)) {
        const TimeMs from = std::max(o_.now_, span.from_ms);
        const GpuTime need = GpuTime::of(amount, std::min(end, span.to_ms) - from);
        GpuTime left = book.budget.granted - held(a->id, book, span);
        if (span == book.span) left -= spent(a->id, book);
        if (need > left) return "the budget " + budgets_text({book.budget});
        if (span.to_ms == kEndless) break;
      }
    }
  }
  return "";
}

void OracleBudgets::judge_stop(Oracle& oracle, const Oracle::Job& j) {
  if (j.limit != 0 || !Oracle::is_ours(j))
    oracle.wrong(name(j.id) + " is ended by a budget, not its limit");
  if (!OracleBudgets(oracle).is_hard(j.leaf))
    oracle.wrong(name(j.id) + " is ended by a budget that it does not have");
}

bool OracleBudgets::has_excuse(AccountId id) const {
  // Pods that were bound without Subak, or elsewhere than it said.
  for (const Oracle::Slot& s : o_.slots_) {
    if (!s.ours && s.leaf != kUnassigned && o_.below(s.leaf, id)) return true;
  }
  return std::any_of(o_.jobs_.begin(), o_.jobs_.end(), [&](const Oracle::Job& j) {
    if (j.leaf == kUnassigned || !o_.below(j.leaf, id) || !Oracle::holds(j)) return false;
    return !Oracle::is_ours(j) || j.overruns > 0 || !o_.is_synced(j.id.cluster()) ||
           j.state == JobState::kEnding || o_.end_of(j) <= o_.now_;
  });
}

bool OracleBudgets::is_of_turn(const fact::Body& body) {
  const auto* const stop = std::get_if<fact::StopAsked>(&body);
  return std::holds_alternative<fact::BudgetPeriodSet>(body) ||
         std::holds_alternative<fact::BudgetReached>(body) ||
         (stop != nullptr && stop->cause == Cause::kBudget);
}

void OracleBudgets::note_excuses(Oracle& oracle) {
  const OracleBudgets mine(oracle);
  for (Oracle::Account& a : oracle.accounts_) {
    for (Book& book : a.budgets) book.excused = book.excused || mine.has_excuse(a.id);
  }
}

void OracleBudgets::compare(Oracle& oracle, const Engine& engine) {
  const OracleBudgets mine(oracle);
  for (Oracle::Account& a : oracle.accounts_) {
    if (!a.live) continue;
    const std::vector<BudgetBook>& books = engine.accounts().node(a.id).jobs.budgets;
    if (books.size() != a.budgets.size()) return oracle.wrong(a.spec.path + " has other budgets");
    for (std::size_t i = 0; i < books.size(); ++i) {
      Book& book = a.budgets[i];
      const std::string what = a.spec.path + ": the budget " + budgets_text({book.budget});
      if (!(books[i].budget() == book.budget)) return oracle.wrong(what + " is another");
      if (!(books[i].span() == book.span) || books[i].until_ms() != book.until) {
        oracle.wrong(what + " has another period");
      }
      if (books[i].reached() != book.reached) oracle.wrong(what + " has reached another part");
      if (book.relabelled && !book.budget.product.empty()) continue;
      const BudgetFigures figures = books[i].at(oracle.now_);
      if (figures.spent != mine.spent(a.id, book)) oracle.wrong(what + " has spent another amount");
      if (figures.held != mine.held(a.id, book, book.span))
        oracle.wrong(what + " holds " + gpu_hours_text(figures.held) + ", not " +
                     gpu_hours_text(mine.held(a.id, book, book.span)));
      if (figures.spent + figures.held + figures.left() != figures.granted) {
        oracle.wrong(what + " does not add up");
      }
      if (!book.budget.soft && figures.left() < GpuTime() && !book.excused) {
        oracle.wrong(what + " is overdrawn by " + gpu_hours_text(figures.left()) + ": spent " +
                     gpu_hours_text(figures.spent) + ", held " + gpu_hours_text(figures.held));
      }
    }
  }
}

// The platform pays for the last work of a pod that is preempted or loses a node, up to the policy's
// maximum, within the rows of the present input. For any other pod it pays nothing back.
void OracleBudgets::judge_refund(Oracle& oracle, const Oracle::Job& j, const fact::PodGone& f) {
  const bool lost = f.cause != Cause::kFinished &&
                    (f.cause == Cause::kNodeLost || j.stop == Cause::kPreempted ||
                     (j.stop == Cause::kMemberLost && j.last.ill == Cause::kNodeLost));
  const AllocationId of{f.job, f.rank, j.attempt};
  TimeMs to = 0;
  for (std::size_t i = oracle.calm_.rows_before; i < oracle.rows_.size(); ++i) {
    const LedgerRow& r = oracle.rows_[i];
    if (r.allocation == of && r.corrects == 0 && r.state == UsageState::kUsed)
      to = std::max(to, r.to_ms);
  }
  DurationMs due = 0, paid = 0, moved = 0;
  for (std::size_t i = oracle.calm_.rows_before; i < oracle.rows_.size(); ++i) {
    const LedgerRow& r = oracle.rows_[i];
    if (!(r.allocation == of)) continue;
    const DurationMs ms = r.to_ms - r.from_ms;
    if (r.corrects != 0) (r.milligpu < 0 ? paid : moved) += ms;
    if (r.corrects != 0 && r.milligpu > 0 && r.payer != kPlatform)
      oracle.wrong(name(f.job, f.rank) + " is refunded by an account");
    if (r.corrects != 0 || r.state != UsageState::kUsed || r.payer == kPlatform) continue;
    const TimeMs from = std::max(r.from_ms, to - oracle.policy_.books.refund_lost_work_ms);
    if (lost) due += std::max<DurationMs>(0, r.to_ms - from);
  }
  if (paid != moved || paid != due)
    oracle.wrong(name(f.job, f.rank) + " is refunded " + std::to_string(paid) + " ms, not " +
                 std::to_string(due));
}

}  // namespace subak::sim
