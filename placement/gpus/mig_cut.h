// Checks whether the slices that a node reports can be cut from its GPUs at the same time. A card
// is one physical GPU. The check is exact for the cards of mig.h:
//   - slices do not share memory units of a card
//   - each slice begins where its profile may begin
//   - a card has at most one slice with the extra engines ("+me", "+me.all")
// It ignores the other engines that a profile takes.
//
// A card divides into halves, and these again into halves (on one kind of card into quarters). Each
// profile takes one such part completely. The check assigns parts from the largest size down. Of
// each size it first assigns the weakest parts: a stronger part can hold all that a weaker part of
// the same size can hold. Slices with the extra engines need a card each, and the check tries all
// ways to choose their cards.
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
  // The product, or the profile of some slices, is in no table. The known slices fit.
  kUnknown,
};

// Returns whether `cards` GPUs of the product can be cut into these slices.
MigCut mig_cut(std::string_view product, const std::vector<MigSlices>& slices, std::int64_t cards);

// Returns the fewest cards from which the slices can be cut. Slices that are in no table count as
// seven on each card. A result above limits::kMaxGpusPerNode means at least so many cards.
std::int64_t mig_least_cards(std::string_view product, const std::vector<MigSlices>& slices);

// Formats the slices: "1g.10gb=14 3g.40gb=4".
std::string mig_slices_text(const std::vector<MigSlices>& slices);

}  // namespace subak
