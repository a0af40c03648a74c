// A pod that is created.
#include <algorithm>

#include "admission/patch.h"
#include "admission/policy_parts.h"
#include "core/names.h"

namespace subak::policy {
namespace {

bool is_mirror(const Pod& pod) { return has_key(pod.annotations, "kubernetes.io/config.mirror"); }

Error field_error(std::string_view path, std::string_view field, std::string_view got,
                  std::string_view want) {
  return {ErrorCode::kInvalid, std::string(path) + std::string(field), std::string(got),
          std::string(want)};
}

constexpr std::string_view kAskInstead =
    "want GPUs asked for by resources.limits, as nvidia.com/gpu: 1, so that they can be shared out";

std::optional<Decision> invalid(const Pod& pod) {
  if (pod.mistakes.empty()) return std::nullopt;
  const auto is_kinds = [&](const Error& e) { return e.want.starts_with("want one GPU kind"); };
  auto first = pod.mistakes.begin();
  if (pod.two_kinds) first = std::find_if(pod.mistakes.begin(), pod.mistakes.end(), is_kinds);
  if (first == pod.mistakes.end()) first = pod.mistakes.begin();
  Decision d = denied(pod.two_kinds ? Because::kTwoGpuKinds : Because::kInvalidValue, *first);
  if (pod.mistakes.size() > 1) {
    d.message += " (and " + std::to_string(pod.mistakes.size() - 1) + " more mistakes)";
  }
  return d;
}

std::optional<Decision> mig_topology(const Pod& pod, std::string_view path) {
  if (pod.shape.kind != GpuKind::kMig) return std::nullopt;
  const bool far = pod.topology == Topology::kNvlink ||
                   pod.topology == Topology::kNvlinkExclusive || pod.topology == Topology::kRack;
  if (!far && !pod.keys.segment.set) return std::nullopt;
  const bool segment = pod.keys.segment.set;
  const std::string key(segment ? names::kSegment : names::kTopology);
  return denied(Because::kMigTopology,
                field_error(path, "metadata.annotations[" + key + "]",
                            segment ? pod.keys.segment.value : pod.keys.topology.value,
                            "want any or node and no segment: MIG slices (" + pod.shape.profile +
                                ") have no peer-to-peer; or ask for whole GPUs"));
}

using Stamps = std::vector<std::pair<std::string_view, std::string>>;

// Each value goes into a label if it can be one, else into an annotation; what is there stays.
void stamp(const Pod& pod, std::string_view key, std::string value, Stamps& labels,
           Stamps& annotations) {
  if (value.empty() || has_key(pod.labels, key)) return;
  if (is_label_value(value)) {
    labels.emplace_back(key, std::move(value));
  } else if (!has_key(pod.annotations, key)) {
    annotations.emplace_back(key, std::move(value));
  }
}

std::string pod_patch(const Context& c, const Pod& pod, const AccountsView::Row& account) {
  Stamps labels, annotations;
  stamp(pod, names::kAccount, account.spec.path, labels, annotations);
  stamp(pod, names::kJob, pod.gang.job, labels, annotations);
  if (!pod.keys.user.set) stamp(pod, names::kUser, person(c.review), labels, annotations);
  PatchWriter patch;
  if (!pod.has_metadata) patch.add("/metadata", "{}");
  patch.add_members("/metadata/labels", pod.has_labels, labels);
  patch.add_members("/metadata/annotations", pod.has_annotations, annotations);
  if (!pod.gated()) {
    const std::string gate = "{\"name\":\"" + std::string(names::kGate) + "\"}";
    if (pod.has_gates) {
      patch.add("/spec/schedulingGates/-", gate);
    } else {
      patch.add("/spec/schedulingGates", "[" + gate + "]");
    }
  }
  return std::move(patch).finish();
}

void add_warnings(const Pod& pod, const std::string& exceeds, Decision& d) {
  if (!exceeds.empty()) d.warnings.push_back(exceeds);
  for (std::string& w : alignment_warnings(pod)) d.warnings.push_back(std::move(w));
  for (const Text key : pod.unknown_keys) {
    d.warnings.push_back("\"" + shown(key) + "\" is no key of Subak and has no effect");
  }
}

Decision missing_gate() {
  return bypassed(Bypass::kGateMissing,
                  Error{ErrorCode::kInvalid, "spec.schedulingGates", "without subak.gpu/queue",
                        "want the gate that the mutating webhook adds: create the pod again, and "
                        "see that no other webhook removes it"});
}

Decision gate_it(const Context& c, const Pod& pod, const AccountsView::Row& account) {
  Decision d;
  const std::string exceeds = exceeds_fleet(c.cluster, pod);
  add_warnings(pod, exceeds, d);
  if (c.endpoint == Endpoint::kMutate) d.patch = pod_patch(c, pod, account);
  if (d.patch.empty()) {
    d.because = Because::kUnchanged;
    return d;
  }
  d.verdict = Verdict::kPatched;
  d.because = exceeds.empty() ? Because::kGated : Because::kExceedsFleet;
  return d;
}

std::optional<Decision> pod_over_limit(const Context& c, const Pod& pod,
                                       const AccountsView::Row& account) {
  const auto each = least_milligpu(c.cluster, pod.shape);
  if (!each) return std::nullopt;
  if (pod.gang.size == 1 || !pod.gang.uniform) return over_limit(c, pod.shape, *each, "", account);
  return over_limit(
      c, pod.shape, *each * pod.gang.size,
      " (" + std::to_string(pod.gang.size) + " pods of " + std::to_string(pod.shape.gpus) + ")",
      account);
}

}  // namespace

std::optional<Decision> hidden_gpu(const Context& c, const Pod& pod, std::string_view path) {
  for (const ContainerNote& note : pod.containers) {
    if (note.visible_devices && !note.gpu) {
      return bypassed(Bypass::kVisibleDevices,
                      field_error("", note.field + ".env[NVIDIA_VISIBLE_DEVICES]",
                                  note.visible_value, kAskInstead));
    }
  }
  if (pod.asks_gpu()) return std::nullopt;
  for (const ContainerNote& note : pod.containers) {
    if (!note.privileged) continue;
    return bypassed(Bypass::kPrivileged,
                    field_error("", note.field + ".securityContext.privileged", "true",
                                "want false: a privileged container sees every GPU of its node; "
                                "or a GPU asked for by resources.limits"));
  }
  if (!pod.nvidia_host_path.empty()) {
    return bypassed(Bypass::kHostPath, field_error(path, "spec.volumes[].hostPath.path",
                                                   pod.nvidia_host_path, kAskInstead));
  }
  const auto& classes = c.config.gpu_runtime_classes;
  if (std::find(classes.begin(), classes.end(), pod.runtime_class) != classes.end()) {
    return bypassed(Bypass::kRuntimeClass,
                    field_error(path, "spec.runtimeClassName", pod.runtime_class, kAskInstead));
  }
  return std::nullopt;
}

std::optional<Decision> refusal(const Context& c, const Pod& pod, std::string_view path) {
  if (auto d = invalid(pod)) return d;
  if (!pod.node_name.empty()) {
    return bypassed(Bypass::kNodeName,
                    field_error(path, "spec.nodeName", pod.node_name,
                                "want it unset: Subak chooses the node; to narrow the choice use "
                                "nodeSelector or node affinity"));
  }
  if (auto d = hidden_gpu(c, pod, path)) return d;
  if (auto d = mig_topology(pod, path)) return d;
  Payer payer = payer_of(c, pod, path);
  if (payer.refused) return std::move(payer.refused);
  if (payer.row->spec.draining) {
    return denied(Because::kDraining, 403,
                  "metadata.namespace: account " + payer.row->spec.path +
                      " is draining and takes nothing new; use another account or wait until an "
                      "operator resumes it");
  }
  if (auto d = user_refusal(c, pod, path)) return d;
  if (auto d = pod_over_limit(c, pod, *payer.row)) return d;
  if (c.config.deny_unaligned) {
    const auto warnings = alignment_warnings(pod);
    if (!warnings.empty()) return denied(Because::kUnaligned, 422, warnings.front());
  }
  return std::nullopt;
}

Decision decide_pod(const Context& c, json::Value object) {
  const Pod pod = read_pod(object, c.config.extra_gpu_resources);
  if (is_mirror(pod)) return untouched(Because::kMirrorPod);
  if (!other_manager_of(pod, c.config.other_schedulers).empty()) {
    return untouched(Because::kOtherManager);
  }
  if (!pod.asks_gpu() && pod.mistakes.empty()) {
    auto hidden = hidden_gpu(c, pod, "");
    return hidden ? std::move(*hidden) : untouched(Because::kNoGpu);
  }
  if (auto d = refusal(c, pod, "")) return std::move(*d);
  if (c.endpoint == Endpoint::kValidate && !pod.gated()) return missing_gate();
  return gate_it(c, pod, *payer_of(c, pod, "").row);
}

}  // namespace subak::policy
