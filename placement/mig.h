// MIG as arithmetic: which slices a card can be cut into and what each costs in milli-GPU.
// Source: NVIDIA MIG user guide, "Supported MIG profiles" and the placement listings of
// `nvidia-smi mig -lgipp` (7-slice cards: 8 memory units; A30: 4; RTX PRO 6000: 12).
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
  std::string_view name;    // without "mig-": "1g.10gb", "1g.10gb.me" for "+me"
  int compute = 0;          // the "g"
  int units = 0;            // memory units occupied
  int max_count = 0;        // per card
  std::vector<int> starts;  // legal first units
};

struct MigGeometry {
  int card_units = 0;  // 8, 4 or 12
  std::vector<MigProfile> profiles;
};

// The profile of this name; nullptr: such a card has none. Resource names spell "+me" as ".me".
const MigProfile* find_mig_profile(const MigGeometry& geometry, std::string_view name);

// The geometry of a product as GFD names it ("NVIDIA-H100-80GB-HBM3"); nullptr if it has no MIG or
// is unknown. The pointer is valid for the life of the program.
const MigGeometry* mig_geometry(std::string_view product);

// The cost of one slice of `profile` on `product`: memory units / card units x 1000, so that a card
// never adds up to more than 1000. nullopt for an unknown pair.
std::optional<MilliGpu> mig_slice_milligpu(std::string_view product, std::string_view profile);

// Some card has slices of this name.
bool is_mig_profile(std::string_view profile);

// What to ask for instead of a profile that no card has: those of these products, each once.
std::string mig_profiles_text(const std::vector<std::string>& products);

}  // namespace subak
