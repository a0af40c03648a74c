// Finds an account's next job again after a start, without a full new comparison of the account's
// children. The code reads again only the child that changed. The walk from the root of the account
// tree to a job (queue/ready_walk.h) uses it to save time. With it or without it, the walk finds
// the same job.
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

// Caches the figures of accounts' children for later passes (rounds of scheduling decisions). A
// start changes one child. The surplus of the other children, which is their past usage beyond
// quota, changes only with time, by a known formula. So the order at another instant follows from
// the cached figures.
// The cache has only accounts with at most kFewSiblings children. All have shares and no quota,
// none is the account itself, and no account below them is on hold. The half-life of usage must be
// finite. If another child's sort key is too close to that of the first, the walk computes the
// account in full.
//
// To find an account's next job, open() a contest and call find_first(). If unknown_first() returns
// a child, find the next job of that child and report the job with answer(). If answer() returns
// false, begin again with find_first(). At last close() the contest. Use these functions only while
// Memos::usable() is true: nothing is blocked or simulated, and the order rule is target-share.
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
    // True: only one child takes part.
    bool alone_ = false;
    double surplus_ = 0, rate_ = 0;
    // The figures of each child, by its index. A child with target 0 takes no part.
    std::array<double, kFewSiblings> value_, target_, cost_, key_;
  };

  // Begins a pass. Call begin() after Memos::begin(). All objects must outlive the pass.
  void begin(const Index& index, const Figures& figures, Memos& memos, std::size_t accounts);
  // Reads what has changed at the account since it was cached, and fills in the contest. Returns
  // false if the walk must compute the account in full. This is so if the account is not cached, or
  // if the changes of its children do not explain its own changes. It is also so if a surplus may
  // stay at 0 for a while, or if rounding could decide. O(children), but as a rule it reads new
  // figures of one child only.
  bool open(AccountId id, Contest& contest);
  // Finds the first child. Returns false if another child's key is too near to that of the first;
  // then the walk must compute the account in full. The keys of a contest differ from the keys of
  // SiblingOrder by rounding, so only a clear difference counts. Children with equal figures and no
  // surplus are an exception: of these, the one with the lowest id is first.
  bool find_first(Contest& contest) const;
  // Returns the first child if its next job is unknown; the empty id if that job is known.
  AccountId unknown_first(const Contest& contest) const;
  // Takes the next job of the child that unknown_first() returned. Returns false if the job has
  // another cost than assumed, so that another child may be first. Then call find_first() again.
  bool answer(Contest& contest, const NextJob& next) const;
  // Returns the account's next job, which is the next job of the first child, and stores it in the
  // memos.
  NextJob close(const Contest& contest);
  // Caches the children of an account that the walk computed in full. `winner` is the first child.
  void keep(AccountId id, const std::vector<Child>& children, AccountId winner);

 private:
  // The figures of a child, as of the last time that its parent's standing read them.
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
    // The epoch of the memos when this object was made.
    std::uint64_t epoch = 0;
    // The surpluses are valid for instants with this number of half-lives.
    std::int64_t half_lives = 0;
    TimeMs from = 0;
    // The account's counts of changes when the account was last read.
    Changes own;
    // The index of the child that had the account's next job at the last result.
    std::uint32_t last = 0;
    // The children, by id.
    std::vector<Entrant> entrants;
  };

  // Both functions read the changes since the last call. They return false if the known children do
  // not explain all changes, or if a child has no job left.
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
