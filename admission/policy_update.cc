// A pod that is changed: nobody but us takes the gate away or moves a pod to other books.
#include "admission/policy_parts.h"
#include "core/names.h"

namespace subak::policy {
namespace {

// The first key of ours whose value differs, also by being there on one side only.
Text changed_key(const TextPairs& before, const TextPairs& after) {
  for (const auto& [key, value] : before) {
    if (!key.starts_with(names::kPrefix)) continue;
    if (!has_key(after, key) || find_text(after, key) != value) return key;
  }
  for (const auto& [key, value] : after) {
    if (key.starts_with(names::kPrefix) && !has_key(before, key)) return key;
  }
  return {};
}

Decision changed(std::string_view kind, Text key, const TextPairs& before, const TextPairs& after) {
  const std::string was(find_text(before, key));
  return bypassed(
      Bypass::kLabelsChanged,
      Error{ErrorCode::kInvalid, "metadata." + std::string(kind) + "[" + shown(key) + "]",
            std::string(find_text(after, key)),
            "want \"" + shown(was) +
                "\" as before: only Subak changes its keys on a "
                "pod; create a new pod instead"});
}

}  // namespace

Decision decide_update(const Context& c) {
  if (!c.review.object || !c.review.old_object || is_trusted(c)) {
    return untouched(Because::kUnchanged);
  }
  const Pod before = read_pod(*c.review.old_object, c.config.extra_gpu_resources);
  const bool ours = before.gated() || before.keys.job.set || before.keys.account.set;
  if (!before.asks_gpu() || !ours) return untouched(Because::kNoGpu);
  const Pod after = read_pod(*c.review.object, c.config.extra_gpu_resources);
  if (before.gated() && !after.gated()) {
    return bypassed(Bypass::kGateRemoved,
                    Error{ErrorCode::kInvalid, "spec.schedulingGates", "without subak.gpu/queue",
                          "want the gate kept: Subak removes it when the pod's turn comes (see: "
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
