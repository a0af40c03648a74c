#include "server/yaml/price_list.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "core/printable.h"
#include "core/quantity.h"
#include "server/yaml/document.h"

namespace subak {
namespace {

constexpr double kMaxPrice = 1e6;

// The first mistake ends the reading.
struct Mistake {
  Error error;
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  PriceList read(const YAML::Node& root) {
    if (!root.IsMap()) fail(root, "", "want the keys currency, gpus and energy");
    for (const auto& member : root) {
      const std::string& key = member.first.Scalar();
      if (key == "currency") {
        out_.currency = text(member.second, "currency");
      } else if (key == "gpus") {
        each(member.second, [&](const YAML::Node& item) { out_.gpus.push_back(gpu(item)); });
      } else if (key == "energy") {
        each(member.second, [&](const YAML::Node& item) { out_.energy.push_back(energy(item)); });
      } else {
        fail(member.first, key, "want currency, gpus or energy");
      }
    }
    if (out_.currency.empty()) fail(root, "currency", "want a name such as EUR");
    return std::move(out_);
  }

  [[noreturn]] void fail(const YAML::Node& at, const std::string& key, const std::string& want,
                         const std::string& got = "") const {
    throw Mistake{{ErrorCode::kInvalid,
                   name_ + ":" + std::to_string(line_of(at)) + (key.empty() ? "" : ": " + key),
                   printable(got), want}};
  }

 private:
  template <class F>
  void each(const YAML::Node& list, F&& f) {
    if (!list.IsSequence()) fail(list, "", "want a list of prices");
    if (list.size() > limits::kMaxPrices) {
      fail(list, "", "want at most " + std::to_string(limits::kMaxPrices) + " prices");
    }
    for (const YAML::Node& item : list) {
      if (!item.IsMap()) fail(item, "", "want a price with its keys");
      f(item);
    }
  }

  PriceList::Gpu gpu(const YAML::Node& item) {
    only(item, {"from", "product", "perHour"}, "profile");
    PriceList::Gpu out{day(item), text(item["product"], "product"), price(item, "perHour"), {}};
    if (item["profile"]) out.profile = text(item["profile"], "profile");
    if (!seen_.emplace(out.product, out.profile, out.from_day).second) {
      fail(item, "product", "want one price of a product and profile from a day on", out.product);
    }
    return out;
  }
  PriceList::Energy energy(const YAML::Node& item) {
    only(item, {"from", "perKwh"});
    PriceList::Energy out{day(item), price(item, "perKwh")};
    if (!seen_.emplace("", "", out.from_day).second) fail(item, "from", "want each day once");
    return out;
  }

  // Checks that the item has these keys, and no others except `optional`.
  void only(const YAML::Node& item, const std::set<std::string>& keys,
            const std::string& optional = "") const {
    for (const auto& member : item) {
      if (!keys.contains(member.first.Scalar()) && member.first.Scalar() != optional) {
        fail(member.first, member.first.Scalar(), "not a key of this price");
      }
    }
    for (const std::string& key : keys) {
      if (!item[key]) fail(item, key, "want this key");
    }
  }

  std::string text(const YAML::Node& node, const std::string& key) const {
    const std::string out = node.IsScalar() ? node.Scalar() : std::string();
    if (out.empty() || out.size() > limits::kMaxNameBytes || !is_printable(out)) {
      fail(node, key, "want a name", out);
    }
    return out;
  }

  double price(const YAML::Node& item, const std::string& key) const {
    const YAML::Node node = item[key];
    const std::string found = node.IsScalar() ? node.Scalar() : std::string();
    double value = 0;
    const auto [end, error] =
        std::from_chars(found.data(), found.data() + found.size(), value, std::chars_format::fixed);
    const bool number = error == std::errc() && end == found.data() + found.size();
    if (!number || !std::isfinite(value) || value < 0 || value > kMaxPrice) {
      fail(node, key, "want a number from 0 to 1000000, such as 2.50", found);
    }
    return value;
  }

  std::int64_t day(const YAML::Node& item) const {
    const YAML::Node node = item["from"];
    const std::string found = node.IsScalar() ? node.Scalar() : std::string();
    int parts[3] = {0, 0, 0};
    bool good = found.size() == 10 && found[4] == '-' && found[7] == '-';
    const std::size_t begin[3] = {0, 5, 8}, end[3] = {4, 7, 10};
    for (int i = 0; good && i < 3; ++i) {
      const char* const last = found.data() + end[i];
      const auto [stop, error] = std::from_chars(found.data() + begin[i], last, parts[i]);
      good = error == std::errc() && stop == last && parts[i] >= 0;
    }
    const std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                           std::chrono::month(static_cast<unsigned>(parts[1])),
                                           std::chrono::day(static_cast<unsigned>(parts[2]))};
    if (!good || !date.ok() || parts[0] < 1970) {
      fail(node, "from", "want a day such as 2026-01-31", found);
    }
    return std::chrono::sys_days(date).time_since_epoch().count();
  }

  const std::string& name_;
  PriceList out_;
  // The product, the profile and the first day of each price.
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen_;
};

}  // namespace

std::optional<double> PriceList::per_hour(std::string_view product, std::int64_t day,
                                          std::string_view profile) const {
  const auto latest = [&](std::string_view name, std::string_view slices) {
    const Gpu* best = nullptr;
    for (const Gpu& one : gpus) {
      const bool fits = one.product == name && one.profile == slices && one.from_day <= day;
      if (fits && (best == nullptr || one.from_day > best->from_day)) best = &one;
    }
    return best;
  };
  const Gpu* price = nullptr;
  if (!profile.empty()) price = latest(product, profile);
  if (price == nullptr && !profile.empty()) price = latest(kAnyProduct, profile);
  if (price == nullptr) price = latest(product, "");
  if (price == nullptr) price = latest(kAnyProduct, "");
  return price == nullptr ? std::nullopt : std::optional(price->per_hour);
}

std::optional<double> PriceList::per_kwh(std::int64_t day) const {
  const Energy* best = nullptr;
  for (const Energy& one : energy) {
    if (one.from_day > day) continue;
    if (best == nullptr || one.from_day > best->from_day) best = &one;
  }
  return best == nullptr ? std::nullopt : std::optional(best->per_kwh);
}

Result<PriceList> read_price_list(const std::string& text, const std::string& name) {
  const YamlDocument read = read_yaml(text);
  if (read.mistake) {
    return Error{ErrorCode::kInvalid, name + ":" + std::to_string(read.mistake->line), "",
                 read.mistake->what};
  }
  try {
    return Reader(name).read(read.root);
  } catch (const Mistake& mistake) {
    return mistake.error;
  }
}

}  // namespace subak
