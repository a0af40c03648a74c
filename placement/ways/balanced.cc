// Balanced gangs: in even parts, each in an NVLink domain of its own, over as few as possible.
// The search is exact for gangs of one shape. Each part takes the tightest domain, the larger parts
// first, and a domain with room for a larger part also has room for a smaller one.
#include <algorithm>

#include "core/limits.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

// Returns how many of the units with the lowest ranks fit in one domain. A unit is `unit` pods.
std::uint32_t most_in_one(GangAttempt& a, const Bounds& bounds, std::uint32_t unit,
                          std::uint32_t units) {
  must(a.trial().mark() == 0, "units are counted with no pod on trial");
  std::uint32_t fits = 0, too_many = units + 1;
  while (fits + 1 < too_many) {
    const std::uint32_t middle = fits + (too_many - fits) / 2;
    const std::uint32_t end = std::min(middle * unit, a.query().pods());
    const bool ok = segment(a, bounds, a.query().runs(0, end));
    a.trial().undo_to(0);
    (ok ? fits : too_many) = middle;
  }
  must(fits <= units, "a domain is asked for the units of the gang");
  return fits;
}

}  // namespace

bool balanced(GangAttempt& a, const Bounds& bounds, const Runs& all) {
  const Query& q = a.query();
  const std::uint32_t unit = std::max(q.segment, 1u);
  const std::uint32_t units = q.segments();
  must(units > 0, "a balanced gang has a unit");
  if (greedily(a, bounds, all, 1)) return true;
  const std::uint32_t most = most_in_one(a, bounds, unit, units);
  if (most == 0) return false;
  const std::uint32_t least = std::max(2u, (units + most - 1) / most);
  const std::uint32_t end =
      std::min({units, limits::kBalancedParts, least + limits::kBalancedTries - 1});
  std::size_t tried = 0;  // parts
  for (std::uint32_t k = least; k <= end; ++k) {
    if (k > least && (tried += k) > limits::kPlaceTries) break;
    if (greedily(a, bounds, all, k)) return true;
  }
  return false;
}

}  // namespace subak
