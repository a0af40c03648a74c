// Names of MIG configurations that NVIDIA's MIG Manager generates. A name "all-PROFILE" cuts each
// card into slices of this profile.
// Source: documentation of mig-parted and of the GPU Operator ("GPU Operator with MIG").
// Threads: constants.
#pragma once

#include <string_view>

namespace subak {

// No card is cut.
inline constexpr std::string_view kMigAllDisabled = "all-disabled";
// Each card may be cut, and has no slices.
inline constexpr std::string_view kMigAllEnabled = "all-enabled";
// Each card is cut into slices of several profiles: two of 1g, one of 2g and, if the card has seven
// compute slices, one of 3g.
inline constexpr std::string_view kMigAllMixed = "all-balanced";
// The name of a profile follows.
inline constexpr std::string_view kMigAll = "all-";

}  // namespace subak
