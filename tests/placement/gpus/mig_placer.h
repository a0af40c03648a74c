// Chooses the card and the position of a MIG slice, as a DRA driver's scheduler could. The service
// does not use it, because the device plugin chooses positions by itself and does not report them.
// Tests measure how good the rule is (docs/design/0054). A card's fragmentation F is that of FGD,
// with equal weight for all kinds of slices. It counts the free memory units that a kind cannot
// use, because they are too few or at the wrong positions. Source: Weng et al., "Beware of
// Fragmentation", USENIX ATC'23. F is computed once for each mask.
// Threads: any; all functions are const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/mig.h"

namespace subak {

// Memory units of one card, one bit each, the first unit lowest.
using MigMask = std::uint16_t;
inline MigMask mig_units(const MigProfile& p, int start) {
  return static_cast<MigMask>(((1U << p.units) - 1U) << start);
}

struct MigPlace {
  std::size_t card = 0;
  int start = 0;  // its first memory unit
  friend bool operator==(const MigPlace&, const MigPlace&) = default;
};

class MigPlacer {
 public:
  // The geometry must outlive it.
  explicit MigPlacer(const MigGeometry& geometry);

  // F times the number of kinds, in memory units. Profiles that have the same size and starts are one kind.
  int fragments(MigMask taken) const { return fragments_[taken]; }

  // Where F grows least; of such the first card, and there the highest start. `profile` is an index into
  // the geometry's, `taken` the cards. nullopt: no card has room. That a card has some profiles only once
  // is for the caller to see to.
  std::optional<MigPlace> place(std::size_t profile, std::span<const MigMask> taken) const;

 private:
  struct Best {
    int growth = 0;
    int start = -1;  // none
  };
  Best best_on(const MigProfile& profile, MigMask taken) const;

  std::vector<int> fragments_;           // by mask
  std::vector<std::vector<Best>> best_;  // by profile, by mask
};

}  // namespace subak
