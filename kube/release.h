// Opening our gate on a pod: the JSON patch (RFC 6902) that narrows it to its node and takes the gate
// off, all at once or not at all.
//
// A pod may still be narrowed while a gate is on it: what the API server judges is the pod before the
// patch (kubernetes/kubernetes pkg/apis/core/validation, ValidatePodUpdate). Terms of required
// affinity are alternatives, so each of them gets the node; one without any requirement accepts no
// node, and may not gain one. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/json.h"

namespace subak {

// What a release needs of a gated pod as it was read last: little, so that it can be kept for each.
struct GatedPod {
  // A term of its required node affinity.
  struct Term {
    bool empty = false;  // no requirement at all: accepts no node
    bool has_fields = false;
    std::string pin;  // the one node that a matchFields names, if one does
  };
  enum class Affinity : std::uint8_t { kNone, kOther, kPreferred, kRequired };

  std::string uid, resource_version;
  std::size_t gate = 0;  // which of its gates is ours
  // How much of spec.affinity.nodeAffinity.required... is there: kOther: spec.affinity; kPreferred:
  // nodeAffinity too.
  Affinity affinity = Affinity::kNone;
  std::vector<Term> terms;  // of kRequired
  bool has_annotations = false;
};

// kInvalid: no pod that a server sent (no uid, no resourceVersion). kPrecondition: our gate is gone.
Result<GatedPod> read_gated_pod(json::Value pod);

struct Release {
  std::string_view node;    // the pod's place; empty: wherever the scheduler puts it
  std::string_view status;  // for people: annotation subak.gpu/status; long ones are cut
};

// The patch for the pod as it was read. It applies only to that version of that pod while our gate
// is on it: else the API server answers 422, and who sent it reads the pod again and decides.
// kPrecondition: its affinity accepts no node at all.
Result<std::string> release_patch(const GatedPod& pod, const Release& release);
// Of a pod at hand; errors of both.
Result<std::string> release_patch(json::Value pod, const Release& release);

}  // namespace subak
