// A replica's answer before it has a copy from its leader.
#include "admission/policy_parts.h"

namespace subak {
namespace {

constexpr std::string_view kWhy = "this replica of Subak has not heard from its leader yet: ";

bool may_take_gpus(const AdmissionConfig& config, const Pod& pod) {
  if (pod.asks_gpu() || !pod.mistakes.empty()) return true;
  return !pod.claims.device.empty() && config.device_claims != DeviceClaims::kWarn;
}

}  // namespace

// Modes, accounts and limits are unknown. Kubernetes accepts no new gate on a bound pod.
Decision decide_without_view(const AdmissionConfig& config, Endpoint endpoint,
                             const Review& review) {
  const bool pod_made = review.group.empty() && review.kind == "Pod" &&
                        review.sub_resource.empty() && review.operation == "CREATE";
  if (!pod_made || !review.object) return policy::untouched(Because::kNotOurs);
  if (is_system_namespace(Policy(), review.ns)) {
    return policy::untouched(Because::kExemptNamespace);
  }
  const Pod pod = read_pod(*review.object, config.extra_gpu_resources);
  if (policy::is_mirror(review, pod)) return policy::untouched(Because::kMirrorPod);
  if (!may_take_gpus(config, pod)) return policy::untouched(Because::kNoGpu);
  Decision d = policy::untouched(Because::kNoView);
  if (!pod.node_name.empty()) {
    d.warn(std::string(kWhy) + "this pod names its node, and that is not checked");
    return d;
  }
  const bool asks_domain = pod.in_domain() && pod.shape.kind == GpuKind::kWhole &&
                           pod.claims.device.empty() && pod.claims.domain_template.empty();
  if (endpoint == Endpoint::kMutate)
    d.patch = policy::pod_patch(
        review, pod, {"", "", asks_domain, config.device_claims, "", {}, config.protect_gangs});
  if (!d.patch.empty()) d.verdict = Verdict::kPatched;
  d.warn(std::string(kWhy) +
         "this pod is gated, and Subak decides about it when the leader answers again");
  return d;
}

}  // namespace subak
