// The oracle's view of budgets: sums over all ledger rows and all open slots. Threads: none.
#pragma once

#include <string>

#include "accounting/budget/budget.h"
#include "engine/engine.h"
#include "tests/oracle/oracle.h"

namespace subak::sim {

class OracleBudgets {
 public:
  explicit OracleBudgets(const Oracle& oracle) : o_(oracle) {}

  // Follows edits of budgets and turns of their periods. Call it before the oracle takes the fact.
  static void note(Oracle& oracle, const fact::Body& body);
  // True if the turn of a period may make this fact, before anything else happens.
  static bool is_of_turn(const fact::Body& body);
  // Call it after each input: excuses hold for the rest of the budget's life.
  static void note_excuses(Oracle& oracle);
  // True if the account or one above it has a hard budget.
  bool is_hard(AccountId leaf) const;
  // The planned end of a job without a time limit by hard budgets. kEndless: none.
  TimeMs until(AccountId leaf) const;
  // Returns the hard budget that stops the job from starting with these GPUs by product; "": none.
  std::string stops(const Oracle::Job& j, const ProductAmounts& gpus) const;
  // Checks a job that was asked to end because a budget is spent.
  static void judge_stop(Oracle& oracle, const Oracle::Job& j);
  // Checks the refund for a pod that ends: if the pod has lost its work, the platform pays for the
  // last part of that work.
  static void judge_refund(Oracle& oracle, const Oracle::Job& j, const fact::PodGone& f);
  // Compares the figures of each budget. A hard budget may be overdrawn only with an excuse.
  static void compare(Oracle& oracle, const Engine& engine);

 private:
  using Book = Oracle::BudgetMemory;

  // The GPU time for which the account has paid and pays, up to `t`.
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

  const Oracle& o_;
};

}  // namespace subak::sim
