// A shortcut for the queue's walk (queue/ready_walk.h), which goes from the root of the account
// tree down to the next job to start. After each start, the walk must find out again which child of
// an account comes first. This class answers from cached figures, and reads only the child that
// changed. The answer is the same without it, only slower.
// Example: an account has 16 users with waiting jobs, and a job of one user starts. This changes
// the figures of that user alone. The figures of the other 15 users change only with time, by a
// known formula.
//
// Units: milli-GPU, ms, and milli-GPU x ms for a surplus (past usage beyond quota).
// Errors: none; broken preconditions are asserted.
// Threads: one at a time; each Walk owns one object. Private to queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "accounting/decay.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "queue/ready_candidates.h"
#include "queue/ready_memo.h"

namespace subak::ready {

// The cached figures of the children of accounts, for later passes (rounds of scheduling
// decisions). The cache takes an account only if all this is true:
//   - At most kFewSiblings children have waiting jobs. All of them have shares and no quota.
//   - None of the children stands for the account's own jobs, and no account below them is on hold.
//   - The half-life of usage is finite.
// For every other account, and if the sort keys of the first two children are too close, the walk
// *computes the account in full*: it compares all its children (queue/ready_candidates.h).
//
// Use these functions only while Memos::usable() is true: the pass has blocked and simulated
// nothing, and the order rule is target-share. The walk finds the next job of the account `id` in
// this way:
//     Standings::Contest contest;
//     if (!standings.open(id, contest)) return in_full(id);
//     for (;;) {
//       if (!standings.find_first(contest)) return in_full(id);
//       const AccountId first = standings.unknown_first(contest);
//       const bool known = !first || standings.answer(contest, next_job_of(first));
//       if (known) return standings.close(contest);
//     }
class Standings {
  struct Standing;

 public:
  // The order of one account's children at the instant of the pass. Make an empty Contest, and pass
  // it to open(). It is valid until the next pass.
  class Contest {
    friend class Standings;
    AccountId node_;
    Standing* standing_ = nullptr;
    std::size_t first_ = 0;
    // True: only one child takes part, so nothing is compared.
    bool alone_ = false;
    double surplus_ = 0, rate_ = 0;
    // The figures of each child, by its index: surplus, target share, allocation with half of the
    // next job, and sort key. A child with target 0 takes no part.
    std::array<double, kFewSiblings> value_, target_, cost_, key_;
  };

  // Begins a pass. Call begin() after Memos::begin(). All objects must outlive the pass.
  void begin(const Index& index, const Figures& figures, Memos& memos, std::size_t accounts);
  // Fills in the contest of the account's children from the cache and from the later changes.
  // O(children); as a rule it reads new figures of one child only. Returns false if the walk must
  // compute the account in full, which has these reasons:
  //   - The account is not cached.
  //   - It changed in a way that the changes of its known children do not explain.
  //   - A surplus may stay at 0 for a while, or rounding could decide the order.
  bool open(AccountId id, Contest& contest);
  // Finds the first child. Returns false if the key of another child is too near to its key. A
  // contest computes keys in another way than SiblingOrder, so they differ by rounding, and only a
  // clear difference counts. The exception are children with equal figures and no surplus: of
  // these, the one with the lowest id is first.
  bool find_first(Contest& contest) const;
  // Returns the first child if its next job is unknown; the empty id if that job is known.
  AccountId unknown_first(const Contest& contest) const;
  // Takes the next job of the child that unknown_first() returned. Returns false if its cost
  // differs from the assumed cost, so that another child may be first: call find_first() again.
  bool answer(Contest& contest, const NextJob& next) const;
  // Returns the account's next job, which is the next job of the first child, and stores it in the
  // memos.
  NextJob close(const Contest& contest);
  // Caches the children of an account that the walk computed in full. `winner` is the first child.
  void keep(AccountId id, const std::vector<Child>& children, AccountId winner);

 private:
  // The figures of one child, as this class read them last. `by_class`: among such children, only
  // those whose next job has the highest priority take part (Child::by_class).
  struct Entrant {
    AccountId id;
    // The priority of the child's next job, if `by_class` is set.
    std::int32_t priority = 0;
    bool by_class = false;
    bool leaf = false;
    // The slot of the child's next job, which is valid up to `until`. kNoSlot: that job is unknown.
    std::uint32_t slot = kNoSlot;
    double shares = 0;
    DecayedMeter::Course surplus;
    // The rate of the surplus, in milli-GPU.
    double rate = 0;
    MilliGpu alloc = 0;
    // The least cost of the child's next job.
    MilliGpu least = 0;
    // The cost of the child's next job up to `until`. After `until`, `least` counts.
    MilliGpu next = 0;
    TimeMs until = kForever;
    // The child's counts of changes when the child was read.
    Changes seen;
  };
  // The cached children of one account.
  struct Standing {
    // The value of Memos::epoch() when this object was made. 0: the account is not cached.
    std::uint64_t epoch = 0;
    // The surpluses are valid for instants with this DecayInstant::half_lives.
    std::int64_t half_lives = 0;
    TimeMs from = 0;
    // The account's counts of changes when the account was last read.
    Changes own;
    // The index of the child that had the account's next job at the last result.
    std::uint32_t last = 0;
    // The children, by id.
    std::vector<Entrant> entrants;
  };

  // Both functions read again the children that changed since the last call. They return false if
  // the known children do not explain all changes, or if no job of a child waits any more.
  bool catch_up(Standing& standing, AccountId id) const;
  bool catch_up(Entrant& entrant, Changes& unseen) const;
  static void forget_next(Entrant& entrant);
  void read(Entrant& entrant) const;
  void prefetch(const Entrant& entrant) const;
  void prefetch_changes(const Entrant& entrant) const;
  bool enter(Contest& contest) const;
  static void set_key(Contest& contest, std::size_t at);
  static bool only_twins_are_near(const Contest& contest);
  TimeMs first_stays_until(const Contest& contest) const;

  const Index* index_ = nullptr;
  const Figures* figures_ = nullptr;
  Memos* memos_ = nullptr;
  // The cached children of all accounts; the index is the account id.
  std::vector<Standing> standings_;
};

}  // namespace subak::ready
