// Whether slices that a node says it has can be cut from its cards, all at the same time. Exact for the
// cards of mig.h: slices do not overlap on the memory units of a card, each begins where its profile may,
// and of those with the one set of extra engines ("+me", "+me.all") a card has one. Which other engines a
// profile takes is not looked at.
//
// A card is halves of halves (on one kind quarters), and each profile takes such a part whole. So parts
// are given out from the largest size down, of each size those first that later slices can use least:
// what a weaker part of a size can hold, a stronger one can too. Slices with the extra engines need a
// card each; all ways to choose theirs are tried. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "placement/node.h"

namespace subak {

enum class MigCut {
  kFits,
  kTooMany,
  kUnknown,  // the product, or the profile of some slices, is in no table; the others would fit
};

MigCut mig_cut(std::string_view product, const std::vector<MigSlices>& slices, std::int64_t cards);

// The fewest cards that they can be cut from; of slices in no table, at seven a card. More than
// limits::kMaxGpusPerNode: at least so many.
std::int64_t mig_least_cards(std::string_view product, const std::vector<MigSlices>& slices);

// "1g.10gb=14 3g.40gb=4".
std::string mig_slices_text(const std::vector<MigSlices>& slices);

}  // namespace subak
