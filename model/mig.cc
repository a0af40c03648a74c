#include "model/mig.h"

#include <algorithm>
#include <array>

#include "core/must.h"
#include "model/product.h"

namespace subak {
namespace {

// The names of the seven profiles of a product. All products with seven compute slices share one
// geometry.
struct SevenNames {
  std::string_view g1, g1_me, g1_double, g2, g3, g4, g7;
};

const std::vector<int> kOnes = {0, 1, 2, 3, 4, 5, 6};
const std::vector<int> kDoubles = {0, 2, 4, 6};
const std::vector<int> kTwos = {0, 2, 4};
const std::vector<int> kHalves = {0, 4};
const std::vector<int> kFirst = {0};

void add_seven(MigGeometry& g, const SevenNames& n) {
  g.card_units = 8;
  const std::array<MigProfile, 7> profiles = {{{n.g1, 1, 1, 7, kOnes},
                                               {n.g1_me, 1, 1, 1, kOnes},
                                               {n.g1_double, 1, 2, 4, kDoubles},
                                               {n.g2, 2, 2, 3, kTwos},
                                               {n.g3, 3, 4, 2, kHalves},
                                               {n.g4, 4, 4, 1, kFirst},
                                               {n.g7, 7, 8, 1, kFirst}}};
  for (const MigProfile& p : profiles) {
    const bool known = std::any_of(g.profiles.begin(), g.profiles.end(),
                                   [&](const MigProfile& q) { return q.name == p.name; });
    if (!known) g.profiles.push_back(p);
  }
}

MigGeometry a30() {
  const std::vector<int> ones = {0, 1, 2, 3};
  const std::vector<int> twos = {0, 2};
  return {4,
          {{"1g.6gb", 1, 1, 4, ones},
           {"1g.6gb.me", 1, 1, 1, ones},
           {"2g.12gb", 2, 2, 2, twos},
           {"2g.12gb.me", 2, 2, 1, twos},
           {"4g.24gb", 4, 4, 1, kFirst}}};
}

MigGeometry rtx_pro_6000() {
  const std::vector<int> quarters = {0, 3, 6, 9};
  const std::vector<int> halves = {0, 6};
  return {12,
          {{"1g.24gb", 1, 3, 4, quarters},
           {"1g.24gb.me", 1, 3, 1, quarters},
           {"1g.24gb.gfx", 1, 3, 4, quarters},
           {"1g.24gb.me.all", 1, 3, 1, quarters},
           {"1g.24gb-me", 1, 3, 4, quarters},
           {"2g.48gb", 2, 6, 2, halves},
           {"2g.48gb.gfx", 2, 6, 2, halves},
           {"2g.48gb.me.all", 2, 6, 1, halves},
           {"2g.48gb-me", 2, 6, 2, halves},
           {"4g.96gb", 4, 12, 1, kFirst},
           {"4g.96gb.gfx", 4, 12, 1, kFirst}}};
}

// Asserts that each slice lies on its card, and that max_count slices of a profile cost at most one
// card.
void check_geometry(const MigGeometry& g) {
  for (const MigProfile& p : g.profiles) {
    must(p.units > 0 && p.max_count > 0, "a slice takes a part of its card");
    must(p.units * p.max_count <= g.card_units, "all slices of a profile are on one card");
    must(p.max_count <= std::ssize(p.starts), "each slice of a card has a position");
    for (const int start : p.starts) {
      must(start >= 0 && start + p.units <= g.card_units, "a slice ends on its card");
    }
  }
}

struct Family {
  std::string_view id;
  MigGeometry geometry;
};

// Profile names contain the card's memory, so each memory size is a family of its own. Where
// drivers disagree on a name (GB200), both spellings are listed.
const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> f;
    const auto seven = [&f](std::string_view id, const SevenNames& n) {
      if (f.empty() || f.back().id != id) f.push_back({id, {}});
      add_seven(f.back().geometry, n);
    };
    f.push_back({"24", a30()});
    f.push_back({"pro96", rtx_pro_6000()});
    seven("40", {"1g.5gb", "1g.5gb.me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"});
    seven("80", {"1g.10gb", "1g.10gb.me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"});
    seven("94", {"1g.12gb", "1g.12gb.me", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"});
    seven("96", {"1g.12gb", "1g.12gb.me", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"});
    seven("141", {"1g.18gb", "1g.18gb.me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"});
    seven("144", {"1g.18gb", "1g.18gb.me", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb"});
    seven("180", {"1g.23gb", "1g.23gb.me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"});
    seven("186", {"1g.23gb", "1g.23gb.me", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"});
    seven("186", {"1g.24gb", "1g.24gb.me", "1g.47gb", "2g.47gb", "3g.95gb", "4g.95gb", "7g.189gb"});
    seven("269",
          {"1g.34gb", "1g.34gb.me", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb"});
    seven("278",
          {"1g.35gb", "1g.35gb.me", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb", "7g.278gb"});
    for (const Family& family : f) check_geometry(family.geometry);
    return f;
  }();
  return all;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the chip in the product name: "NVIDIA-H100-80GB-HBM3" -> "H100".
std::string_view chip_of(std::string_view product) {
  for (const std::string_view prefix : {"NVIDIA-", "Tesla-"}) {
    if (product.starts_with(prefix)) product.remove_prefix(prefix.size());
  }
  return product.substr(0, product.find('-'));
}

std::string_view family_of(std::string_view product) {
  if (has(product, "RTX-PRO-6000-Blackwell")) return "pro96";
  const std::string_view chip = chip_of(product);
  if (chip == "A30") return "24";
  if (chip == "A100" || chip == "A800") {
    if (has(product, "80GB")) return "80";
    return has(product, "40GB") ? "40" : "";
  }
  if (chip == "H100" || chip == "H800") {
    if (has(product, "NVL")) return "94";
    return has(product, "96GB") ? "96" : "80";
  }
  if (chip == "H20") return has(product, "3e") ? "141" : "96";
  if (chip == "GH200") return has(product, "144G") ? "144" : "96";
  if (chip == "H200") return "141";
  if (chip == "B200") return "180";
  if (chip == "GB200") return "186";
  if (chip == "B300") return "269";
  if (chip == "GB300") return "278";
  return "";
}

bool same_profile(std::string_view listed, std::string_view asked) {
  return std::equal(listed.begin(), listed.end(), asked.begin(), asked.end(),
                    [](char a, char b) { return a == (b == '+' || b == ',' ? '.' : b); });
}

}  // namespace

const MigGeometry* mig_geometry(std::string_view product) {
  const std::string_view id = family_of(base_product(product));
  for (const Family& f : families()) {
    if (f.id == id) return &f.geometry;
  }
  must(id.empty(), "each family of cards has a geometry");
  return nullptr;
}

const MigProfile* find_mig_profile(const MigGeometry& geometry, std::string_view name) {
  const auto it = std::find_if(geometry.profiles.begin(), geometry.profiles.end(),
                               [&](const MigProfile& p) { return same_profile(p.name, name); });
  return it == geometry.profiles.end() ? nullptr : &*it;
}

namespace {

std::optional<MilliGpu> cost_of(const MigGeometry* geometry, std::string_view profile) {
  const MigProfile* p = geometry == nullptr ? nullptr : find_mig_profile(*geometry, profile);
  if (p == nullptr) return std::nullopt;
  const MilliGpu cost = kMilliPerGpu * p->units / geometry->card_units;
  must(cost > 0 && cost <= kMilliPerGpu, "a slice is a part of its card");
  return cost;
}

}  // namespace

std::optional<MilliGpu> mig_slice_milligpu(std::string_view product, std::string_view profile) {
  return cost_of(mig_geometry(product), profile);
}

MilliGpu least_mig_slice_milligpu(std::string_view profile) {
  MilliGpu least = 0;
  for (const Family& family : families()) {
    const MilliGpu cost = cost_of(&family.geometry, profile).value_or(0);
    if (cost > 0 && (least == 0 || cost < least)) least = cost;
  }
  return least;
}

bool is_mig_profile(std::string_view profile) {
  return std::any_of(families().begin(), families().end(), [&](const Family& f) {
    return find_mig_profile(f.geometry, profile) != nullptr;
  });
}

std::string mig_profiles_text(const std::vector<std::string>& products) {
  std::vector<std::string_view> listed;
  std::string text;
  for (const std::string& product : products) {
    const MigGeometry* geometry = mig_geometry(product);
    if (geometry == nullptr) continue;
    for (const MigProfile& p : geometry->profiles) {
      if (std::find(listed.begin(), listed.end(), p.name) != listed.end()) continue;
      listed.push_back(p.name);
      text += (text.empty() ? "want one of " : ", ") + std::string(p.name);
    }
  }
  return text.empty() ? "want a profile that some card has, as 1g.10gb" : text;
}

}  // namespace subak
