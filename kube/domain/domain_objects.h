// Reads the objects of NVIDIA's DRA driver that a ComputeDomain needs, and writes new
// ComputeDomains. A ComputeDomain is multi-node NVLink (IMEX) for the pods of one gang. The edge,
// which watches a cluster, uses these functions (server/edge/domains); they decide nothing. Sources
// of the names and fields:
//   ComputeDomain          kubernetes-sigs/dra-driver-nvidia-gpu, api/nvidia.com/resource/v1beta1
//   ResourceClaimTemplate  k8s.io/api resource/v1
//   ResourceSlice          k8s.io/api resource/v1; the device classes of the driver's chart
//
// How the driver works. NVIDIA's controller makes one ResourceClaimTemplate for each ComputeDomain,
// with the name that the ComputeDomain states. A pod whose ResourceClaim is made from this template
// gets the channel 0 of its node. Each node has one such channel. So a node carries one pod with
// such a ResourceClaim, and takes part in one ComputeDomain.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "kube/json.h"
#include "kube/pod.h"

namespace subak {

namespace names {

// Label of a ComputeDomain that Subak made: the job and its attempt, "1-42.3".
inline constexpr std::string_view kAttempt = "subak.gpu/attempt";
// The driver puts this label onto the objects that it makes for a ComputeDomain. Its value is the
// uid of the ComputeDomain.
inline constexpr std::string_view kLabelDomainUid = "resource.nvidia.com/computeDomain";
// The DeviceClass in the ResourceClaims of workloads, and the driver that offers the devices.
inline constexpr std::string_view kChannelClass = "compute-domain-default-channel.nvidia.com";
inline constexpr std::string_view kChannelDriver = "compute-domain.nvidia.com";

}  // namespace names

// The most nodes of one IMEX domain, by the default of the driver's controller
// (--max-nodes-per-imex-domain): the trays of one NVL72 rack.
inline constexpr std::uint32_t kMaxDomainNodes = 18;

// The owner of a ComputeDomain, for its metadata.ownerReferences: the object that makes the gang's
// pods. All texts are empty if the gang has no owner.
struct DomainOwner {
  std::string api_version, kind, name, uid;
};

// A ComputeDomain as read from the API server.
struct ComputeDomain {
  std::string ns, name, uid, resource_version;
  // spec.channel.resourceClaimTemplate.name. Empty: the object has none.
  std::string claim_template;
  // From the label names::kAttempt. 0: the label is absent or unreadable, so the ComputeDomain is
  // not Subak's.
  JobId job;
  std::uint32_t attempt = 0;
  // True: the deletion of the ComputeDomain was requested.
  bool going = false;
  // The first entry of metadata.ownerReferences. All texts are empty if there is none.
  DomainOwner owner;
  // status.nodes: the number of nodes, and the names of those whose status is not Ready. An entry
  // without a usable name does not count.
  std::uint32_t nodes = 0;
  std::vector<std::string> not_ready;

  bool is_ours() const { return static_cast<bool>(job); }
};
// Reads a ComputeDomain. kInvalid: the object has no namespace, name or uid, or one of them is too
// long.
Result<ComputeDomain> read_compute_domain(json::Value object);

// A ResourceClaimTemplate as read from the API server.
struct ClaimTemplate {
  std::string ns, name;
  // From the label names::kLabelDomainUid; empty: there is no such label.
  std::string domain_uid;
  // True: the ResourceClaims of this template ask for the channel of a ComputeDomain, and for no
  // other device.
  bool of_channel = false;
};
// Reads a ResourceClaimTemplate. kInvalid: the object has no namespace or name, or one of them is
// too long.
Result<ClaimTemplate> read_claim_template(json::Value object);

// A ResourceSlice of the driver names::kChannelDriver.
struct ChannelSlice {
  std::string name;
  // spec.nodeName; empty: the slice belongs to no node, or to another driver.
  std::string node;
  // True: one of the slice's devices is channel 0.
  bool has_channel = false;
};
// Reads a ResourceSlice. kInvalid: the object has no name, or the name is too long.
Result<ChannelSlice> read_channel_slice(json::Value object);

// Returns the name for the ComputeDomain of the pod's gang, and for its template. Pods of one gang
// get the same name, and so do pods that labels of their controllers put into one group.
// `otherwise` identifies any other pod. The name is a DNS label.
std::string domain_name_of(const Pod& pod, std::string_view otherwise);

// Returns the body of the POST that makes a ComputeDomain. `name` is also the name of the template.
std::string compute_domain_body(const std::string& ns, const std::string& name, JobId job,
                                std::uint32_t attempt, const DomainOwner& owner);
// Returns the value of the label names::kAttempt: "1-42.3".
std::string attempt_label(JobId job, std::uint32_t attempt);
// Reads such a value. False: the text is no such value, and the other arguments do not change.
bool read_attempt_label(std::string_view label, JobId& job, std::uint32_t& attempt);
// Appends a comma and the member "ownerReferences" with the owner. Appends nothing if the owner is
// empty.
void append_owner(const DomainOwner& owner, std::string& out);

}  // namespace subak
