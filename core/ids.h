// The ids of clusters, accounts, nodes, products, shapes and jobs. Each kind of id is a type of its
// own, so the compiler refuses to mix them. The engine (the core's owner of all state) never
// assigns an id twice, except for a ShapeId. Ids are ordered by value. Where the core sorts items
// that are equal otherwise, the lower id comes first. The value 0 means "none", except for a
// ProductId, where it means "any" in a request or a filter.
// Threads: any; plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace subak {

// An integer that cannot be mixed up with another kind of id. An id converts to bool: true unless
// it is 0. `Tag` only names the kind of id. `Rep` is the integer type of the id, also in the facts
// that store it.
template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  // 0: none; for a ProductId: any.
  Rep value = 0;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

// One Kubernetes cluster, or a cluster without Kubernetes.
using ClusterId = Id<struct ClusterTag, std::uint16_t>;
// An account of the account tree. The root is 1; accounting/account.h has further fixed ids.
using AccountId = Id<struct AccountTag, std::uint32_t>;
// A node of any cluster. The id is unique over all clusters, not only within one cluster.
using NodeId = Id<struct NodeTag, std::uint32_t>;
// A number that stands for the name of a GPU product. 0 means any product, or none.
using ProductId = Id<struct ProductTag, std::uint16_t>;
// A number that stands for a request shape: the resources and conditions of all pods of a job. When
// no job has the shape any more, another shape may get its id. So no fact stores a ShapeId.
using ShapeId = Id<struct ShapeTag, std::uint32_t>;

// A job id: the cluster in the upper 16 bits, a sequence number of that cluster in the lower 48.
// Sequence numbers begin at 1 and grow, so the ids of a cluster are in the order of creation. The
// text form of an id is "3-1042" (job_id_text() of core/text.h).
struct JobId {
  std::uint64_t value = 0;

  constexpr JobId() = default;
  constexpr explicit JobId(std::uint64_t v) : value(v) {}
  // `sequence` must fit 48 bits. An id with the sequence 0 stands for no job of the cluster, but it
  // still converts to true.
  constexpr JobId(ClusterId cluster, std::uint64_t sequence)
      : value(std::uint64_t{cluster.value} << 48 | sequence) {}
  // The cluster that the job belongs to. It never changes.
  constexpr ClusterId cluster() const { return ClusterId(static_cast<std::uint16_t>(value >> 48)); }
  // The sequence number of the job in its cluster, from 1. It is 0 only if the id stands for no
  // job.
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
