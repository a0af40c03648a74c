// Checks whether the slices that a node reports can be cut from its GPUs at the same time. A card
// is one physical GPU. The check is exact for the cards of mig.h:
//   - slices do not share memory units of a card
//   - each slice begins where its profile may begin
//   - a card has at most one slice with the extra engines ("+me", "+me.all")
// It ignores the other engines that a profile takes.
//
// A card divides into halves, and each half into halves again (on one kind of card into quarters).
// Each profile takes one such part completely. The check assigns parts from the largest size down.
// Among parts of one size it assigns the weakest first, because a stronger part can hold all that a
// weaker part can hold. Each slice with the extra engines needs a card of its own, and the check
// tries all ways to choose these cards.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"

namespace subak {

// The result of the check.
enum class MigCut {
  // All slices can exist at the same time.
  kFits,
  // They cannot all exist at the same time.
  kTooMany,
  // The product, or the profile of some slices, is in no table. All slices with a known profile
  // fit.
  kUnknown,
};

// Returns whether `cards` GPUs of the product can be cut into these slices.
MigCut mig_cut(std::string_view product, const std::vector<MigSlices>& slices, std::int64_t cards);

// Returns the fewest cards from which the slices can be cut. If a profile is in no table, the
// function assumes that a card has room for seven of its slices. A result above
// limits::kMaxGpusPerNode means at least so many cards.
std::int64_t mig_least_cards(std::string_view product, const std::vector<MigSlices>& slices);

// Formats the slices: "1g.10gb=14 3g.40gb=4".
std::string mig_slices_text(const std::vector<MigSlices>& slices);

}  // namespace subak
