// Opens Subak's gate on a pod with a JSON patch (RFC 6902). The patch pins the pod to its node and
// removes the gate. Both happen, or neither.
//
// The same patch may pin a pod and open its gate: the API server checks the gate of the pod as it
// was before the patch (kubernetes/kubernetes pkg/apis/core/validation, ValidatePodUpdate). Terms
// of required affinity are alternatives, so the node goes into each of them. A term without
// requirements accepts no node, and must get no requirement.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/json.h"

namespace subak {

// The fields of a gated pod, as last read, that its release needs. They are few, so that they can
// be stored for each pod.
struct GatedPod {
  // A term of its required node affinity.
  struct Term {
    // True: it has no requirement at all, so it accepts no node.
    bool empty = false;
    // True: it has matchFields, to which the patch adds the pin.
    bool has_fields = false;
    // The one node that its matchFields name; empty if they name none.
    std::string pin;
  };
  // How much of the path to required node affinity exists. A patch must add the missing part at
  // once.
  enum class Affinity : std::uint8_t { kNone, kOther, kPreferred, kRequired };

  // Both are never empty. The patch tests the version.
  std::string uid, resource_version;
  // The index of Subak's gate in spec.schedulingGates.
  std::size_t gate = 0;
  // The existing part of the path to required node affinity. kOther: spec.affinity exists.
  // kPreferred: spec.affinity.nodeAffinity exists too.
  Affinity affinity = Affinity::kNone;
  // The terms, only with kRequired.
  std::vector<Term> terms;
  // True: metadata.annotations exists, so a patch may add a member to it.
  bool has_annotations = false;
};

// Reads the fields. kInvalid: the object is not a pod from a server (no uid, no resourceVersion).
// kPrecondition: Subak's gate is gone.
Result<GatedPod> read_gated_pod(json::Value pod);

// Where the pod goes, for one call of release_patch(). The views must be valid during the call.
struct Release {
  // The node of the pod's hold; empty: the cluster's scheduler chooses.
  std::string_view node;
  // The text of annotation subak.gpu/status, for people. Long texts are cut.
  std::string_view status;
};

// Returns the patch for the pod as read. It applies only to that version of the pod while Subak's
// gate is on it. Otherwise the API server answers 422, and the sender must read the pod again.
// kPrecondition: the pod's affinity accepts no node at all.
Result<std::string> release_patch(const GatedPod& pod, const Release& release);
// The same for a pod object, with the errors of read_gated_pod() too.
Result<std::string> release_patch(json::Value pod, const Release& release);

}  // namespace subak
