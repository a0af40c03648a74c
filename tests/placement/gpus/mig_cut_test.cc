// What can be cut from how many cards, against a search that tries all places one after the other.
#include "placement/gpus/mig_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/limits.h"
#include "model/mig.h"

namespace subak {
namespace {

constexpr const char* kH100 = "NVIDIA-H100-80GB-HBM3";
constexpr const char* kA30 = "NVIDIA-A30";
constexpr const char* kPro = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition";

using Counts = std::vector<int>;  // by profile

// The extra engines of a card: "+me" and "+me.all" share the one set.
bool extra(const MigProfile& p) { return p.name.find(".me") != std::string_view::npos; }

// All that one card can be cut into, by putting slices at any of their starts until nothing changes.
std::set<Counts> all_cuts_of_one_card(const MigGeometry& g) {
  std::set<std::pair<unsigned, Counts>> seen;
  std::vector<std::pair<unsigned, Counts>> open = {{0U, Counts(g.profiles.size())}};
  while (!open.empty()) {
    const auto [mask, counts] = open.back();
    open.pop_back();
    if (!seen.insert({mask, counts}).second) continue;
    for (std::size_t p = 0; p < g.profiles.size(); ++p) {
      const MigProfile& profile = g.profiles[p];
      bool has_extra = false;
      for (std::size_t q = 0; q < counts.size(); ++q) {
        has_extra = has_extra || (counts[q] > 0 && extra(g.profiles[q]));
      }
      if (counts[p] >= profile.max_count || (extra(profile) && has_extra)) continue;
      for (const int start : profile.starts) {
        unsigned units = 0;
        for (int u = start; u < start + profile.units; ++u) units |= 1U << u;
        if ((units & mask) != 0) continue;
        Counts more = counts;
        ++more[p];
        open.emplace_back(mask | units, more);
      }
    }
  }
  std::set<Counts> cuts;
  for (const auto& [mask, counts] : seen) cuts.insert(counts);
  return cuts;
}

// All that one card more can add to.
std::set<Counts> with_one_more(const std::set<Counts>& cards, const std::set<Counts>& one) {
  std::set<Counts> sums;
  for (const Counts& a : cards) {
    for (const Counts& b : one) {
      Counts sum = a;
      for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += b[p];
      sums.insert(sum);
    }
  }
  return sums;
}

std::vector<MigSlices> slices_of(const MigGeometry& g, const Counts& counts) {
  std::vector<MigSlices> out;
  for (std::size_t p = 0; p < counts.size(); ++p) {
    if (counts[p] > 0) out.push_back({std::string(g.profiles[p].name), counts[p]});
  }
  return out;
}

std::string text(const std::vector<MigSlices>& slices) {
  std::string out;
  for (const MigSlices& s : slices) out += s.profile + "=" + std::to_string(s.count) + " ";
  return out;
}

// Each vector of counts up to one more than any cut has.
template <class F>
void each_vector(const std::set<Counts>& cuts, F&& fn) {
  Counts most(cuts.begin()->size()), now(most.size());
  for (const Counts& c : cuts) {
    for (std::size_t p = 0; p < c.size(); ++p) most[p] = std::max(most[p], c[p] + 1);
  }
  for (std::size_t p = 0; p < now.size();) {
    fn(now);
    for (p = 0; p < now.size() && now[p] == most[p]; ++p) now[p] = 0;
    if (p < now.size()) ++now[p];
  }
}

void expect_cut(const char* product, const MigGeometry& g, const Counts& counts, std::int64_t cards,
                bool fits) {
  const std::vector<MigSlices> slices = slices_of(g, counts);
  ASSERT_EQ(mig_cut(product, slices, cards) == MigCut::kFits, fits)
      << product << ' ' << cards << " cards: " << text(slices);
  if (fits) {
    ASSERT_LE(mig_least_cards(product, slices), cards) << text(slices);
  } else {
    ASSERT_GT(mig_least_cards(product, slices), cards) << text(slices);
  }
}

// Where slices of a profile may begin, parts of its size are taken in the order of what they are worth: of two that are
// worth as much either may go first, as each can be cut into the same.
TEST(MigCut, PartsThatAreWorthAsMuchAreAlike) {
  using Ways = std::multiset<std::pair<std::string_view, int>>;  // profile, first unit in the part
  std::size_t pairs = 0, unlike = 0;
  for (const char* product : {kH100, kA30, kPro}) {
    const MigGeometry& g = *mig_geometry(product);
    const auto ways_into = [&g](int first, int size) {
      Ways ways;
      for (const MigProfile& p : g.profiles) {
        for (const int start : p.starts) {
          if (start >= first && start + p.units <= first + size)
            ways.emplace(p.name, start - first);
        }
      }
      return ways;
    };
    for (const MigProfile& p : g.profiles) {
      for (const int a : p.starts) {
        for (const int b : p.starts) {
          const Ways in_a = ways_into(a, p.units), in_b = ways_into(b, p.units);
          EXPECT_EQ(in_a.size() == in_b.size(), in_a == in_b) << product << ' ' << p.name;
          pairs += a < b;
          unlike += a < b && in_a != in_b;
        }
      }
    }
  }
  EXPECT_GE(pairs, 100U);
  EXPECT_GT(unlike, 0U);
}

// Three slices of 2g leave two units of a card, of which one 1g can use one: by their units alone these would fit.
TEST(MigCut, WhatDoesNotFitTheLargestNodeNeedsMoreThanItsCards) {
  constexpr auto kMost = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
  const std::vector<MigSlices> slices{{"2g.20gb", 3 * kMost}, {"1g.10gb", 2 * kMost}};
  EXPECT_EQ(mig_cut(kH100, slices, kMost), MigCut::kTooMany);
  EXPECT_EQ(mig_least_cards(kH100, slices), kMost + 1);
  const std::vector<MigSlices> fewer{{"2g.20gb", 3 * kMost}, {"1g.10gb", kMost}};
  EXPECT_EQ(mig_least_cards(kH100, fewer), kMost);
}

TEST(MigCut, OneCardAgainstAllPlaces) {
  for (const char* product : {kH100, kA30}) {
    const MigGeometry& g = *mig_geometry(product);
    const auto cuts = all_cuts_of_one_card(g);
    EXPECT_GE(cuts.size(), 20U);
    each_vector(cuts, [&](const Counts& counts) {
      expect_cut(product, g, counts, 1, cuts.contains(counts));
    });
  }
}

TEST(MigCut, TwoCardsAgainstAllPlaces) {
  for (const char* product : {kH100, kA30}) {
    const MigGeometry& g = *mig_geometry(product);
    const auto one = all_cuts_of_one_card(g);
    const auto two = with_one_more(one, one);
    each_vector(two, [&](const Counts& counts) {
      int units = 0;
      for (std::size_t p = 0; p < counts.size(); ++p) units += counts[p] * g.profiles[p].units;
      if (units > 2 * g.card_units + 1) return;  // nearly all of them, and plainly too many
      expect_cut(product, g, counts, 2, two.contains(counts));
    });
  }
}

// Too many vectors to try each: those that fit, and those with one slice more.
TEST(MigCut, ThreeCardsAndManyProfilesOnTheEdge) {
  for (const auto& [product, cards] :
       {std::pair(kH100, 3), std::pair(kA30, 4), std::pair(kPro, 2)}) {
    const MigGeometry& g = *mig_geometry(product);
    const auto one = all_cuts_of_one_card(g);
    std::set<Counts> all = one;
    for (int card = 1; card < cards; ++card) all = with_one_more(all, one);
    std::mt19937_64 random(7);
    for (const Counts& counts : all) {
      if (random() % 8 != 0) continue;
      expect_cut(product, g, counts, cards, true);
      Counts more = counts;
      ++more[random() % more.size()];
      expect_cut(product, g, more, cards, all.contains(more));
    }
  }
}

TEST(MigCut, NodesAsTheyAre) {
  const auto fits = [](std::vector<MigSlices> slices, std::int64_t cards) {
    return mig_cut(kH100, slices, cards);
  };
  EXPECT_EQ(fits({}, 0), MigCut::kFits);
  EXPECT_EQ(fits({{"1g.10gb", 56}}, 8), MigCut::kFits);
  EXPECT_EQ(fits({{"1g.10gb", 57}}, 8), MigCut::kTooMany);
  EXPECT_EQ(fits({{"1g.10gb", 2}, {"2g.20gb", 1}, {"3g.40gb", 1}}, 1), MigCut::kFits);
  // All memory units are there, yet 4g only begins at 0, and 2g not at 6.
  EXPECT_EQ(fits({{"4g.40gb", 2}}, 1), MigCut::kTooMany);
  EXPECT_EQ(fits({{"2g.20gb", 4}}, 1), MigCut::kTooMany);
  EXPECT_EQ(fits({{"2g.20gb", 3}, {"1g.20gb", 1}}, 1), MigCut::kFits);
  EXPECT_EQ(fits({{"3g.40gb", 16}}, 8), MigCut::kFits);
  EXPECT_EQ(fits({{"3g.40gb", 9}, {"4g.40gb", 8}}, 8), MigCut::kTooMany);
  EXPECT_EQ(fits({{"1g.10gb.me", 2}}, 1), MigCut::kTooMany);
  EXPECT_EQ(fits({{"1g.10gb+me", 64}, {"3g.40gb", 64}, {"1g.20gb", 64}}, 64), MigCut::kFits);
  EXPECT_EQ(mig_least_cards(kH100, {{"2g.20gb", 4}}), 2);
  EXPECT_EQ(mig_least_cards(kH100, {{"7g.80gb", 3}, {"1g.10gb", 1}}), 4);
  EXPECT_EQ(mig_least_cards(kH100, {{"1g.10gb", 1'000'000}}), 142'858);
  EXPECT_EQ(mig_least_cards(kH100, {}), 0);
}

TEST(MigCut, WhatIsInNoTableIsNotKnown) {
  EXPECT_EQ(mig_cut("NVIDIA-L40S", {{"1g.10gb", 99}}, 1), MigCut::kUnknown);
  EXPECT_EQ(mig_cut(kH100, {{"1g.9gb", 99}}, 1), MigCut::kUnknown);
  EXPECT_EQ(mig_cut(kH100, {{"1g.9gb", 1}, {"1g.10gb", 8}}, 1), MigCut::kTooMany);
  EXPECT_EQ(mig_least_cards("NVIDIA-L40S", {{"1g.10gb", 15}}), 3);
  EXPECT_EQ(mig_least_cards(kH100, {{"1g.9gb", 15}, {"7g.80gb", 2}}), 3);
}

}  // namespace
}  // namespace subak
