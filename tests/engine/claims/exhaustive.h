// A naive search for claims: it tries every set of jobs that may give, and every assignment of the
// claimant's pods to nodes. Its sums of quotas are its own. Only whole GPUs, without topology,
// reservations or `lend`.
// Threads: none.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/claims/driver.h"
#include "tests/engine/claims/random_world.h"

namespace subak::claim_model {

// By product: 0 stands for any, or for all together.
using Gpus = std::array<int, 3>;

// What the naive search says about one claimant.
enum class Place {
  kNone,
  // It fits on what is free.
  kFree,
  // It fits on what is free as soon as victims of other claims have ended: a limit stops it.
  kSoon,
  // It fits if jobs end: those that end anyway, or those that may give.
  kTaken,
  // Too many jobs may give for a search of all sets.
  kTooLarge,
};

// Whether a job may give that was preempted and has started again since: its claimant still waits,
// or there was no outside event yet.
enum class Again { kNot, kToo };

class Exhaustive {
 public:
  // Reads the specs of accounts and nodes from the engine, and all else from the books.
  Exhaustive(const Engine& engine, const Books& books, Again again);

  Place find(const Job& claimant) const;
  // The longest minimum run that a job has left that might give something.
  DurationMs longest_run_left(TimeMs now) const;

 private:
  struct Account {
    AccountId parent;
    std::vector<AccountId> children;
    bool has_own_quota = false;
    Gpus own_quota{}, quota{};  // `quota`: its own, else the sum of its children's
    std::optional<int> limit;
    Gpus limit_of{};               // by product; -1: none
    Gpus held{};                   // with claims, victims, and jobs that end
    int fixed = 0, own_fixed = 0;  // held by jobs that cannot be preempted
    Gpus left{};                   // with claims, without victims and without jobs that end
    bool any_quota() const { return quota[0] + quota[1] + quota[2] > 0; }
  };
  struct Node {
    int product = 0;
    int gpus = 0;
    bool usable = true;
    std::uint64_t held = 0, claimed = 0;
  };
  // The question of one claimant on one product.
  struct Question {
    const Job& claimant;
    int product = 0;
    AccountId reach;
    std::vector<const Job*> givers;
  };
  // By account.
  using Levels = std::map<AccountId, Gpus>;

  void read_accounts(const Engine& engine);
  void read_nodes(const Engine& engine);
  void read_jobs();
  Gpus gpus_of(const Job& job) const;
  Gpus gpus_of(const std::vector<PodSlot>& slots) const;
  void add(AccountId leaf, const Gpus& gpus, Gpus Account::*sum);
  Gpus quota_of(AccountId id);

  bool is_below(AccountId id, AccountId above) const;
  // The part of these GPUs that the account's quota does not cover.
  static int uncovered(const Account& account, const Gpus& held);
  static Gpus plus(Gpus held, int product, int gpus);
  // True if quotas cover the demand at each account below `top`.
  bool is_covered_below(AccountId top, AccountId leaf, int product, int gpus) const;
  AccountId reach_of(AccountId leaf, int product, int gpus) const;
  // What the account holds beyond quota, and nullopt if it has no quota. `gone`: less of this.
  std::optional<int> excess(AccountId id, const Gpus& left, int product) const;
  // What the account needs so that its quota can be met although some jobs cannot be preempted.
  // `more`: with that much more for a job of `leaf` that cannot be preempted.
  int need(AccountId id, AccountId leaf, int more) const;
  int needs_below(AccountId id, AccountId leaf, int more) const;
  bool breaks_promise(const Question& q) const;
  // True if the job may be the next that gives, after the jobs of `mask`.
  bool may_give(const Question& q, std::size_t mask, std::size_t next) const;
  bool is_possible_giver(const Question& q, const Job& job) const;
  // True if no rule forbids it and all pods have a node once the jobs of `mask` are gone.
  bool fits(const Question& q, std::size_t mask, bool without_ending) const;
  bool has_rule(const Question& q, std::size_t mask, bool without_ending) const;
  bool assign(const std::vector<int>& pods, std::size_t next, std::vector<int>& free) const;
  bool some_set_fits(const Question& q) const;
  Place find_on(const Job& claimant, int product) const;

  const Books& books_;
  const Again again_;
  std::map<AccountId, Account> accounts_;
  std::map<NodeId, Node> nodes_;
  std::vector<const Job*> ending_;
  DurationMs min_run_ms_ = 0;
};

}  // namespace subak::claim_model
