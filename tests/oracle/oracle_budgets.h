// The oracle's rules about budgets (tests/oracle/oracle.h). Each figure is a sum over all ledger
// rows and all slots that pods hold now. Threads: one at a time.
#pragma once

#include <string>

#include "accounting/budget/budget.h"
#include "engine/engine.h"
#include "tests/oracle/oracle.h"

namespace subak::sim {

class OracleBudgets {
 public:
  explicit OracleBudgets(const Oracle& oracle) : o_(oracle) {}

  // Takes a fact that edits budgets or begins a new period. Call it before the oracle itself takes
  // the fact.
  static void note(Oracle& oracle, const fact::Body& body);
  // True if the begin of a new period may cause this fact, whatever the input was.
  static bool is_of_turn(const fact::Body& body);
  // Marks the budgets that may be overdrawn (has_excuse()), for the rest of their life. Call it
  // after each input.
  static void note_excuses(Oracle& oracle);
  // True if the account or one above it has a hard budget.
  bool is_hard(AccountId leaf) const;
  // Returns the time for which a job without a time limit is planned. 0: none.
  DurationMs default_limit(const Oracle::Job& j) const;
  // Returns the planned end that hard budgets set for a job without a time limit. kEndless: none.
  TimeMs until(AccountId leaf) const;
  // Returns a text about the hard budget that does not allow the job to start with these GPUs;
  // empty: all budgets allow it.
  std::string stops(const Oracle::Job& j, const ProductAmounts& gpus) const;
  // Checks a job that was asked to end because a budget is spent.
  static void judge_stop(Oracle& oracle, const Oracle::Job& j);
  // Checks the refund for a pod that ends: if the pod has lost its work, the platform pays for the
  // last part of that work.
  static void judge_refund(Oracle& oracle, const Oracle::Job& j, const fact::PodGone& f);
  // Compares the figures of each budget with the engine's. Only a marked hard budget may be
  // overdrawn.
  static void compare(Oracle& oracle, const Engine& engine);

 private:
  using Book = Oracle::BudgetMemory;

  // Returns the GPU time that accounts at or below the account have paid for or still must pay for,
  // up to `t`, while they were there.
  GpuTime used(AccountId id, const std::string& product, TimeMs t) const;
  GpuTime held(AccountId id, const Book& book, const PeriodSpan& span) const;
  GpuTime spent(AccountId id, const Book& book) const;
  std::string product_of(NodeId node) const;
  bool counts(const Book& book, NodeId node) const;
  // True if jobs that Subak cannot end in time hold GPUs of the account.
  bool has_excuse(AccountId id) const;
  static void put_off(Oracle& oracle, const fact::ClusterSynced& f);
  static void set(Oracle& oracle, const fact::AccountSet& f);
  static void turn(Oracle& oracle, const fact::BudgetPeriodSet& f);
  static void set_calendar(Oracle& oracle, const fact::CivilEndsSet& f);
  static void reach(Oracle& oracle, const fact::BudgetReached& f);
  static void charge(Oracle& oracle, const LedgerRow& row);

  const Oracle& o_;
};

}  // namespace subak::sim
