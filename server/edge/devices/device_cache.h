// The devices of Dynamic Resource Allocation that the cluster's ResourceSlices and DeviceClasses
// show, and the GPUs of each node among them. Threads: one at a time; ClusterCache owns the cache.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/device/claim.h"
#include "kube/device/device.h"
#include "kube/node/node.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Entries stay when a session of the edge with the core (the engine that decides) ends: the core
// does not get devices, so no entry must be sent again. A device takes about 100 bytes, since
// devices share their kinds.
class DeviceCache {
 public:
  // `extra`: the resources that count as whole GPUs. `extra` must outlive the cache.
  explicit DeviceCache(const ExtraGpuResources& extra) : extra_(extra) {}

  // A list of slices begins.
  void begin_slices() { ++slice_list_; }
  // Takes an event on a slice. Ignores a slice that cannot be read.
  void see_slice(const WatchEvent& event);
  // The list is complete: forgets the slices that it did not name.
  void complete_slices();
  // begin_classes(), see_class() and complete_classes() take a list of DeviceClasses in this way.
  void begin_classes() { ++class_list_; }
  void see_class(const WatchEvent& event);
  void complete_classes();

  // Returns the GPUs that drivers offer on the node; nullptr: none. A pool of devices is complete
  // if the cache has as many slices of the pool's newest generation as each of them states. In
  // addition, no two devices of the pool may have the same uuid. The result changes only while all
  // pools of the node are complete. So while a driver replaces the slices of a pool, the result
  // stays as it was.
  const NodeDevices* find(const std::string& node) const;
  // Takes out the nodes whose result of find() has changed. Their objects must be read again.
  std::set<std::string> take_changed_nodes() { return std::exchange(changed_nodes_, {}); }
  // Marks the node again, after a read that could not begin.
  void put_changed_node(const std::string& node) { changed_nodes_.insert(node); }
  // Rises when a DeviceClass or the set of kinds changes, so ResourceClaims may request something
  // else.
  std::uint64_t version() const { return version_; }
  // Returns the cluster for claimed_gpus(). The result refers to this cache, and is valid until the
  // cache changes.
  ClusterDevices devices() const;

 private:
  using KindId = std::uint32_t;
  struct OneDevice {
    KindId kind = 0;
    bool tainted = false;
    std::string uuid;
  };
  struct Slice {
    std::string node;
    std::int64_t generation = 0, slice_count = 0;
    std::vector<OneDevice> devices;
    std::uint32_t list = 0;
  };
  // (driver, pool)
  using PoolKey = std::pair<std::string, std::string>;
  struct Class {
    DeviceClass spec;
    std::uint32_t list = 0;
  };

  // Returns the number of the kind, and counts one more device of it. nullopt: there are too many
  // kinds.
  std::optional<KindId> add_kind(const DeviceKind& kind);
  // Forgets the slice, and computes the devices of its node again.
  void drop(const std::string& slice);
  // Forgets the slice. Returns its node; empty: there is no such slice, or it has no node.
  std::string take_out(const std::string& slice);
  // Computes the devices of the node again.
  void renew(const std::string& node);
  // Returns false, and adds nothing, if the pool is not complete.
  bool add_pool(const std::map<std::string, Slice>& slices, NodeDevices& out) const;
  // Adds one device, as the resource that stands for it.
  void add_device(const OneDevice& device, NodeDevices& out) const;
  // Returns the class of ExtraGpuResources that selects the kind; empty: none.
  std::string_view extra_class(const DeviceKind& kind) const;
  void classes_changed();

  const ExtraGpuResources& extra_;
  // By number. Kinds are never forgotten, since there are at most limits::kMaxDeviceKinds.
  std::vector<const DeviceKind*> kinds_;
  std::map<DeviceKind, KindId> kind_ids_;
  std::vector<std::size_t> kind_counts_;
  std::map<PoolKey, std::map<std::string, Slice>> pools_;  // slices by name
  std::map<std::string, PoolKey> pool_of_;                 // by slice
  std::map<std::string, std::set<PoolKey>> pools_on_;      // by node
  std::map<std::string, NodeDevices> nodes_;
  std::map<std::string, Class> classes_;
  std::set<std::string> changed_nodes_;
  std::uint64_t version_ = 0;
  std::uint32_t slice_list_ = 0, class_list_ = 0;
};

}  // namespace subak
