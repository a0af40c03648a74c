// Makes the objects of Dynamic Resource Allocation and of ComputeDomains in the form that an API
// server returns. Sources: k8s.io/api resource/v1; kubernetes-sigs/dra-driver-nvidia-gpu.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api_objects.h"
#include "kube_objects.h"

namespace subak::fault {

inline constexpr const char* kSlicesOf = "/apis/resource.k8s.io/v1/resourceslices";
inline constexpr const char* kClassesOf = "/apis/resource.k8s.io/v1/deviceclasses";
inline constexpr const char* kClaimsOf = "/apis/resource.k8s.io/v1/resourceclaims";
inline constexpr const char* kTemplatesOf = "/apis/resource.k8s.io/v1/resourceclaimtemplates";
inline constexpr const char* kDomainsOf = "/apis/resource.nvidia.com/v1beta1/computedomains";

inline constexpr const char* kGpuClass = "gpu.nvidia.com";
inline constexpr const char* kMigClass = "mig.nvidia.com";
inline constexpr const char* kLateClass = "late.example.com";  // is made late, or never
inline constexpr const char* kChannelClassOf = "compute-domain-default-channel.nvidia.com";
inline constexpr const char* kChannelDriverOf = "compute-domain.nvidia.com";
inline constexpr const char* kDomainUidLabel = "resource.nvidia.com/computeDomain";
inline constexpr const char* kDomainClaimName = "subak-compute-domain";
inline constexpr const char* kClassResource = "deviceclass.resource.kubernetes.io/gpu.nvidia.com";
inline constexpr const char* kSliceResource = "nvidia.com/mig-1g.10gb";
inline constexpr const char* kProfile = "1g.10gb";
inline constexpr const char* kProduct = "NVIDIA H100 80GB HBM3";
inline constexpr int kSlicesOfCard = 7;

// A valid CEL selector of a form that Subak does not read, so it cannot know the devices.
inline constexpr const char* kOddSelector =
    "device.attributes['gpu.nvidia.com'].uuid.matches('^GPU-.*')";

// A GPU ("card"), or a MIG slice of it.
struct DeviceId {
  int card = 0, slice = -1;  // -1: the whole card
  std::string name() const {
    return slice < 0 ? "gpu-" + std::to_string(card)
                     : "mig-" + std::to_string(card) + "-" + std::to_string(slice);
  }
  bool overlaps(const DeviceId& other) const {
    return card == other.card && (slice < 0 || other.slice < 0 || slice == other.slice);
  }
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

inline Object device_object(const std::string& node, const DeviceId& id, bool tainted) {
  const std::string name = id.name();
  Object attributes{{"type", Object{{"string", id.slice < 0 ? "gpu" : "mig"}}},
                    {"uuid", Object{{"string", "GPU-" + node + "-" + name}}},
                    {"productName", Object{{"string", kProduct}}}};
  if (id.slice >= 0) attributes["profile"] = Object{{"string", kProfile}};
  Object device{{"name", name}, {"attributes", attributes}};
  if (tainted) {
    device["taints"] =
        json_out::array{Object{{"key", "gpu.nvidia.com/xid"}, {"effect", "NoSchedule"}}};
  }
  return device;
}

inline Object channel_slice(const std::string& node) {
  const Object device{
      {"name", "channel-0"},
      {"attributes", Object{{"type", Object{{"string", "channel"}}}, {"id", Object{{"int", 0}}}}}};
  return {{"metadata", Object{{"name", node + "-channels"}}},
          {"spec",
           Object{{"driver", kChannelDriverOf},
                  {"nodeName", node},
                  {"pool", Object{{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                  {"devices", json_out::array{device}}}}};
}

inline Object device_class(const std::string& name, const std::string& selector) {
  return {{"metadata", Object{{"name", name}}},
          {"spec", Object{{"selectors",
                           json_out::array{Object{{"cel", Object{{"expression", selector}}}}}}}}};
}

// Returns the `spec` of a ResourceClaim for `count` devices of the class `of`.
inline Object claim_spec(const std::string& of, std::int64_t count,
                         const char* selector = nullptr) {
  Object exactly{{"deviceClassName", of}, {"count", count}};
  if (selector != nullptr) {
    exactly["selectors"] = json_out::array{Object{{"cel", Object{{"expression", selector}}}}};
  }
  return {{"devices",
           Object{{"requests", json_out::array{Object{{"name", "r"}, {"exactly", exactly}}}}}}};
}

inline Object claim_object(const std::string& ns, const std::string& name, Object spec) {
  return {{"metadata", Object{{"name", name}, {"namespace", ns}}}, {"spec", std::move(spec)}};
}

inline Object template_object(const std::string& ns, const std::string& name, Object spec) {
  return {{"metadata", Object{{"name", name}, {"namespace", ns}}},
          {"spec", Object{{"spec", std::move(spec)}}}};
}

inline std::string key_of(const Object& object) {
  return text_at(object, {"metadata", "namespace"}) + "/" + text_at(object, {"metadata", "name"});
}
inline std::string uid_of(const Object& object) { return text_at(object, {"metadata", "uid"}); }

// Returns the first request in the `spec` of a ResourceClaim.
inline const Object& request_of(const json_out::value& spec) {
  return spec.at("devices").at("requests").at(0).at("exactly").as_object();
}

// One entry of a pod's spec.resourceClaims: `claim` or `from_template` is set.
struct ClaimRef {
  std::string name, claim, from_template;
};
inline std::vector<ClaimRef> claims_in(const Object& pod) {
  std::vector<ClaimRef> refs;
  const json_out::value* const list = find_at(pod, {"spec", "resourceClaims"});
  if (list == nullptr) return refs;
  for (const json_out::value& one : list->as_array()) {
    refs.push_back({text_at(one, {"name"}), text_at(one, {"resourceClaimName"}),
                    text_at(one, {"resourceClaimTemplateName"})});
  }
  return refs;
}

}  // namespace subak::fault
