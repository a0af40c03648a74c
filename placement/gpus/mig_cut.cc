#include "placement/gpus/mig_cut.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "model/mig.h"

namespace subak {
namespace {

constexpr std::size_t kMostUnits = 12;  // of a card
constexpr std::int64_t kMostPerUnknownCard = 7;

using Slices = std::vector<std::int64_t>;  // by the geometry's profiles

// True for a profile with the media extension engines: a card has fewer of its slices than
// positions for them.
bool once(const MigProfile& p) { return p.max_count < std::ssize(p.starts); }

// Returns the worth of a part: the number of positions for slices in the part.
int worth(const MigGeometry& g, int first, int size) {
  int ways = 0;
  for (const MigProfile& p : g.profiles) {
    ways += static_cast<int>(std::count_if(p.starts.begin(), p.starts.end(), [&](int start) {
      return start >= first && start + p.units <= first + size;
    }));
  }
  return ways;
}

// The parts of one size, and the profiles whose slice takes such a part completely.
struct Size {
  int units = 0;
  struct Taker {
    std::size_t profile = 0;
    std::vector<int> starts;  // the part with the lowest worth() first
  };
  // Profiles with fewer positions come first, because the positions of the other profiles include
  // theirs.
  std::vector<Taker> takers;
};

// Returns the sizes from the complete card down.
std::vector<Size> sizes_of(const MigGeometry& g) {
  std::map<int, Size, std::greater<>> sizes;
  for (std::size_t p = 0; p < g.profiles.size(); ++p) {
    const int units = g.profiles[p].units;
    std::vector<int> starts = g.profiles[p].starts;
    // Parts of equal worth are alike, so any of them may go first.
    std::stable_sort(starts.begin(), starts.end(),
                     [&](int a, int b) { return worth(g, a, units) < worth(g, b, units); });
    sizes[units].units = units;
    sizes[units].takers.push_back({p, std::move(starts)});
  }
  std::vector<Size> out;
  for (auto& [units, size] : sizes) {
    std::stable_sort(size.takers.begin(), size.takers.end(), [](const auto& a, const auto& b) {
      return a.starts.size() < b.starts.size();
    });
    out.push_back(std::move(size));
  }
  must(!out.empty() && out.front().units == g.card_units, "some profile takes a complete card");
  must(std::cmp_less_equal(g.card_units, kMostUnits), "no card has more units than any may have");
  return out;
}

// The free parts of some cards, by size and first unit. It does not matter on which card a part is.
class FreeParts {
 public:
  explicit FreeParts(const std::vector<Size>& sizes) : sizes_(&sizes), free_(sizes.size()) {}

  void add_cards(std::int64_t cards) { free_[0][0] += cards; }
  // Adds cards on which one slice of `units` units, from unit `start` on, is already taken.
  void add_cards_with(int units, int start, std::int64_t cards) {
    for (std::size_t k = 1; k < free_.size() && size(k - 1) > units; ++k) {
      const int around = start / size(k - 1) * size(k - 1);
      for (int first = around; first < around + size(k - 1); first += size(k)) {
        if (start < first || start >= first + size(k)) at(k, first) += cards;
      }
    }
  }

  // Takes all slices. Returns false if there is no room for them. `slices` has no profile for which
  // once() is true.
  bool take(const Slices& slices) {
    for (std::size_t k = 0; k < free_.size(); ++k) {
      for (const Size::Taker& taker : (*sizes_)[k].takers) {
        if (!take(slices[taker.profile], k, taker.starts)) return false;
      }
      for (int first = 0; k + 1 < free_.size() && first < size(0); first += size(k + 1)) {
        at(k + 1, first) += at(k, first / size(k) * size(k));
      }
    }
    return true;
  }

 private:
  int size(std::size_t k) const { return (*sizes_)[k].units; }
  std::int64_t& at(std::size_t k, int first) {
    must(first >= 0 && first < size(0), "a part begins on its card");
    return free_[k][static_cast<std::size_t>(first)];
  }

  bool take(std::int64_t count, std::size_t k, const std::vector<int>& starts) {
    for (const int start : starts) {
      const std::int64_t here = std::min(count, at(k, start));
      at(k, start) -= here;
      count -= here;
    }
    return count == 0;
  }

