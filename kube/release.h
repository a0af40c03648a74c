// Opens Subak's gate on a pod with a JSON patch (RFC 6902). The patch pins the pod to its node and
// removes the gate: both or neither.
//
// A gated pod may still be pinned: the API server validates the pod before the patch
// (kubernetes/kubernetes pkg/apis/core/validation, ValidatePodUpdate). Terms of required affinity
// are alternatives, so the node goes into each of them. A term without requirements accepts no
// node, and must not gain one.
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

// The fields of a gated pod for its release, as last read: few, so that they can be stored for each
// pod.
struct GatedPod {
  // A term of its required node affinity.
  struct Term {
    // It has no requirement at all, so it accepts no node.
    bool empty = false;
    // It has matchFields, to which the pin is added.
    bool has_fields = false;
    // The one node that its matchFields name; empty if they name none.
    std::string pin;
  };
  // How much of the path to required node affinity exists. A patch must add the rest in one piece.
  enum class Affinity : std::uint8_t { kNone, kOther, kPreferred, kRequired };

  // Never empty. The patch tests the version.
  std::string uid, resource_version;
  // The index of Subak's gate in spec.schedulingGates.
  std::size_t gate = 0;
  // The existing part of spec.affinity.nodeAffinity.required... kOther: spec.affinity; kPreferred:
  // nodeAffinity too.
  Affinity affinity = Affinity::kNone;
  // Of kRequired only.
  std::vector<Term> terms;
  // metadata.annotations exists, so a patch may add a member to it.
  bool has_annotations = false;
};

// kInvalid: not a pod from a server (no uid, no resourceVersion). kPrecondition: Subak's gate is
// gone.
Result<GatedPod> read_gated_pod(json::Value pod);

// Where the pod goes, for one call of release_patch(). The views must stay valid during it.
struct Release {
  // The node of the pod's hold; empty: the cluster's scheduler chooses.
  std::string_view node;
  // For people, as annotation subak.gpu/status. Long texts are cut.
  std::string_view status;
};

// Returns the patch for the pod as read. It applies only to that version of the pod while Subak's
// gate is on it. Else the API server answers 422, and the sender reads the pod again and decides.
// kPrecondition: its affinity accepts no node at all.
Result<std::string> release_patch(const GatedPod& pod, const Release& release);
// The same for a pod object; errors of both.
Result<std::string> release_patch(json::Value pod, const Release& release);

}  // namespace subak
