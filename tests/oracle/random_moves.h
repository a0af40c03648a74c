// Moves of accounts and changes of the half-life in a random world. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/forecast/half_life_fold.h"
#include "model/fact.h"
#include "model/input.h"
#include "sim/read/rng.h"

namespace subak::sim {

class RandomMoves {
 public:
  // `half_lives`: the world changes the half-life.
  explicit RandomMoves(bool half_lives) : half_lives_(half_lives) {}

  // Reads the next fact of the engine.
  void saw(const Fact& fact);
  // Returns a move of some account or user, or the undo of an earlier move. The path may be taken.
  in::Body some_move(Rng& rng) const;
  // Sets the half-life in an edit of the policy, which begins, replaces or cancels a change of it.
  void choose_half_life(Rng& rng, Policy& policy) const;
  // True if a change of the half-life is under way.
  bool is_changing() const { return half_lives_ && policy_.fair_share.change.seq != 0; }
  // Reads the facts as the service's reader does. Returns the end of the change.
  in::Body end_of_change(Rng& rng);

 private:
  bool half_lives_;
  Policy policy_;
  std::map<AccountId, std::string> paths_;  // of live accounts
  std::vector<in::MoveAccount> undos_;
  // A reader of the facts for each half-life, which continues where it stopped last. A copy of the
  // world begins with new readers.
  struct Readers {
    Readers() = default;
    Readers(const Readers&) {}
    Readers& operator=(const Readers&) {
      of.clear();
      return *this;
    }
    std::map<DurationMs, std::unique_ptr<HalfLifeFold>> of;
  };

  // All facts so far.
  std::vector<Fact> facts_;
  Readers readers_;
};

}  // namespace subak::sim
