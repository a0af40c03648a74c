// Reads ProvisioningRequests of the cluster-autoscaler. Writes new requests and their PodTemplates.
// A ProvisioningRequest asks an autoscaler for nodes on which a number of pods fit. The edge, which
// watches a cluster, makes them for waiting jobs (server/edge/provisioning); the functions here
// decide nothing. Source of the names and fields: the Go module
// k8s.io/autoscaler/cluster-autoscaler/apis, provisioningrequest/autoscaling.x-k8s.io/v1.
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "kube/domain/domain_objects.h"
#include "kube/json.h"

namespace subak {

namespace names {

// Label of a ProvisioningRequest that Subak made, and of its PodTemplates: the job and the number
// of the try, "1-42.3".
inline constexpr std::string_view kProvisioning = "subak.gpu/provisioning";
// Annotation of such a request: ProvisioningRequest::digest.
inline constexpr std::string_view kProvisioningDigest = "subak.gpu/provisioning-digest";

}  // namespace names

// The most pod sets of a ProvisioningRequest, by its definition.
inline constexpr std::size_t kMaxPodSets = 32;

// What the autoscaler says of a request, from the conditions that are True. If several are, the
// last one of this list counts.
enum class ProvisioningState : std::uint8_t {
  // The autoscaler has not answered.
  kRequested,
  // Accepted: the autoscaler tries to get the nodes.
  kAccepted,
  // Provisioned: the nodes exist, or will exist soon.
  kProvisioned,
  // BookingExpired: the autoscaler no longer keeps the nodes for the request.
  kExpired,
  // CapacityRevoked: the autoscaler has taken the nodes away.
  kRevoked,
  // Failed: the autoscaler cannot get the nodes.
  kFailed,
};
template <>
struct EnumText<ProvisioningState> {
  static constexpr std::array<std::string_view, 6> names{"requested", "accepted", "provisioned",
                                                         "expired",   "revoked",  "failed"};
};
// True if the request brings no nodes any more, so that only a new request can.
inline bool has_ended(ProvisioningState state) { return state >= ProvisioningState::kExpired; }

// Some pods of a request that have the same PodTemplate.
struct ProvisioningPods {
  // The name of the PodTemplate, in the namespace of the request.
  std::string pod_template;
  std::int64_t count = 0;
  friend bool operator==(const ProvisioningPods&, const ProvisioningPods&) = default;
};

// A ProvisioningRequest as read from the API server, or as written.
struct ProvisioningRequest {
  std::string ns, name, uid;
  std::string class_name;
  // spec.podSets, at most kMaxPodSets.
  std::vector<ProvisioningPods> pods;
  // From the label names::kProvisioning: the job, and how many requests Subak has made for the job,
  // with this one. 0: the label is absent or unreadable, so the request is not Subak's.
  JobId job;
  std::uint32_t number = 0;
  // Identifies the class, and the pods for which the request was made; empty: not known.
  std::string digest;
  // True: the deletion of the request was requested.
  bool going = false;
  ProvisioningState state = ProvisioningState::kRequested;
  // The reason and the message of the condition that decides `state`. Both may be empty.
  std::string reason, message;
  // Since when the request has this state, in whole seconds. 0: the time is absent or unreadable.
  TimeMs since_ms = 0;

  bool is_ours() const { return static_cast<bool>(job); }
};
// Reads a ProvisioningRequest. kInvalid: the object has no namespace, name or uid, or one of them
// is too long.
Result<ProvisioningRequest> read_provisioning_request(json::Value object);

// Returns the name of a job's request, "subak-1-42-3". Other installations of Subak in the same
// namespace may choose the same name.
std::string provisioning_name(JobId job, std::uint32_t number);

// Returns the body of the POST that makes the request. Uses `ns`, `name`, `class_name`, `pods`,
// `job`, `number` and `digest`.
std::string provisioning_request_body(const ProvisioningRequest& request, const DomainOwner& owner);
// Returns the body of the POST that makes a PodTemplate. The template has those parts of the pod on
// which its placement depends: labels, requests, selectors, affinity, tolerations, claims and
// priority. It has no gate, no command, no environment and no volumes except claims. So the
// template repeats no secret of the pod. `request`: gives the namespace and the label. kInvalid:
// the object has no spec with containers.
Result<std::string> pod_template_body(json::Value pod, const std::string& name,
                                      const ProvisioningRequest& request, const DomainOwner& owner);

}  // namespace subak
