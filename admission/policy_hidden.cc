// GPUs that a pod would see without a request: through its containers, its volumes, or a
// ResourceClaim for devices that Subak does not count yet.
#include <algorithm>

#include "admission/policy_parts.h"
#include "core/error.h"

namespace subak::policy {
namespace {

constexpr std::string_view kAskFirst =
    "want GPUs asked for by resources.limits, as nvidia.com/gpu: 1, so that they can be shared out";
constexpr std::string_view kAskForAll =
    "want it left out, or all GPUs of the node requested: it shows the container more GPUs than "
    "the pod requests";

// True if the pod requests every GPU of any node that could hold it. If no such node is known yet
// the answer is unknown, and the pod does not start either.
bool asks_whole_node(const ClusterView& cluster, const PodShape& shape) {
  if (shape.kind != GpuKind::kWhole) return false;
  return shape.gpus >= largest_of(cluster, shape, cluster.product_node_gpus);
}

Error hidden(const Pod& pod, std::string field, std::string_view got) {
  return {ErrorCode::kInvalid, std::move(field), std::string(got),
          std::string(pod.asks_gpu() ? kAskForAll : kAskFirst)};
}

std::optional<Decision> hidden_in(const Pod& pod, const ContainerNote& note) {
  if (note.visible_devices) {
    return bypassed(Bypass::kVisibleDevices,
                    hidden(pod, note.field + ".env[NVIDIA_VISIBLE_DEVICES]", note.visible_value));
  }
  if (!note.device_mount.empty()) {
    return bypassed(Bypass::kVisibleDevices,
                    hidden(pod, note.field + ".volumeMounts[].mountPath", note.device_mount));
  }
  if (!note.privileged) return std::nullopt;
  return bypassed(Bypass::kPrivileged,
                  Error{ErrorCode::kInvalid, note.field + ".securityContext.privileged", "true",
                        "want false: a privileged container sees every GPU of its node; or as many "
                        "GPUs asked for by resources.limits as the node has"});
}

}  // namespace

std::optional<Decision> hidden_gpu(const Context& c, const Pod& pod, std::string_view path) {
  if (asks_whole_node(c.cluster, pod.shape)) return std::nullopt;
  for (const ContainerNote& note : pod.containers) {
    if (auto d = hidden_in(pod, note)) return d;
  }
  if (!pod.nvidia_host_path.empty()) {
    return bypassed(
        Bypass::kHostPath,
        hidden(pod, std::string(path) + "spec.volumes[].hostPath.path", pod.nvidia_host_path));
  }
  if (pod.asks_gpu()) return std::nullopt;  // with a request NVIDIA's runtime is correct
  const auto& classes = c.config.gpu_runtime_classes;
  if (std::find(classes.begin(), classes.end(), pod.runtime_class) != classes.end()) {
    return bypassed(Bypass::kRuntimeClass,
                    hidden(pod, std::string(path) + "spec.runtimeClassName", pod.runtime_class));
  }
  return std::nullopt;
}

// Judges only the added containers: running ones cannot be changed any more.
Decision decide_ephemeral(const Context& c) {
  if (!c.review.object || is_trusted(c)) return untouched(Because::kUnchanged);
  const Pod after = read_pod(*c.review.object, c.config.extra_gpu_resources);
  if (asks_whole_node(c.cluster, after.shape)) return untouched(Because::kUnchanged);
  std::vector<Text> known;
  if (c.review.old_object) {
    for (const ContainerNote& note :
         read_pod(*c.review.old_object, c.config.extra_gpu_resources).containers) {
      if (note.ephemeral) known.push_back(note.name);
    }
  }
  std::sort(known.begin(), known.end());
  for (const ContainerNote& note : after.containers) {
    if (!note.ephemeral || std::binary_search(known.begin(), known.end(), note.name)) continue;
    if (auto d = hidden_in(after, note)) return std::move(*d);
  }
  return untouched(Because::kUnchanged);
}

std::optional<Decision> claim_refusal(const Context& c, const Pod& pod) {
  if (pod.claims.device.empty() || c.config.device_claims != DeviceClaims::kDeny) {
    return std::nullopt;
  }
  return denied(Because::kDeviceClaim, 403,
                Error{ErrorCode::kDenied, pod.claims.device, "",
                      "asks for devices by a ResourceClaim or a device class, which this cluster's "
                      "policy forbids; " +
                          std::string(kAskFirst)}
                    .message());
}

std::string claim_warning(const Pod& pod, DeviceClaims policy) {
  return "DeviceClaim: " + cut_text(pod.claims.device) +
         " asks for devices by a ResourceClaim or a device class; " +
         (policy == DeviceClaims::kWarn
              ? "the pod does not wait for them (deviceClaims: warn), and is charged only for the "
                "GPUs that Subak knows"
              : "the pod waits until Subak knows which GPUs these are");
}

}  // namespace subak::policy
