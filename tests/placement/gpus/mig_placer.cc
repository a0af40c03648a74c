#include "mig_placer.h"

#include <algorithm>
#include <bit>

namespace subak {
namespace {

std::vector<const MigProfile*> kinds_of(const MigGeometry& g) {
  std::vector<const MigProfile*> kinds;
  for (const MigProfile& p : g.profiles) {
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const MigProfile* k) {
      return k->units == p.units && k->starts == p.starts;
    });
    if (!known) kinds.push_back(&p);
  }
  return kinds;
}

// Units that slices of this kind could take. Its starts are that far apart that all fit together.
int usable(const MigProfile& p, MigMask taken) {
  const auto slices = std::count_if(p.starts.begin(), p.starts.end(),
                                    [&](int start) { return (mig_units(p, start) & taken) == 0; });
  return static_cast<int>(slices) * p.units;
}

}  // namespace

MigPlacer::MigPlacer(const MigGeometry& g) {
  const std::vector<const MigProfile*> kinds = kinds_of(g);
  const std::size_t masks = std::size_t{1} << g.card_units;
  fragments_.resize(masks);
  for (std::size_t m = 0; m < masks; ++m) {
    const auto taken = static_cast<MigMask>(m);
    const int free = g.card_units - std::popcount(taken);
    for (const MigProfile* kind : kinds) fragments_[m] += free - usable(*kind, taken);
  }
  best_.resize(g.profiles.size());
  for (std::size_t p = 0; p < g.profiles.size(); ++p) {
    best_[p].reserve(masks);
    for (std::size_t m = 0; m < masks; ++m) {
      best_[p].push_back(best_on(g.profiles[p], static_cast<MigMask>(m)));
    }
  }
}

MigPlacer::Best MigPlacer::best_on(const MigProfile& p, MigMask taken) const {
  Best best;
  for (const int start : p.starts) {
    const MigMask units = mig_units(p, start);
    if ((units & taken) != 0) continue;
    const int growth = fragments(static_cast<MigMask>(taken | units)) - fragments(taken);
    if (best.start < 0 || growth <= best.growth) best = {growth, start};
  }
  return best;
}

std::optional<MigPlace> MigPlacer::place(std::size_t profile,
                                         std::span<const MigMask> taken) const {
  std::optional<MigPlace> place;
  int least = 0;
  for (std::size_t card = 0; card < taken.size(); ++card) {
    const Best& here = best_[profile][taken[card]];
    if (here.start < 0 || (place && here.growth >= least)) continue;
    place = MigPlace{card, here.start};
    least = here.growth;
  }
  return place;
}

}  // namespace subak
