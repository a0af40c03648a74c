// A quick way to find a node's next job again after a start: only the child that changed is read.
// Private to queue.
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

// The children of nodes as the last computation read them, kept from pass to pass. A start changes
// one child. The surplus of the others changes only with time, in a known way. So the order at
// another instant follows from what is kept. It is kept only for few children, all of them without
// quota, and used only while the first is clearly the first. Else the node is computed in full.
//
// To find a node's next job: open() a contest. While first() has no known job, find its next job,
// and tell it with answer(). Then close(). All of it only while memos are usable().
class Standings {
  struct Standing;

 public:
  // The order of one node's children at the pass's instant. Valid until the next pass.
  class Contest {
    friend class Standings;
    AccountId node_;
    Standing* standing_ = nullptr;
    std::size_t first_ = 0;
    // No other child takes part.
    bool alone_ = false;
    double surplus_ = 0, rate_ = 0;
    // By index; target 0: it takes no part.
    std::array<double, kFewSiblings> value_, target_, cost_, key_;
  };

  // Begins a pass, after the memos did. All are borrowed.
  void begin(const Index& index, const Figures& figures, Memos& memos, std::size_t accounts);
  // Reads what changed at the node since it was kept, and fills in the contest. False if the node
  // must be computed in full: nothing is kept, something else changed, or a surplus may stay at 0
  // for a while. O(1) as a rule, else O(children).
  bool open(AccountId id, Contest& contest);
  // Finds the first child. False: two are too near, the node must be computed in full. The keys
  // here differ from those of SiblingOrder by rounding, so only a clear difference counts.
  bool find_first(Contest& contest) const;
  // Returns the first child if its next job is unknown; none if it is known.
  AccountId unknown_first(const Contest& contest) const;
  // Takes the next job of unknown_first(). False: it costs more than thought, so find_first()
  // again.
  bool answer(Contest& contest, const NextJob& next) const;
  // Returns the node's next job, that of the first child, and keeps it in the memos.
  NextJob close(const Contest& contest);
  // Keeps the children of a node that was computed in full; `winner` is the first of them.
  void keep(AccountId id, const std::vector<Child>& children, AccountId winner);

 private:
  // A child as its parent last read it.
  struct Entrant {
    AccountId id;
    // Of its next job, where `by_class` is set.
    std::int32_t priority = 0;
    bool by_class = false;
    bool leaf = false;
    // Its next job until `until`, if that is known.
    std::uint32_t slot = kNoSlot;
    double shares = 0;
    DecayedMeter::Course surplus;
    // Of the surplus, in milli-GPU.
    double rate = 0;
    MilliGpu alloc = 0;
    // The least that its next job costs.
    MilliGpu least = 0;
    // The cost of its next job until `until`. Then it is `least` again.
    MilliGpu next = 0;
    TimeMs until = kForever;
    // Its counts when this was read.
    Changes seen;
  };
  // The children of one node at the last call.
  struct Standing {
    // The epoch of the memos when it was made.
    std::uint64_t epoch = 0;
    // Of the instants that the surpluses are for.
    std::int64_t half_lives = 0;
    TimeMs from = 0;
    // The counts of the node when it was last read.
    Changes own;
    // The index of the child with the last result.
    std::uint32_t last = 0;
    // By id.
    std::vector<Entrant> entrants;
  };

  // Both read again what changed since the last call. False: more changed than the known children
  // explain, or a child has no job any more.
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
  // By account id.
  std::vector<Standing> standings_;
};

}  // namespace subak::ready
