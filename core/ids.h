// Strong ids: integers that the compiler keeps apart. The engine assigns an id once and never
// reuses it, except for a ShapeId. Ids order by value, and that order breaks the last tie of every
// comparison in the core. The value 0 means "none" for all of them.
// Threads: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace subak {

// An integer that cannot be mixed up with another kind of id. True as a bool unless it is 0. `Tag`
// only names the kind; `Rep` is the width in which facts store it.
template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  // 0: none.
  Rep value = 0;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

// One Kubernetes cluster, or a cluster without Kubernetes.
using ClusterId = Id<struct ClusterTag, std::uint16_t>;
// A node of the account tree. The root is 1; accounting/account.h has further fixed ids.
using AccountId = Id<struct AccountTag, std::uint32_t>;
// A node of any cluster: unique over all clusters, not only within one.
using NodeId = Id<struct NodeTag, std::uint32_t>;
// An interned name of a GPU product. 0 means any product.
using ProductId = Id<struct ProductTag, std::uint16_t>;
// An interned placement request. A number is reused after its last user has gone, so it is never
// stored.
using ShapeId = Id<struct ShapeTag, std::uint32_t>;

// A job id: the cluster in the upper 16 bits, a sequence number of that cluster in the lower 48.
// Sequence numbers begin at 1, so jobs of a cluster order by their creation. Its text form is
// "3-1042" (job_id_text() of core/text.h).
struct JobId {
  std::uint64_t value = 0;

  constexpr JobId() = default;
  constexpr explicit JobId(std::uint64_t v) : value(v) {}
  // `sequence` must fit 48 bits.
  constexpr JobId(ClusterId cluster, std::uint64_t sequence)
      : value(std::uint64_t{cluster.value} << 48 | sequence) {}
  // The cluster that the job belongs to; never changes.
  constexpr ClusterId cluster() const { return ClusterId(static_cast<std::uint16_t>(value >> 48)); }
  // The number of the job in its cluster, from 1; 0 only for no job.
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
