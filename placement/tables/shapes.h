// Request shapes: requests that are equal for placement share one number, while any job uses it.
// The fleet owns the table; a ShapeUse is one reference.
// Units: milli-GPU. Errors: none are returned. A number that is not in use is a bug of the caller.
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

// One use of a shape, as a reference count. The shape keeps its number while any use is left. The
// last one drops the shape, and another shape may get the number. Move-only. The fleet must outlive
// it.
class ShapeUse {
 public:
  ShapeUse() = default;
  ShapeUse(ShapeUse&& from) noexcept;
  ShapeUse& operator=(ShapeUse&& from) noexcept;
  ~ShapeUse();

  ShapeUse share() const;                   // one more use of the same shape
  ShapeId id() const { return id_; }        // none: no shape
  operator ShapeId() const { return id_; }  // NOLINT: it stands for its number
  explicit operator bool() const { return static_cast<bool>(id_); }

 private:
  friend class ShapeTable;
  ShapeUse(ShapeTable* table, ShapeId id) : table_(table), id_(id) {}

  ShapeTable* table_ = nullptr;
  ShapeId id_;
};

// One PodGroup of a shape, as the nodes offer its resources. Groups without pods are left out.
struct Pods {
  const PodShape* shape = nullptr;
  std::uint32_t first = 0, count = 0;  // ranks
  std::uint64_t hash = 0;              // of the shape
};

// A request and what follows from it alone. Constant once it is made.
struct Shape {
  ClusterId cluster;
  std::shared_ptr<const GangRequest> asked;
  std::uint64_t hash = 0;  // of both
  std::uint64_t serial = 0;
  std::uint64_t uses = 0;
  std::vector<Pods> pods;                          // by rank
  std::vector<std::unique_ptr<PodShape>> offered;  // where that differs from the request
  MilliGpu least = 0;          // of the pods whose cost does not depend on the node
  bool cost_by_place = false;  // some pods cost by node: replicas and slices
  bool linked = false;         // asks for NVLink, not as a wish
  // It may not mix products, and some product has enough for all its GPUs.
  bool one_product = false;
  bool non_gpu = false;  // some pods are non-GPU pods
  // If linked: the whole GPUs and parts that the largest segment needs together. On a node with at
  // least as many, the gang needs no NVLink domain of several nodes.
  MilliGpu together = 0;

  const GangRequest& request() const { return *asked; }
  // Returns the group of a rank. The gang must have the rank. O(groups).
  const Pods& pods_of(std::uint32_t rank) const;
};

// Makes the shape of a request, without a hash and a serial.
// It copies the request.
std::unique_ptr<Shape> make_shape(ClusterId cluster, const GangRequest& request);
// Returns the cost of one pod on any node; 0 if it depends on the node.
// It depends on the node for slices and replicas, and is 0 for pods without GPUs.
MilliGpu fixed_milligpu(const PodShape& pod);
// Hashes every field.
// Equal pods have equal hashes, within one process.
std::uint64_t hash_of(const PodShape& pod);

// The shapes in use. Each has one number, and each pair of cluster and request has at most one
// shape. Numbers are used again; serials never are, so a cache of results must store the serial. No
// fact and no order depends on either.
class ShapeTable {
 public:
  ShapeTable() { shapes_.emplace_back(); }
  ShapeTable(const ShapeTable&) = delete;
  ShapeTable& operator=(const ShapeTable&) = delete;

  // Returns a use of the request's shape, which is new if no other use exists. O(request).
  ShapeUse use(ClusterId cluster, const GangRequest& request);
  // Returns none if the request is not in use.
  ShapeId find(ClusterId cluster, const GangRequest& request) const;
  // Returns a shape in use. Valid while it is.
  const Shape& operator[](ShapeId id) const { return *shapes_[id.value]; }
  // Returns a number that no two shapes ever share; 0 if no shape has this number now.
  std::uint64_t serial(ShapeId id) const {
    return shapes_[id.value] ? shapes_[id.value]->serial : 0;
  }
  // Returns a hash of the cluster and the request alone.
  std::uint64_t hash(ShapeId id) const { return shapes_[id.value]->hash; }
  std::size_t in_use() const { return numbers() - unused_.size(); }
  // The numbers in use are among 1 to this.
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

  std::vector<Owned<Shape>> shapes_;                            // by ShapeId::value; [0] unused
  std::unordered_multimap<std::uint64_t, ShapeId> by_content_;  // by hash; looked up, never walked
  std::vector<ShapeId> unused_;                                 // numbers
  std::uint64_t last_serial_ = 0;
  std::vector<ShapeId> gone_;  // entry i is position gone_first_ + i
  std::uint64_t gone_first_ = 1;
};

}  // namespace subak
