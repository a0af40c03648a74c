// Makes random facts of every kind. It fills the fields that the records list, so a new field needs
// no code here. The same seed gives the same facts.
// Threads: one at a time for each object.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/text.h"
#include "model/fact.h"

namespace subak {

class RandomFill {
 public:
  explicit RandomFill(std::uint64_t seed) : bits_(seed) {}

  template <class T>
  void operator()(int, std::string_view, T& value) {
    fill(value);
  }

  // Returns a fact of the kind with this index in fact::Body.
  Fact fact(std::size_t index) {
    Fact out;
    out.body = make(index, std::make_index_sequence<std::variant_size_v<fact::Kinds>>());
    std::visit([&](auto& record) { record.fields(*this); }, out.body);
    return out;
  }
  std::uint64_t below(std::uint64_t n) { return bits_() % n; }

 private:
  template <std::size_t... I>
  static fact::Body make(std::size_t index, std::index_sequence<I...>) {
    fact::Body body;
    ((index == I ? void(body.emplace<I>()) : void()), ...);
    return body;
  }

  // Returns a random number. Many are small or at an end of their range, because the length of an
  // encoding changes there.
  std::uint64_t number() {
    switch (below(6)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return ~std::uint64_t{0} >> below(64);
      case 3:
        return std::uint64_t{1} << below(64);
      default:
        return bits_() >> below(64);
    }
  }

  template <class T>
  void fill(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = below(2) == 1;
    } else if constexpr (IsSmallId<T>) {
      value = T(static_cast<typename T::rep>(number()));
    } else if constexpr (std::same_as<T, JobId>) {
      value = JobId(number());
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(below(EnumText<T>::names.size()));
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(number());
    } else if constexpr (std::floating_point<T>) {
      constexpr std::array<double, 6> kSome{0, -0.0, 1, -1.5e300, 5e-324, 1.0 / 3};
      value = kSome[below(kSome.size())];
    } else if constexpr (std::same_as<T, std::string>) {
      value.clear();
      const std::uint64_t size = below(4) == 0 ? below(300) : below(12);
      for (std::uint64_t i = 0; i < size; ++i) value += static_cast<char>(' ' + below(95));
    } else if constexpr (IsVector<T>) {
      value.clear();
      for (std::uint64_t n = below(4); n > 0; --n) fill(value.emplace_back());
    } else {
      if (below(8) != 0) value.fields(*this);
    }
  }

  std::mt19937_64 bits_;
};

}  // namespace subak
