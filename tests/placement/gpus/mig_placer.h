// Chooses the GPU ("card") and the position of a MIG slice, as a DRA driver's scheduler could. The
// service does not use it, because the device plugin chooses positions by itself and does not
// report them. Tests measure with it how good the rule is (docs/design/0054).
// The rule takes the position where the fragmentation F of the card grows least. F is that of FGD,
// with equal weight for all kinds of slices. For each kind it counts the free memory units that
// slices of this kind cannot use, because they are too few or at the wrong positions. F is computed
// once for each mask. Source: Weng et al., "Beware of Fragmentation", USENIX ATC'23.
// Threads: any; all functions are const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/mig.h"

namespace subak {

// The taken memory units of one card: bit i is unit i.
using MigMask = std::uint16_t;
inline MigMask mig_units(const MigProfile& p, int start) {
  return static_cast<MigMask>(((1U << p.units) - 1U) << start);
}

struct MigPlace {
  std::size_t card = 0;
  int start = 0;  // the first memory unit of the slice
  friend bool operator==(const MigPlace&, const MigPlace&) = default;
};

class MigPlacer {
 public:
  // The geometry must outlive the object.
  explicit MigPlacer(const MigGeometry& geometry);

  // Returns the sum over the kinds of slices: F times their number, in memory units. Profiles with
  // the same size and the same starts are one kind.
  int fragments(MigMask taken) const { return fragments_[taken]; }

  // Returns the place where F grows least: among equal ones the first card, and there the highest
  // start. `profile`: an index into the profiles of the geometry. `taken`: the mask of each card.
  // nullopt: no card has room. The caller must check bounds on the number of slices of a profile on
  // a card.
  std::optional<MigPlace> place(std::size_t profile, std::span<const MigMask> taken) const;

 private:
  struct Best {
    int growth = 0;
    int start = -1;  // -1: the slice has no room
  };
  Best best_on(const MigProfile& profile, MigMask taken) const;

  std::vector<int> fragments_;           // by mask
  std::vector<std::vector<Best>> best_;  // by profile and mask
};

}  // namespace subak
