// The versions of the durable form, in which the store has facts (server/codec). Every field of a
// record and every value of an enum belongs to the version that introduced it. A program that knows
// only older versions refuses newer fields and values. So Subak writes a field or value only after
// an operator has finalized the store to the version that introduced it (docs/design/0030). After
// that, older programs cannot read the store.
// Threads: any; pure functions, plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/text.h"

namespace subak {

// The number of a field in its record, never reused, and the version that introduced the field. A
// plain number means version 1. A field of version 2 is written as v(in_version<2>(3), "nodes",
// nodes). A field visitor (core/text.h) that ignores versions takes an int instead of a
// FieldNumber.
struct FieldNumber {
  // The number in the record; 0 is no valid number.
  int number = 0;
  // The version that introduced the field, from 1.
  std::uint32_t version = 1;
  constexpr FieldNumber(int n) : number(n) {}  // NOLINT: implicit on purpose
  constexpr FieldNumber(int n, std::uint32_t v) : number(n), version(v) {}
  constexpr operator int() const { return number; }  // NOLINT: implicit on purpose
};
// Returns the number of a field that `Version` introduced. `Version` is above 1.
template <std::uint32_t Version>
constexpr FieldNumber in_version(int number) {
  static_assert(Version > 1, "a field of version 1 has its number alone");
  return {number, Version};
}

// Returns the version that introduced the enum value; 0: no version has the value. If several
// versions introduced values of an enum, its EnumText lists how many values each version has, from
// version 1 on:
//     static constexpr std::array<std::size_t, 2> values_of_version{2, 3};
// Without values_of_version, all values are of version 1.
template <class E>
constexpr std::uint32_t version_of_value(E e) {
  const auto i = static_cast<std::size_t>(e);
  if (i >= EnumText<E>::names.size()) return 0;
  std::uint32_t version = 1;
  if constexpr (requires { EnumText<E>::values_of_version; }) {
    static_assert(EnumText<E>::values_of_version.back() == EnumText<E>::names.size(),
                  "the newest version has all values");
    for (const std::size_t values : EnumText<E>::values_of_version) version += i >= values ? 1 : 0;
  }
  return version;
}

}  // namespace subak
