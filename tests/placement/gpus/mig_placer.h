// Where on which card a slice goes: for those who choose it, as a DRA driver's scheduler does. A device
// plugin chooses by itself and tells nobody, so the service places slices by their counts and does not
// use this. The tests here measure what the rule is worth (docs/design/0054).
//
// F of a card is FGD's, over all kinds of slices alike: of its free memory units those that a kind cannot
// use, be it that they are too few or lie wrong. Weng et al., "Beware of Fragmentation", USENIX ATC'23. Of
// a mask it is computed once. Threads: const, so any.
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
