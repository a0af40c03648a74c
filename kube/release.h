// Opening our gate on a pod: the JSON patch (RFC 6902) that narrows it to its node and takes the gate
// off, all at once or not at all.
//
// A pod may still be narrowed while a gate is on it: what the API server judges is the pod before the
// patch (kubernetes/kubernetes pkg/apis/core/validation, ValidatePodUpdate). Terms of required
// affinity are alternatives, so each of them gets the node; one without any requirement accepts no
// node, and may not gain one. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "kube/json.h"

namespace subak {

struct Release {
  std::string_view node;    // the pod's place; empty: wherever the scheduler puts it
  std::string_view status;  // for people: annotation subak.gpu/status; long ones are cut
};

// The patch for the pod as it was read last. It applies only to that version of that pod while our
// gate is on it: else the API server answers 422, and who sent it reads the pod again and decides.
// kInvalid: no pod that a server sent (no uid, no resourceVersion). kPrecondition: our gate is gone,
// or its affinity accepts no node at all.
Result<std::string> release_patch(json::Value pod, const Release& release);

}  // namespace subak