  const std::vector<Size>* sizes_;
  std::vector<std::array<std::int64_t, kMostUnits>> free_;
};

class Cutter {
 public:
  Cutter(const MigGeometry& g, const Slices& slices) : g_(g), sizes_(sizes_of(g)), many_(slices) {
    must(slices.size() == g.profiles.size(), "slices are counted by the profiles of the card");
    for (std::size_t p = 0; p < slices.size(); ++p) {
      if (!once(g.profiles[p]) || slices[p] == 0) continue;
      add_places(g.profiles[p], slices[p]);
      many_[p] = 0;
    }
  }

  bool fits(std::int64_t cards) const { return fits(0, cards, FreeParts(sizes_)); }

 private:
  // A position on a card for a slice of a profile for which once() is true.
  struct Place {
    int units = 0;
    int start = 0;
    std::int64_t count = 0;  // at the profile's first position: its number of slices
    bool last = false;       // the last position of its profile
  };

  // Adds the positions of the profile. If several positions leave equal parts of the card, it adds
  // only one of them.
  void add_places(const MigProfile& p, std::int64_t count) {
    std::vector<std::vector<int>> known;
    for (const int start : p.starts) {
      std::vector<int> parts_around;
      for (const Size& size : sizes_) {
        if (size.units >= p.units) {
          parts_around.push_back(worth(g_, start / size.units * size.units, size.units));
        }
      }
      if (std::find(known.begin(), known.end(), parts_around) != known.end()) continue;
      places_.push_back({p.units, start, known.empty() ? count : 0, false});
      known.push_back(std::move(parts_around));
    }
    must(!places_.empty(), "each profile has a position on the card");
    places_.back().last = true;
  }

  bool fits(std::size_t next, std::int64_t cards, const FreeParts& so_far,
            std::int64_t left = 0) const {
    FreeParts parts = so_far;
    if (next == places_.size()) {
      parts.add_cards(cards);
      return parts.take(many_);
    }
    const Place& place = places_[next];
    left += place.count;
    if (left > cards) return false;
    for (std::int64_t here = place.last ? left : 0; here <= left; ++here) {
      FreeParts with = parts;
      with.add_cards_with(place.units, place.start, here);
      if (fits(next + 1, cards - here, with, left - here)) return true;
    }
    return false;
  }

  const MigGeometry& g_;
  const std::vector<Size> sizes_;
  Slices many_;
  std::vector<Place> places_;
};

struct Known {
  Slices slices;
  std::int64_t others = 0;  // the largest number of slices of a profile that is in no table
};

Known known_of(const MigGeometry* g, const std::vector<MigSlices>& slices) {
  Known known;
  if (g != nullptr) known.slices.resize(g->profiles.size());
  for (const MigSlices& s : slices) {
    const MigProfile* p = g == nullptr ? nullptr : find_mig_profile(*g, s.profile);
    if (p != nullptr) {
      known.slices[static_cast<std::size_t>(p - g->profiles.data())] += s.count;
    } else {
      known.others = std::max(known.others, s.count);
    }
  }
  return known;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  must(b > 0, "a card has room for some slices");
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace

MigCut mig_cut(std::string_view product, const std::vector<MigSlices>& slices, std::int64_t cards) {
  const MigGeometry* g = mig_geometry(product);
  const Known known = known_of(g, slices);
  if (g != nullptr && !Cutter(*g, known.slices).fits(cards)) return MigCut::kTooMany;
  return known.others > 0 ? MigCut::kUnknown : MigCut::kFits;
}

std::int64_t mig_least_cards(std::string_view product, const std::vector<MigSlices>& slices) {
  const MigGeometry* g = mig_geometry(product);
  const Known known = known_of(g, slices);
  std::int64_t cards = ceil_div(known.others, kMostPerUnknownCard);
  if (g == nullptr) return cards;
  std::int64_t units = 0;
  for (std::size_t p = 0; p < known.slices.size(); ++p) {
    cards = std::max(cards, ceil_div(known.slices[p], g->profiles[p].max_count));
    units += known.slices[p] * g->profiles[p].units;
  }
  cards = std::max(cards, ceil_div(units, g->card_units));
  constexpr auto kMost = static_cast<std::int64_t>(limits::kMaxGpusPerNode);
  const Cutter cutter(*g, known.slices);
  while (cards <= kMost && !cutter.fits(cards)) ++cards;
  return cards;
}

std::string mig_slices_text(const std::vector<MigSlices>& slices) {
  std::string text;
  for (const MigSlices& s : slices) {
    text += (text.empty() ? "" : " ") + s.profile + '=' + std::to_string(s.count);
  }
  return text;
}

}  // namespace subak
