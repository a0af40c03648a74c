// Random inputs of every kind, for the cluster, node, account and namespace that Program::found()
// makes. Fields are at their bounds, just below or just above them. The same seed gives the same
// inputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/text.h"
#include "model/bounds/bounds.h"
#include "model/input.h"

namespace subak {

class RandomInput {
 public:
  explicit RandomInput(std::uint64_t seed) : bits_(seed) {}

  in::Body body() {
    in::Body out = make(below(kKinds), std::make_index_sequence<kKinds>());
    edges_ = below(3);
    std::visit([&](auto& record) { record.fields(*this); }, out);
    return out;
  }

  template <class T>
  void operator()(int, std::string_view field, T& value) {
    fill(field, value);
  }

 private:
  static constexpr std::size_t kKinds = std::variant_size_v<in::Kinds>;
  static constexpr std::size_t kMostItems = 3;  // in a list that is not at its bound

  template <std::size_t... I>
  static in::Body make(std::size_t index, std::index_sequence<I...>) {
    in::Body body;
    ((index == I ? void(body.emplace<I>()) : void()), ...);
    return body;
  }
  std::uint64_t below(std::uint64_t n) { return bits_() % n; }

  // Of one input, at most `edges_` fields are at a bound; else the engine would refuse nearly all.
  bool at_edge() {
    if (edges_ == 0 || below(12) != 0) return false;
    --edges_;
    return true;
  }
  std::int64_t edge(std::int64_t most) { return most - 1 + static_cast<std::int64_t>(below(3)); }

  // Returns a name that exists, or that may be the name of something new.
  std::string usual(std::string_view field) {
    if (field == "cluster") return below(4) == 0 ? "" : "east";
    if (field == "account" || field == "path") return below(3) == 0 ? "ml.a" : "ml";
    if (field == "node") return below(2) == 0 ? "" : "n1";
    if (field == "ns") return "ns";
    if (field == "profile") return "1g.10gb";
    if (field == "product") return below(3) == 0 ? "A100" : "H100";
    if (field == "op" || field == "effect" || field == "borrow" || field == "lend") return "";
    if (field == "job_limits") return below(3) == 0 ? "jobs=3,queued=40" : "";
    if (field == "user_limits") return "";
    if (field == "budgets") return below(3) == 0 ? "40h/month,H100=3h/total" : "";
    std::string text(field);
    return text.append(std::to_string(below(40)));
  }

  template <class T>
  void fill(std::string_view field, T& value) {
    const auto* row = bounds::row_of(field, within_);
    const std::int64_t most = row == nullptr ? 0 : row->most;
    if constexpr (std::same_as<T, bool>) {
      value = below(2) == 1;
    } else if constexpr (std::same_as<T, JobId>) {
      value = JobId(ClusterId(1), 1 + below(40));
    } else if constexpr (std::same_as<T, AccountId>) {
      value = AccountId(static_cast<std::uint32_t>(1 + below(3)));
    } else if constexpr (std::same_as<T, double>) {
      value = static_cast<double>(below(1000));
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(below(EnumText<T>::names.size()));
    } else if constexpr (std::integral<T>) {
      const bool wide = !std::in_range<T>(most + 1 < most ? most : most + 1);
      value = static_cast<T>(at_edge() && !wide ? edge(most) : static_cast<std::int64_t>(below(4)));
    } else if constexpr (std::same_as<T, std::string>) {
      value = usual(field);
      if (at_edge()) value.resize(static_cast<std::size_t>(edge(most)), 'x');
    } else if constexpr (IsVector<T>) {
      const auto items =
          at_edge() ? static_cast<std::uint64_t>(edge(std::min<std::int64_t>(most, kMostAtEdge)))
                    : below(kMostItems);
      value.clear();
      for (std::uint64_t i = 0; i < items; ++i) fill_item(field, value.emplace_back());
    } else {
      fill_item(field, value);
    }
  }

  template <class T>
  void fill_item(std::string_view field, T& value) {
    if constexpr (std::same_as<T, std::string>) {
      value = usual(field);
    } else {
      const std::string_view outer = std::exchange(within_, field);
      value.fields(*this);
      within_ = outer;
    }
  }

  static constexpr std::int64_t kMostAtEdge = 1100;  // other tests have longer lists

  std::mt19937_64 bits_;
  std::uint64_t edges_ = 0;
  std::string_view within_;
};

}  // namespace subak
