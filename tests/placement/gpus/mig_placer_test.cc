#include "mig_placer.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <string_view>

namespace subak {
namespace {

const MigGeometry& h100() { return *mig_geometry("NVIDIA-H100-80GB-HBM3"); }

std::size_t profile(const MigGeometry& g, std::string_view name) {
  return static_cast<std::size_t>(find_mig_profile(g, name) - g.profiles.data());
}

// The most slices of this profile that the card could have beside what it has, by trying all.
int most(const MigProfile& p, unsigned taken) {
  int best = 0;
  for (const int start : p.starts) {
    const unsigned units = ((1U << p.units) - 1) << start;
    if ((units & taken) == 0) best = std::max(best, 1 + most(p, taken | units));
  }
  return best;
}

TEST(MigPlacer, FragmentsAreUnitsThatAKindCannotUse) {
  const MigGeometry& g = h100();
  const MigPlacer placer(g);
  for (unsigned taken = 0; taken < 256; ++taken) {
    const int free = 8 - std::popcount(taken);
    int sum = 0;
    for (const char* kind : {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}) {
      const MigProfile& p = *find_mig_profile(g, kind);
      sum += free - p.units * most(p, taken);
    }
    ASSERT_EQ(placer.fragments(static_cast<MigMask>(taken)), sum) << taken;
  }
  EXPECT_EQ(placer.fragments(0xff), 0);
  EXPECT_EQ(placer.fragments(0), 1 + 2 + 4)
      << "unit 7 for 1g, 6 and 7 for 2g, the upper half for 4g";
}

// On masks of each kind of card: a place is legal, no other grows F less, and of equals it is the first
// card and the highest start.
TEST(MigPlacer, PutsASliceWhereFGrowsLeast) {
  for (const char* product :
       {"NVIDIA-H100-80GB-HBM3", "NVIDIA-A30", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}) {
    const MigGeometry& g = *mig_geometry(product);
    const MigPlacer placer(g);
    const unsigned masks = 1U << g.card_units;
    for (unsigned seed = 0; seed < 512; ++seed) {
      std::array<MigMask, 3> cards{};
      for (std::size_t k = 0; k < 3; ++k) {
        cards[k] = static_cast<MigMask>((seed * (7 + 12 * k) + 31 * k) % masks);
      }
      for (std::size_t p = 0; p < g.profiles.size(); ++p) {
        std::optional<MigPlace> best;
        int least = 0;
        for (std::size_t card = 0; card < 3; ++card) {
          for (auto start = g.profiles[p].starts.rbegin(); start != g.profiles[p].starts.rend();
               ++start) {
            const MigMask units = mig_units(g.profiles[p], *start);
            if ((units & cards[card]) != 0) continue;
            const int growth = placer.fragments(static_cast<MigMask>(cards[card] | units)) -
                               placer.fragments(cards[card]);
            if (best && growth >= least) continue;
            best = MigPlace{card, *start};
            least = growth;
          }
        }
        ASSERT_EQ(placer.place(p, cards), best) << product << ' ' << g.profiles[p].name;
      }
    }
  }
}

TEST(MigPlacer, KeepsTheHalfWhole) {
  const MigGeometry& g = h100();
  const MigPlacer placer(g);
  const std::array<MigMask, 1> empty = {0};
  EXPECT_EQ(placer.place(profile(g, "1g.10gb"), empty), (MigPlace{0, 6})) << "beside unit 7";
  EXPECT_EQ(placer.place(profile(g, "3g.40gb"), empty), (MigPlace{0, 4})) << "4g fits below";
  const std::array<MigMask, 2> cards = {0, 0x70};  // units 4 to 6
  EXPECT_EQ(placer.place(profile(g, "7g.80gb"), cards), (MigPlace{0, 0}));
  EXPECT_EQ(placer.place(profile(g, "4g.40gb"), cards), (MigPlace{1, 0}));
  const std::array<MigMask, 2> full = {0xff, 0x7f};
  EXPECT_EQ(placer.place(profile(g, "1g.10gb"), full), std::nullopt);
}

}  // namespace
}  // namespace subak
