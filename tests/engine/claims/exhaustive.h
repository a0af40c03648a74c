// A naive search for claims, to which tests compare the engine's search
// (engine/derive/claim_search). A giver is a job that may have to end so that the claimant, a
// waiting job, gets its GPUs. The search tries every set of givers and every assignment of the
// claimant's pods to nodes. It computes the sums of quotas by itself. It knows only whole GPUs,
// without topology, reservations or `lend`.
// Threads: one at a time.
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

// GPUs by product, an index into kProducts. In a quota, index 0 is the GPUs of any product.
using Gpus = std::array<int, 3>;

// How the claimant can start.
enum class Place {
  kNone,
  // It fits on free GPUs now.
  kFree,
  // It fits on free GPUs, but a limit stops it until the victims of other claims have ended.
  kSoon,
  // It fits if jobs end: jobs that are ending already, or a set of givers.
  kTaken,
  // There are too many givers for a search of all sets.
  kTooLarge,
};

// Whether a job may be a giver again that was preempted and has started again, although its
// claimant still waits or there was no outside event since.
enum class Again { kNot, kToo };

class Exhaustive {
 public:
  // Reads the settings of accounts and nodes from the engine, and all else from the books. `books`
  // must outlive the object.
  Exhaustive(const Engine& engine, const Books& books, Again again);

  Place find(const Job& claimant) const;
  // Returns how long it takes until the minimum run of each running job is over, after which it may
  // be asked to end.
  DurationMs longest_run_left(TimeMs now) const;

 private:
  struct Account {
    AccountId parent;
    std::vector<AccountId> children;
    bool has_own_quota = false;
    Gpus own_quota{}, quota{};  // `quota`: the own quota, else the children's sum
    std::optional<int> limit;
    Gpus limit_of{};               // by product; -1: none
    Gpus held{};                   // with claims, victims and ending jobs
    int fixed = 0, own_fixed = 0;  // GPUs of jobs that cannot be preempted
    Gpus left{};                   // with claims, without victims and ending jobs
    bool any_quota() const { return quota[0] + quota[1] + quota[2] > 0; }
  };
  struct Node {
    int product = 0;
    int gpus = 0;
    bool usable = true;
    std::uint64_t held = 0, claimed = 0;
  };
  // One claimant, one product, and the givers on it.
  struct Question {
    const Job& claimant;
    int product = 0;
    AccountId reach;
    std::vector<const Job*> givers;
  };
  // GPUs by account.
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
  // Returns the GPUs that the account holds beyond its quota if it held `left`; nullopt: it has no
  // quota.
  std::optional<int> excess(AccountId id, const Gpus& left, int product) const;
  // Returns the GPUs that must exist so that the account's quota can be met although some jobs
  // cannot be preempted. `more`: the result if a further such job of `leaf` held that many GPUs.
  int need(AccountId id, AccountId leaf, int more) const;
  int needs_below(AccountId id, AccountId leaf, int more) const;
  bool breaks_promise(const Question& q) const;
  // True if giver `next` may give after the givers in `mask`. Bit i of a mask is giver i of the
  // question.
  bool may_give(const Question& q, std::size_t mask, std::size_t next) const;
  bool is_possible_giver(const Question& q, const Job& job) const;
  // True if no rule stops the claimant, and all its pods fit, once the givers in `mask` have ended.
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
