// Tables of MIG profiles: the slices into which a card (one physical GPU) can be cut, and the cost
// of each slice in milli-GPU.
// Source: NVIDIA MIG user guide, "Supported MIG profiles",
// https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ and the placement listings of
// `nvidia-smi mig -lgipp`.
// Threads: any; pure functions. The tables are constant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"

namespace subak {

// One profile of one card family. A slice occupies [start, start + units) of the card's memory
// units.
struct MigProfile {
  // The name without "mig-", such as "1g.10gb". For a profile with "+me" it is "1g.10gb.me".
  std::string_view name;
  // The number of compute slices in a MIG slice: the number before "g".
  int compute = 0;
  // The number of memory units that a slice occupies.
  int units = 0;
  // The most slices of this profile on one card.
  int max_count = 0;
  // The memory units at which a slice may begin.
  std::vector<int> starts;
};

// The profiles of one card family.
struct MigGeometry {
  // The memory units of a card: 8 for cards with seven compute slices (A100, H100), 4 for A30, 12
  // for RTX PRO 6000.
  int card_units = 0;
  std::vector<MigProfile> profiles;
};

// Returns the profile of this name; nullptr if the card has no such profile. The function accepts
// both spellings of a suffix: "+me", and ".me" as in resource names. The pointer is into
// `geometry`.
const MigProfile* find_mig_profile(const MigGeometry& geometry, std::string_view name);

// Returns the geometry of a product as GFD names it ("NVIDIA-H100-80GB-HBM3"); nullptr if the
// product has no MIG or is unknown. The pointer is valid for the life of the program.
const MigGeometry* mig_geometry(std::string_view product);

// Returns the cost of one slice of `profile` on `product`: memory units / card units x 1000. The
// cost is rounded down, so the slices of a card never cost more than 1000 in total. Returns nullopt
// for an unknown pair. `product` may have a suffix "-MIG-..." or "-SHARED"; `profile` is as in
// MigSlices.
std::optional<MilliGpu> mig_slice_milligpu(std::string_view product, std::string_view profile);

// Returns the least cost of one slice of `profile` on the cards that have it; 0: no card has it.
MilliGpu least_mig_slice_milligpu(std::string_view profile);

// True if some card family has a profile of this name. `profile` is a name without "mig-". The
// function accepts both spellings of a suffix, "+me" and ".me".
bool is_mig_profile(std::string_view profile);

// Lists the profiles of these products, each once, for messages about a profile that no card has.
// The list leaves out products without MIG. If all products are without MIG, the text asks for any
// profile that exists.
std::string mig_profiles_text(const std::vector<std::string>& products);

}  // namespace subak
