// Request shapes: requests that are equal for placement share one number, as long as a job uses one
// of them. The fleet owns the table; a ShapeUse is one reference.
// Units: milli-GPU. Errors: none are returned. A call with a number that is not in use is a bug of
// the caller.
// Threads: as the fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/request.h"
#include "placement/tables/owned.h"

namespace subak {

class ShapeTable;

// One use of a shape: one count of its references. The shape has its number while any use is left.
// When the last use ends, the shape is dropped, and another shape may get the number. Move-only.
// The fleet must outlive it.
class ShapeUse {
 public:
  ShapeUse() = default;
  ShapeUse(ShapeUse&& from) noexcept;
  ShapeUse& operator=(ShapeUse&& from) noexcept;
  ~ShapeUse();

  // Returns one more use of the same shape.
  ShapeUse share() const;
  // The number of the shape; none if this is a use of no shape.
  ShapeId id() const { return id_; }
  operator ShapeId() const { return id_; }  // NOLINT: it stands for its number
  explicit operator bool() const { return static_cast<bool>(id_); }

 private:
  friend class ShapeTable;
  ShapeUse(ShapeTable* table, ShapeId id) : table_(table), id_(id) {}

  ShapeTable* table_ = nullptr;
  ShapeId id_;
};

// One PodGroup of a shape, as the nodes offer its resources. A shape has no entry for a group
// without pods.
struct Pods {
  // The shape of each pod. The Shape owns it, or its request does.
  const PodShape* shape = nullptr;
  // The ranks from `first` on.
  std::uint32_t first = 0, count = 0;
  // The hash_of() the pod's shape.
  std::uint64_t hash = 0;
};

// A request, and figures that follow from the request alone. It does not change once it is made.
struct Shape {
  // The cluster whose nodes it may use.
  ClusterId cluster;
  // The request as the job made it. Never null.
  std::shared_ptr<const GangRequest> asked;
  // The hash of cluster and request.
  std::uint64_t hash = 0;
  // A number that no other shape ever gets.
  std::uint64_t serial = 0;
  // The number of ShapeUses; from 1 while it is in the table.
  std::uint64_t uses = 0;
  // The pods, by rank.
  std::vector<Pods> pods;
  // Pods as nodes offer their resources, where that differs from the request.
  std::vector<std::unique_ptr<PodShape>> offered;
  // The cost of the pods whose cost does not depend on the node.
  MilliGpu least = 0;
  // True: the cost of some pods depends on the node. These are replicas and slices.
  bool cost_by_place = false;
  // True: it asks for NVLink, and not only as a wish.
  bool linked = false;
  // True: it may not mix products, and one product would do for all its GPUs.
  bool one_product = false;
  // True: some of its pods are non-GPU pods.
  bool non_gpu = false;
  // If `linked` is set: the amount of whole GPUs and parts that the largest segment needs together.
  // If a node has at least this amount, the gang needs no NVLink domain of several nodes.
  MilliGpu together = 0;

  const GangRequest& request() const { return *asked; }
  // Returns the group of a rank. The gang must have the rank. O(groups).
  const Pods& pods_of(std::uint32_t rank) const;
};

// Makes the shape of a request. Its hash and serial are not set.
// It copies the request.
std::unique_ptr<Shape> make_shape(ClusterId cluster, const GangRequest& request);
// Returns the cost of one pod if it is the same on every node; 0 if it depends on the node.
// It depends on the node for slices and replicas, and is 0 for pods without GPUs.
MilliGpu fixed_milligpu(const PodShape& pod);
// Returns a hash of all fields of the pod.
// Within one process, equal pods have equal hashes.
std::uint64_t hash_of(const PodShape& pod);

// The shapes in use. Each has one number, and each pair of cluster and request has at most one
// shape. Numbers are used again, serials never are. So a cache of results must store the serial. No
// fact and no order depends on a number or serial.
class ShapeTable {
 public:
  ShapeTable() { shapes_.emplace_back(); }
  ShapeTable(const ShapeTable&) = delete;
  ShapeTable& operator=(const ShapeTable&) = delete;

  // Returns a use of the request's shape. It makes the shape if no other use exists. O(request).
  ShapeUse use(ClusterId cluster, const GangRequest& request);
  // Returns none if the request is not in use.
  ShapeId find(ClusterId cluster, const GangRequest& request) const;
  // Returns a shape in use. The reference is valid while the shape is in use.
  const Shape& operator[](ShapeId id) const { return *shapes_[id.value]; }
  // Returns a number that no two shapes ever share; 0 if no shape has this number now.
  std::uint64_t serial(ShapeId id) const {
    return shapes_[id.value] ? shapes_[id.value]->serial : 0;
  }
  // Returns a hash of the cluster and the request alone.
  std::uint64_t hash(ShapeId id) const { return shapes_[id.value]->hash; }
  // Returns how many shapes are in use.
  std::size_t in_use() const { return numbers() - unused_.size(); }
  // The numbers in use are from 1 to the result.
  std::size_t numbers() const { return shapes_.size() - 1; }

  // Dropped shapes, oldest first, at positions gone_begin() to gone_end() - 1. A search drops its
  // results for them. If its position is before gone_begin(), it must compare all serials.
  std::uint64_t gone_begin() const { return gone_first_; }
  std::uint64_t gone_end() const { return gone_first_ + gone_.size(); }
  ShapeId gone(std::uint64_t position) const { return gone_[position - gone_first_]; }

  // Aborts unless each shape in use is found by its content, and each other number is unused.
  void check() const;

 private:
  friend class ShapeUse;
  void add_use(ShapeId id);
  // The last use frees the number and logs it in gone().
  void drop_use(ShapeId id);
  ShapeId find(std::uint64_t hash, ClusterId cluster, const GangRequest& request) const;
  ShapeId new_number();

  // The shapes by ShapeId::value; entry 0 is not used.
  std::vector<Owned<Shape>> shapes_;
  // The numbers by hash, only for look-up: no code iterates over them.
  std::unordered_multimap<std::uint64_t, ShapeId> by_content_;
  // Free numbers, for use() to give again.
  std::vector<ShapeId> unused_;
  std::uint64_t last_serial_ = 0;
  // Entry i has the position gone_first_ + i.
  std::vector<ShapeId> gone_;
  std::uint64_t gone_first_ = 1;
};

}  // namespace subak
