// Makes the JSON patch (RFC 6902) that opens Subak's gate on a pod. While a pod has this scheduling
// gate, kube-scheduler ignores the pod. The patch pins the pod to its node and removes the gate.
// Either both happen, or neither. The edge, which watches a cluster, sends the patch
// (server/edge/writes).
//
// One patch may do both, because the API server checks the gate of the pod as it was before the
// patch (kubernetes/kubernetes pkg/apis/core/validation, ValidatePodUpdate). The terms of required
// affinity are alternatives, so the patch adds the node to each term. A term without requirements
// accepts no node, so the patch must not add a requirement to it.
// Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/json.h"

namespace subak {

namespace names {
// Annotations of a pod that uses the nodes of a ProvisioningRequest: the name of the request, and
// its class.
inline constexpr std::string_view kConsumesRequest =
    "autoscaling.x-k8s.io/consume-provisioning-request";
inline constexpr std::string_view kProvisioningClass =
    "autoscaling.x-k8s.io/provisioning-class-name";
}  // namespace names

// The fields of a gated pod, as last read, that release_patch() needs. These fields are so few that
// the edge can store them for each pod.
struct GatedPod {
  // A term of the pod's required node affinity.
  struct Term {
    // True: the term has no requirement at all, so it accepts no node.
    bool empty = false;
    // True: the term has matchFields, to which the patch adds the pin.
    bool has_fields = false;
    // The one node that the term's matchFields name; empty if they name none.
    std::string pin;
  };
  // How much of the path to required node affinity exists in the pod. A patch must add the missing
  // part in one operation.
  enum class Affinity : std::uint8_t { kNone, kOther, kPreferred, kRequired };

  // The uid and the resource version of the pod, never empty. The patch applies only to this
  // version.
  std::string uid, resource_version;
  // The index of Subak's gate in spec.schedulingGates.
  std::size_t gate = 0;
  // The existing part of the path to required node affinity. kOther: spec.affinity exists.
  // kPreferred: spec.affinity.nodeAffinity exists too.
  Affinity affinity = Affinity::kNone;
  // The terms of the required node affinity; set only if `affinity` is kRequired.
  std::vector<Term> terms;
  // True: metadata.annotations exists, so that a patch may add a member to it.
  bool has_annotations = false;
  // True: the pod has the annotation, so its value stays.
  bool has_do_not_disrupt = false, has_safe_to_evict = false;
};

// Reads the fields. kInvalid: the object is not a pod from a server (no uid, no resourceVersion).
// kPrecondition: Subak's gate is gone.
Result<GatedPod> read_gated_pod(json::Value pod);

// Where the pod goes, for one call of release_patch(). The views must be valid during the call.
struct Release {
  // The node on which Subak holds GPUs for the pod; empty: the cluster's scheduler chooses.
  std::string_view node;
  // The text of annotation subak.gpu/status, for people. Long texts are cut.
  std::string_view status;
  // True: the patch also asks autoscalers not to remove the pod's node (names::kDoNotDisrupt,
  // names::kSafeToEvict).
  bool protect = false;
  // The name and the class of the ProvisioningRequest that brought the pod's node. The patch writes
  // them as annotations (names::kConsumesRequest). Empty: there is no such request.
  std::string_view request{}, request_class{};
};

// Returns the patch for the pod as it was read. The patch applies only to this version of the pod,
// with Subak's gate on it. If the pod has changed since, the API server answers 422, and the sender
// must read the pod again. kPrecondition: the pod's affinity accepts no node at all.
Result<std::string> release_patch(const GatedPod& pod, const Release& release);
// Does the same for a pod object. The errors of read_gated_pod() are possible too.
Result<std::string> release_patch(json::Value pod, const Release& release);

}  // namespace subak
