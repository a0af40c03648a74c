// Reads ResourceSlices, in which a driver of Dynamic Resource Allocation (DRA) lists the devices of
// a node. The edge, which watches a cluster, keeps these devices in a cache (server/edge/devices).
// Source: k8s.io/api resource/v1, ResourceSlice.
// Threads: any; pure functions and plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/json.h"
#include "kube/quantity.h"

namespace subak {

// The value of a device attribute. A version counts as a text.
using DeviceAttribute = std::variant<bool, std::int64_t, std::string>;

// The properties that many devices share: all properties of a device except those that identify it,
// such as its uuid and its PCI address. A cluster has few kinds, so a cache may store a kind once
// and refer to it from each device.
struct DeviceKind {
  // The driver, such as "gpu.nvidia.com".
  std::string driver;
  // The attributes and capacities by "domain/name". If a name has no domain, the domain is the
  // driver.
  std::map<std::string, DeviceAttribute, std::less<>> attributes;
  std::map<std::string, KubeQuantity, std::less<>> capacity;
  // True: the device takes counters that it shares with other devices, such as the memory slices of
  // its GPU. The driver creates the device when a ResourceClaim gets it.
  bool partition = false;

  // Returns the text of the driver's own attribute; empty if there is none.
  std::string_view text(std::string_view name) const;
  friend bool operator==(const DeviceKind&, const DeviceKind&) = default;
};
// Orders kinds, for a map.
bool operator<(const DeviceKind& a, const DeviceKind& b);

// One device as read.
struct Device {
  DeviceKind kind;
  // The driver's attribute `uuid`; empty if there is none.
  std::string uuid;
  // True: a taint keeps new pods from the device, or also ends the pods that use it (NoSchedule,
  // NoExecute).
  bool tainted = false;
};

// One ResourceSlice as read. Texts point into the document.
struct DeviceSlice {
  std::string_view name, driver, pool;
  // The only node of the devices. Empty: the devices are on several nodes, and do not count.
  std::string_view node;
  std::int64_t generation = 0;
  // The number of slices of the pool's generation.
  std::int64_t slice_count = 0;
  std::vector<Device> devices;
};

// Reads one slice. nullopt: the object has no name, no driver or no pool. A device without a name
// is left out, and so are devices beyond limits::kMaxDevicesPerSlice.
std::optional<DeviceSlice> read_device_slice(json::Value object);

// True for an attribute that differs between the devices of one kind, such as "uuid". `name` has no
// domain.
bool identifies_device(std::string_view name);

}  // namespace subak
