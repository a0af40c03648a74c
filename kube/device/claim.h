// Reads the objects by which pods request devices of Dynamic Resource Allocation (DRA), and says
// which GPUs a ResourceClaim requests. The edge, which watches a cluster, adds these GPUs to the
// requests of pods (server/edge/devices).
//
// A ResourceClaim names DeviceClasses. Whether a class selects GPUs follows from its selectors and
// from the devices of the cluster. Devices of the driver gpu.nvidia.com count as GPUs or MIG
// slices, and devices of other drivers count as no GPUs. A class of ExtraGpuResources
// ("deviceclass.resource.kubernetes.io/CLASS") makes all its devices whole GPUs.
// Source: k8s.io/api resource/v1; documentation of NVIDIA's DRA driver for GPUs.
// Threads: any; pure functions and plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/device/device.h"
#include "kube/json.h"
#include "kube/pod.h"
#include "model/request.h"

namespace subak {

// The prefix of the resource by which a pod requests devices of a class.
inline constexpr std::string_view kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/";
// The driver of NVIDIA's GPUs.
inline constexpr std::string_view kGpuDriver = "gpu.nvidia.com";

// A DeviceClass.
struct DeviceClass {
  // CEL expressions, which must all select a device.
  std::vector<std::string> selectors;
  // The resource that stands for the class in pods, such as "nvidia.com/gpu"; empty: there is none.
  std::string extended_resource;
  friend bool operator==(const DeviceClass&, const DeviceClass&) = default;
};

// One request of a ResourceClaim, or one alternative of a request.
struct DeviceRequest {
  // The name of the DeviceClass.
  std::string device_class;
  std::vector<std::string> selectors;
  // The number of devices. 0: all devices of a node that the selectors select.
  std::int64_t count = 1;
  // True: the request has adminAccess. The pod only observes the devices, and other pods may use
  // them.
  bool admin = false;
};

// The devices that a ResourceClaim or a ResourceClaimTemplate requests.
struct ClaimSpec {
  // One list for each request: its alternatives, the preferred one first.
  std::vector<std::vector<DeviceRequest>> requests;
  // True: some of the requests or alternatives were left out because there are too many.
  bool truncated = false;
};

// The ResourceClaims that a pod names.
struct ClaimRefs {
  struct One {
    // The name of a ResourceClaim, or of a ResourceClaimTemplate, in the pod's namespace. Exactly
    // one of the two is set.
    std::string claim, claim_template;
  };
  std::vector<One> claims;
  // The number of devices that the pod requests as extended resources, by DeviceClass.
  std::map<std::string, std::int64_t> classes;
};

// Reads a DeviceClass; the object's `spec` may be absent.
DeviceClass read_device_class(json::Value object);
// Reads `spec.devices` of a ResourceClaim. For a ResourceClaimTemplate, pass its `spec`.
ClaimSpec read_claim_spec(json::Value object);
// Reads `spec.resourceClaims` and the requests of device classes as resources.
ClaimRefs read_pod_claims(json::Value pod);
// Returns the uid of the first pod in status.reservedFor of the ResourceClaim; empty: the list
// names no pod.
std::string_view reserved_for(json::Value claim);

// The GPUs that ResourceClaims request, for placement.
struct ClaimedGpus {
  // kNone: no GPUs. Else kWhole or kMig.
  GpuKind kind = GpuKind::kNone;
  std::int64_t gpus = 0;
  // Only for kMig: "1g.10gb".
  std::string profile;
  // The products that the selectors allow, sorted. Empty: every product of the cluster.
  std::vector<std::string> products;
  // The only nodes with selected devices, sorted, if a selector names single devices. Empty: any.
  std::vector<std::string> nodes;

  // Adds the request to the pod's shape: its GPUs, the label kClaimable, which only nodes with DRA
  // devices have, and the products and nodes that the selectors allow. Returns false if the pod
  // requests GPUs of another kind; `shape` is then unchanged.
  bool add_to(PodShape& shape) const;
  // Adds the request of another ResourceClaim of the same pod. Returns false if it is of another
  // kind; this object is then unchanged.
  bool add(const ClaimedGpus& other);
  friend bool operator==(const ClaimedGpus&, const ClaimedGpus&) = default;
};

// The classes and devices of a cluster, as claimed_gpus() needs them.
struct ClusterDevices {
  // Returns the class; nullptr: the cluster has no such class.
  std::function<const DeviceClass*(const std::string& name)> find_class;
  // Calls `take` for each kind of device that the cluster has.
  std::function<void(const std::function<void(const DeviceKind&)>& take)> each_kind;
  // Calls `take` for each device of this kind. `uuid` may be empty.
  std::function<void(const DeviceKind&, const std::function<void(const std::string& uuid,
                                                                 const std::string& node)>& take)>
      each_device;
};

// Returns the GPUs that the requests need together. Of several alternatives, the first one counts
// that the cluster has a device for. An error names the DeviceClass, and says why Subak cannot tell
// which GPUs are requested. For example, the class selects no device of the cluster.
Result<ClaimedGpus> claimed_gpus(const ClaimSpec& spec, const ClusterDevices& cluster,
                                 const ExtraGpuResources& extra);

// Returns the product of a GPU as feature discovery writes it: "NVIDIA H100 80GB HBM3" becomes
// "NVIDIA-H100-80GB-HBM3". Returns "GPU" if the kind has no productName.
std::string product_of(const DeviceKind& kind);

}  // namespace subak
