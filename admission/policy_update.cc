// The decision about a changed pod: only Subak removes the gate, or changes a pod's keys with
// Subak's prefix. The policy subak-keys in the API server says the same.
#include <algorithm>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "core/names.h"

namespace subak::policy {
namespace {

// Returns Subak's keys, sorted, as read.
TextPairs own_keys(const TextPairs& pairs) {
  TextPairs own;
  for (const auto& pair : pairs) {
    if (pair.first.starts_with(names::kPrefix)) own.push_back(pair);
  }
  std::sort(own.begin(), own.end());
  return own;
}

// Returns the first of Subak's keys whose value differs, or that exists on one side only.
Text changed_key(const TextPairs& before, const TextPairs& after) {
  const TextPairs was = own_keys(before), is = own_keys(after);
  const auto [b, a] = std::mismatch(was.begin(), was.end(), is.begin(), is.end());
  if (b == was.end() && a == is.end()) return {};
  if (a == is.end() || (b != was.end() && b->first < a->first)) return b->first;
  return a->first;
}

Decision changed(std::string_view kind, Text key, const TextPairs& before, const TextPairs& after) {
  const std::string want = has_key(before, key)
                               ? "want \"" + cut_text(find_text(before, key)) + "\" as before"
                               : "want it left out as before";
  return bypassed(
      Bypass::kLabelsChanged,
      Error{ErrorCode::kInvalid, "metadata." + std::string(kind) + "[" + cut_text(key) + "]",
            std::string(find_text(after, key)),
            want + ": only Subak changes its keys on a pod; create a new pod instead"});
}

}  // namespace

Decision decide_update(const Context& c) {
  if (!c.review.object || !c.review.old_object || is_trusted(c)) {
    return untouched(Because::kUnchanged);
  }
  const Pod before = read_pod(*c.review.old_object, c.config.extra_gpu_resources);
  const Pod after = read_pod(*c.review.object, c.config.extra_gpu_resources);
  if (before.gated() && !after.gated()) {
    return bypassed(Bypass::kGateRemoved, Error{ErrorCode::kInvalid, "spec.schedulingGates", "",
                                                "has no subak.gpu/queue, want the gate kept: Subak "
                                                "removes it when the pod's turn comes (see: "
                                                "subak why)"});
  }
  if (const Text key = changed_key(before.labels, after.labels); !key.empty()) {
    return changed("labels", key, before.labels, after.labels);
  }
  if (const Text key = changed_key(before.annotations, after.annotations); !key.empty()) {
    return changed("annotations", key, before.annotations, after.annotations);
  }
  return untouched(Because::kUnchanged);
}

}  // namespace subak::policy
