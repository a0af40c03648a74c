// How many slices 64 cards take by our own rule (mig_placer.h) beside those of others: Poisson
// arrivals, exponential service, and what fits nowhere is lost. All rules see the same arrivals.
//   SUBAK_MIG_MIXES (5, here 2), SUBAK_MIG_SEEDS (1), SUBAK_MIG_SEED (1), SUBAK_MIG_ARRIVALS (400000)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mig_placer.h"

namespace subak {
namespace {

constexpr std::size_t kCards = 64;
constexpr int kComputeSlices = 7;  // of a card
constexpr std::array<const char*, 6> kProfiles = {"1g.10gb", "1g.20gb", "2g.20gb",
                                                  "3g.40gb", "4g.40gb", "7g.80gb"};
constexpr std::array<double, 3> kLoads = {0.85, 1, 1.3};

using Mix = std::array<double, 6>;  // how often each of kProfiles comes
constexpr std::array<Mix, 5> kMixes = {{{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6},
                                        {.5, .15, .2, .1, .03, .02},
                                        {.05, .05, .1, .25, .2, .35},
                                        {.45, .03, .02, .02, .03, .45},
                                        {.35, .2, .25, .15, .05, 0}}};

struct Card {
  const MigGeometry& geometry = *mig_geometry("NVIDIA-H100-80GB-HBM3");
  std::array<const MigProfile*, 6> profiles{};
  Card() {
    for (std::size_t p = 0; p < 6; ++p) profiles[p] = find_mig_profile(geometry, kProfiles[p]);
  }
};
const Card& card() {
  static const Card of;
  return of;
}

MigMask with(MigMask taken, std::size_t p, int start) {
  return static_cast<MigMask>(taken | mig_units(*card().profiles[p], start));
}

int room(MigMask taken, std::size_t p) {
  const auto& starts = card().profiles[p]->starts;
  return static_cast<int>(std::count_if(starts.begin(), starts.end(), [&](int start) {
    return (mig_units(*card().profiles[p], start) & taken) == 0;
  }));
}

// In how many places slices could still be put.
int capability(MigMask taken) {
  int sum = 0;
  for (std::size_t p = 0; p < 6; ++p) sum += room(taken, p);
  return sum;
}

// FGD's F by how often each profile comes.
double fragments(MigMask taken, const Mix& mix) {
  const int free = 8 - std::popcount(taken);
  double sum = 0;
  for (std::size_t p = 0; p < 6; ++p)
    sum += mix[p] * (free - card().profiles[p]->units * room(taken, p));
  return sum;
}

// A rule of others: the least score of a card and a start; of equals the first card, and there the least
// score of the start.
struct Rule {
  std::string name;
  std::function<double(MigMask, std::size_t, int)> score;
  std::function<double(MigMask, std::size_t, int)> of_start = [](MigMask, std::size_t, int start) {
    return start;
  };
};

std::vector<Rule> rules_of_others(const Mix& mix) {
  const auto fullest = [](MigMask taken, std::size_t, int) { return -std::popcount(taken); };
  const auto highest = [](MigMask, std::size_t, int start) { return -start; };
  const auto most_capable = [](MigMask taken, std::size_t p, int start) {
    return -capability(with(taken, p, start));
  };
  const auto growth = [mix](MigMask taken, std::size_t p, int start) {
    return fragments(with(taken, p, start), mix) - fragments(taken, mix);
  };
  return {{"first fit", [](auto...) { return 0; }},
          {"best fit", fullest},
          {"preferred", fullest, highest},
          {"capable", fullest, most_capable},
          {"capable 1st", [](auto...) { return 0; }, most_capable},
          {"least lost",
           [](MigMask taken, std::size_t p, int start) {
             return capability(taken) - capability(with(taken, p, start));
           }},
          {"spread", [](MigMask taken, std::size_t, int) { return std::popcount(taken); }},
          {"FGD", growth}};
}

// A rule as a table, so that 400,000 arrivals take a moment.
using Chooser =
    std::function<std::optional<MigPlace>(std::size_t, const std::array<MigMask, kCards>&)>;

Chooser chooser(const Rule& rule) {
  struct Best {
    double score = 0, of_start = 0;
    int start = -1;
  };
  std::vector<std::array<Best, 256>> best(6);
  for (std::size_t p = 0; p < 6; ++p) {
    for (unsigned m = 0; m < 256; ++m) {
      const auto taken = static_cast<MigMask>(m);
      for (const int start : card().profiles[p]->starts) {
        if ((mig_units(*card().profiles[p], start) & taken) != 0) continue;
        const Best now{std::round(rule.score(taken, p, start) * 1e6),
                       rule.of_start(taken, p, start), start};
        Best& so_far = best[p][m];
        const bool less =
            std::pair(now.score, now.of_start) < std::pair(so_far.score, so_far.of_start);
        if (so_far.start < 0 || less) so_far = now;
      }
    }
  }
  return [best](std::size_t p, const std::array<MigMask, kCards>& taken) {
    std::optional<MigPlace> place;
    double least = 0;
    for (std::size_t k = 0; k < kCards; ++k) {
      const Best& here = best[p][taken[k]];
      if (here.start < 0 || (place && here.score >= least)) continue;
      place = MigPlace{k, here.start};
      least = here.score;
    }
    return place;
  };
}

Chooser our_chooser() {
  std::array<std::size_t, 6> index{};
  for (std::size_t p = 0; p < 6; ++p) {
    index[p] = static_cast<std::size_t>(card().profiles[p] - card().geometry.profiles.data());
  }
  return [index, placer = MigPlacer(card().geometry)](std::size_t p, const auto& taken) {
    return placer.place(index[p], taken);
  };
}

// In percent of what came after the first tenth: weighed by compute slices, and by number.
struct Accepted {
  double weighed = 0, number = 0;
};

Accepted run(const Chooser& choose, const Mix& mix, double load, std::uint64_t arrivals,
             std::uint64_t seed) {
  struct End {
    double at;
    std::size_t card;
    MigMask units;
    bool operator>(const End& other) const { return at > other.at; }
  };
  std::array<MigMask, kCards> taken{};
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::discrete_distribution<std::size_t> profile(mix.begin(), mix.end());
  double mean = 0;
  for (std::size_t p = 0; p < 6; ++p) mean += mix[p] * card().profiles[p]->compute;
  const double rate = load * kCards * kComputeSlices / mean;  // service takes 1 on average
  double now = 0, came = 0, came_number = 0, taken_in = 0, taken_number = 0;
  for (std::uint64_t n = 0; n < arrivals; ++n) {
    now -= std::log(1 - uniform(random)) / rate;
    const std::size_t p = profile(random);
    const double service = -std::log(1 - uniform(random));
    for (; !ends.empty() && ends.top().at <= now; ends.pop()) {
      taken[ends.top().card] &= static_cast<MigMask>(~ends.top().units);
    }
    const auto place = choose(p, taken);
    if (place) {
      const MigMask units = mig_units(*card().profiles[p], place->start);
      EXPECT_EQ(taken[place->card] & units, 0);
      taken[place->card] |= units;
      ends.push({now + service, place->card, units});
    }
    if (n < arrivals / 10) continue;
    const int compute = card().profiles[p]->compute;
    came += compute;
    came_number += 1;
    taken_in += place ? compute : 0;
    taken_number += place ? 1 : 0;
  }
  return {100 * taken_in / came, 100 * taken_number / came_number};
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void print_head(const std::vector<Rule>& rules) {
  std::printf("%-12s %8s", "mix, load", "ours");
  for (const Rule& rule : rules) std::printf(" %11s", rule.name.c_str());
  std::printf("\n");
}

void print_row(const std::string& name, const std::vector<double>& percents) {
  std::printf("%-12s %8.2f", name.c_str(), percents[0]);
  for (std::size_t k = 1; k < percents.size(); ++k) std::printf(" %11.2f", percents[k]);
  std::printf("\n");
}

TEST(MigPacking, TakesAsManySlicesAsTheBestOfTheOthers) {
  constexpr double kPoints = 0.1;
  const std::uint64_t arrivals = number("SUBAK_MIG_ARRIVALS", 400'000);
  const std::uint64_t seeds = number("SUBAK_MIG_SEEDS", 1), first = number("SUBAK_MIG_SEED", 1);
  const std::size_t mixes = std::min<std::size_t>(number("SUBAK_MIG_MIXES", 2), kMixes.size());
  std::vector<std::pair<std::string, std::vector<double>>> by_number;
  std::printf("%% of compute slices taken\n");
  print_head(rules_of_others(kMixes[0]));
  for (std::size_t m = 0; m < mixes; ++m) {
    std::vector<Chooser> choosers = {our_chooser()};
    for (const Rule& rule : rules_of_others(kMixes[m])) choosers.push_back(chooser(rule));
    for (const double load : kLoads) {
      std::vector<double> weighed, numbers;
      for (const Chooser& choose : choosers) {
        weighed.push_back(0);
        numbers.push_back(0);
        for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
          const Accepted a = run(choose, kMixes[m], load, arrivals, seed);
          weighed.back() += a.weighed / static_cast<double>(seeds);
          numbers.back() += a.number / static_cast<double>(seeds);
        }
        EXPECT_GT(weighed.back(), 30);
        EXPECT_LT(weighed.back(), 100);
      }
      std::array<char, 16> name{};
      std::snprintf(name.data(), name.size(), "%zu, %.2f", m + 1, load);
      print_row(name.data(), weighed);
      by_number.emplace_back(name.data(), numbers);
      EXPECT_GE(weighed[0], *std::max_element(weighed.begin() + 1, weighed.end()) - kPoints)
          << name.data();
    }
  }
  std::printf("%% of slices taken, by number\n");
  for (const auto& [name, numbers] : by_number) print_row(name, numbers);
}

}  // namespace
}  // namespace subak
