// Checks whether the slices that a node reports can be cut from its GPUs at the same time. A card
// is one physical GPU. The check is exact for the cards of mig.h:
//   - slices do not share memory units of a card
//   - each slice begins where its profile may begin
//   - a card has at most one slice with the media extension engines (profiles with "+me" or
//     "+me.all")
// The check ignores all other engines that a profile takes, such as decoders.
//
// How it works. The memory of a card divides into halves, each half into halves, and so on down to
// one memory unit (RTX PRO 6000: to a quarter). Each slice takes one such part completely. The
// check assigns parts to slices, the largest slices first. Among parts of one size, it first takes
// the part where the fewest other slices could begin. The part that is left can then hold all that
// the taken part could.
// Example: an H100 has 8 units. 3g.40gb takes the units 4 to 7, where only three 1g.10gb could
// begin (none begins at unit 7). So four 1g.10gb still fit, at the units 0 to 3.
// Two slices with "+me" cannot be on one card. The check tries all ways to divide them among cards.
// Threads: any; pure functions.
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
  // The slices cannot all exist at the same time.
  kTooMany,
  // The product, or the profile of some slices, is in no table. All slices with a known profile
  // fit.
  kUnknown,
};

// Returns whether `cards` GPUs of the product can be cut into these slices.
MigCut mig_cut(std::string_view product, const std::vector<MigSlices>& slices, std::int64_t cards);

// Returns the fewest cards from which the slices can be cut. If a profile is in no table, the
// function assumes that seven of its slices fit on one card. A result above
// limits::kMaxGpusPerNode is only a lower bound of the number of cards.
std::int64_t mig_least_cards(std::string_view product, const std::vector<MigSlices>& slices);

// Formats the slices: "1g.10gb=14 3g.40gb=4".
std::string mig_slices_text(const std::vector<MigSlices>& slices);

}  // namespace subak
