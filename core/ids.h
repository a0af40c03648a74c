// Strong ids. An id is a small integer that the engine assigns once and never reuses. It orders by
// value, which breaks the last tie of every comparison in the core. 0 is "none" for all of them.
// Threads: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace subak {

// An integer that cannot be mixed up with another kind of id.
template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  Rep value = 0;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using ClusterId = Id<struct ClusterTag, std::uint16_t>;  // one Kubernetes (or bare) cluster
using AccountId = Id<struct AccountTag, std::uint32_t>;  // a node of the account tree, root is 1
using NodeId = Id<struct NodeTag, std::uint32_t>;        // a node of any cluster, unique over all
using ProductId = Id<struct ProductTag, std::uint16_t>;  // an interned GPU product, 0 = "any"
using ShapeId = Id<struct ShapeTag, std::uint32_t>;      // an interned placement request

// A job id: the cluster in the upper 16 bits, a sequence number of that cluster in the lower 48.
// Its text form is "3-1042" (core/text.h).
struct JobId {
  std::uint64_t value = 0;

  constexpr JobId() = default;
  constexpr explicit JobId(std::uint64_t v) : value(v) {}
  constexpr JobId(ClusterId cluster, std::uint64_t sequence)
      : value(std::uint64_t{cluster.value} << 48 | sequence) {}
  constexpr ClusterId cluster() const { return ClusterId(static_cast<std::uint16_t>(value >> 48)); }
  constexpr std::uint64_t sequence() const { return value & 0xffff'ffff'ffffULL; }
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(JobId, JobId) = default;
};

}  // namespace subak

template <class Tag, class Rep>
struct std::hash<subak::Id<Tag, Rep>> {
  std::size_t operator()(subak::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
template <>
struct std::hash<subak::JobId> {
  std::size_t operator()(subak::JobId id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
