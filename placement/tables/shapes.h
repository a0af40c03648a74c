// Request shapes. A request says which resources and conditions all pods of a job need. Requests
// that are equal for placement share one shape and its number, as long as a job uses one of these
// requests. The fleet owns the table of shapes. A ShapeUse is one counted reference to a shape.
// Units: milli-GPU. Errors: none are returned. A call with a number that is not in use is a bug of
// the caller.
// Threads: as Fleet: at a time, one thread may change it or several may read it.
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

// One use of a shape. The shape has its number while any use is left. When the last use ends, the
// fleet drops the shape, and another shape may get the number. A use can be moved but not copied.
// The fleet must outlive the use.
class ShapeUse {
 public:
  ShapeUse() = default;
  ShapeUse(ShapeUse&& from) noexcept;
  ShapeUse& operator=(ShapeUse&& from) noexcept;
  ~ShapeUse();

  // Returns one more use of the same shape.
  ShapeUse share() const;
  // The number of the shape; none if this object uses no shape.
  ShapeId id() const { return id_; }
  operator ShapeId() const { return id_; }  // NOLINT: it stands for its number
  explicit operator bool() const { return static_cast<bool>(id_); }

 private:
  friend class ShapeTable;
  ShapeUse(ShapeTable* table, ShapeId id) : table_(table), id_(id) {}

  ShapeTable* table_ = nullptr;
  ShapeId id_;
};

// One PodGroup of a shape. Its resources have the form in which nodes offer them (as_offered() of
// model/product.h). A shape has no entry for a group without pods.
struct Pods {
  // The shape of each pod. The Shape or its request owns the object.
  const PodShape* shape = nullptr;
  // The group has `count` ranks, from `first` on.
  std::uint32_t first = 0, count = 0;
  // The hash of the pod's shape, from hash_of().
  std::uint64_t hash = 0;
};

// A request, and figures that follow from the request alone. A shape never changes after it is
// made.
struct Shape {
  // The cluster whose nodes the request may use.
  ClusterId cluster;
  // The request as the job made it. Never null.
  std::shared_ptr<const GangRequest> asked;
  // The hash of cluster and request.
  std::uint64_t hash = 0;
  // A number that no other shape ever gets.
  std::uint64_t serial = 0;
  // The number of ShapeUses; at least 1 while the shape is in the table.
  std::uint64_t uses = 0;
  // The pods, by rank.
  std::vector<Pods> pods;
  // Pod shapes whose resources, as nodes offer them, differ from the request.
  std::vector<std::unique_ptr<PodShape>> offered;
  // The total cost of the pods whose cost does not depend on the node.
  MilliGpu least = 0;
  // True: the cost of some pods depends on the node, because they ask for replicas or slices.
  bool cost_by_place = false;
  // True: the gang requires NVLink. A preference for NVLink does not set this.
  bool linked = false;
  // True: the gang may not mix products, and one product would do for all its GPUs.
  bool one_product = false;
  // True: all GPUs of the gang must be of one RDMA fabric.
  bool one_fabric = false;
  // True: some of the gang's pods are non-GPU pods.
  bool non_gpu = false;
  // True: some of its pods have rules about the domains of other pods (trial/pod_rules.h).
  bool pod_rules = false;
  // If `linked` is set: the amount of whole GPUs and parts that the largest segment needs together.
  // If a node has at least this amount, the gang needs no NVLink domain of several nodes.
  MilliGpu together = 0;

  const GangRequest& request() const { return *asked; }
  // Returns the group of a rank. The gang must have the rank. O(groups).
  const Pods& pods_of(std::uint32_t rank) const;
};

// Makes the shape of a request. It copies the request, and does not set the hash and the serial of
// the shape.
std::unique_ptr<Shape> make_shape(ClusterId cluster, const GangRequest& request);
// Returns the cost of one pod if the cost is the same on every node. Returns 0 for slices and
// replicas, whose cost depends on the node, and for pods without GPUs.
MilliGpu fixed_milligpu(const PodShape& pod);
// Returns a hash of all fields of the pod.
// Within one process, equal pods have equal hashes.
std::uint64_t hash_of(const PodShape& pod);

// The shapes in use. Each shape has one number, and each pair of a cluster and a request has at
// most one shape. Numbers are used again, but serials never are. So a cache of results must store
// the serial. No fact and no order depends on a number or a serial.
class ShapeTable {
 public:
  ShapeTable() { shapes_.emplace_back(); }
  ShapeTable(const ShapeTable&) = delete;
  ShapeTable& operator=(const ShapeTable&) = delete;

  // Returns a use of the request's shape. It makes the shape if no use of it exists. O(request).
  ShapeUse use(ClusterId cluster, const GangRequest& request);
  // Returns the number of the request's shape; none if no job uses the request.
  ShapeId find(ClusterId cluster, const GangRequest& request) const;
  // Returns a shape in use. The reference is valid while the shape is in use.
  const Shape& operator[](ShapeId id) const { return *shapes_[id.value]; }
  // Returns the shape's serial, which no other shape ever gets; 0 if no shape has this number now.
  std::uint64_t serial(ShapeId id) const {
    return shapes_[id.value] ? shapes_[id.value]->serial : 0;
  }
  // Returns the shape's hash, which depends only on the cluster and the request.
  std::uint64_t hash(ShapeId id) const { return shapes_[id.value]->hash; }
  // Returns how many shapes are in use.
  std::size_t in_use() const { return numbers() - unused_.size(); }
  // Returns the highest number that was ever given. All numbers in use are from 1 to the result.
  std::size_t numbers() const { return shapes_.size() - 1; }

  // The dropped shapes, oldest first, at positions gone_begin() to gone_end() - 1. A search drops
  // its results for these shapes. A search that has read only to a position before gone_begin()
  // must compare all serials.
  std::uint64_t gone_begin() const { return gone_first_; }
  std::uint64_t gone_end() const { return gone_first_ + gone_.size(); }
  ShapeId gone(std::uint64_t position) const { return gone_[position - gone_first_]; }

  // Aborts unless each shape in use can be found by its content, and each other number is unused.
  void check() const;

 private:
  friend class ShapeUse;
  void add_use(ShapeId id);
  // Ends one use. The end of the last use frees the number and appends it to gone().
  void drop_use(ShapeId id);
  ShapeId find(std::uint64_t hash, ClusterId cluster, const GangRequest& request) const;
  ShapeId new_number();

  // The shapes by ShapeId::value; entry 0 is not used.
  std::vector<Owned<Shape>> shapes_;
  // The numbers by hash. The map serves for look-up only: no code iterates over it.
  std::unordered_multimap<std::uint64_t, ShapeId> by_content_;
  // Free numbers, for use() to give again.
  std::vector<ShapeId> unused_;
  std::uint64_t last_serial_ = 0;
  // Entry i has the position gone_first_ + i.
  std::vector<ShapeId> gone_;
  std::uint64_t gone_first_ = 1;
};

}  // namespace subak
