// The webhook's decision about one pod or owner of pods, as a pure function of the View, the
// configuration and the request. The View is an immutable snapshot of the engine's state. decide()
// changes no state, so a retry, a reinvocation or a dry run gets the same answer. webhook.h calls
// it for each AdmissionReview.
//
// The main change is to add Subak's gate: a scheduling gate, with which kube-scheduler ignores the
// pod until its turn. Owners that can be suspended, such as Jobs, may be suspended instead. An
// object that needs no change gets no patch.
//
// decide() denies a request only if waiting cannot help. Such a request exceeds static limits, has
// impossible values, breaks a rule of an account or of the configuration, or tries to bypass the
// gate. If the fleet only lacks GPUs at the moment, the pod gets the gate and queues. All this is
// for a namespace in mode `enforce`. In mode `warn` the same changes and denials become warnings.
// In mode `observe` decide() lets every object pass.
//
// Threads: any; pure functions. The View and the Review must stay alive during the call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/policy_config.h"
#include "admission/review.h"
#include "core/text.h"
#include "engine/answers/view.h"

namespace subak {

// The webhook that was called: the mutating webhook may patch the object, and the validating
// webhook checks the final object. The stamping webhook only writes names::kCreatedBy.
enum class Endpoint : std::uint8_t { kMutate, kValidate, kStamp };

// What the webhook does with the request: allow it, allow it with a patch, or deny it. kBadRequest:
// the body is not a review, so the answer is HTTP 400.
enum class Verdict : std::uint8_t { kUntouched, kPatched, kDenied, kBadRequest };
template <>
struct EnumText<Verdict> {
  static constexpr std::array<std::string_view, 4> names{"allowed", "patched", "denied",
                                                         "bad_request"};
};

// Why the webhook decided so. The metric admissions_total{decision,reason} has it as a label.
enum class Because : std::uint8_t {
  // The object requests no GPUs.
  kNoGpu,
  // Subak ignores objects of this kind, or this subresource or operation.
  kNotOurs,
  // The namespace is a system namespace (is_system_namespace()), such as kube-system.
  kExemptNamespace,
  // No account names the namespace.
  kUnmanaged,
  // The path of the call names a cluster that the View lacks.
  kUnknownCluster,
  // The pod is a static pod that its node reports.
  kMirrorPod,
  // The mode of the namespace is observe, so the webhook lets the object pass.
  kObserve,
  // The mode is warn, so a change or denial of mode enforce became a warning.
  kWarn,
  // The object needs no change.
  kUnchanged,
  // The object has an owner that can be suspended, so Subak suspends that owner instead.
  kSuspendedAbove,
  // The pod got Subak's gate.
  kGated,
  // The owner was suspended.
  kSuspended,
  // The pod got the gate and a warning: the present fleet could not hold it, even if it were empty.
  kExceedsFleet,
  // The named account does not exist, or the namespace has no account.
  kUnknownAccount,
  // The pod names an account outside the subtree of its namespace's account.
  kOutsideSubtree,
  // The pod asks for more than the limits of its accounts could ever allow.
  kOverLimit,
  // The pod's account, or an account above it, is draining.
  kDraining,
  // The pod requests GPUs in two ways.
  kTwoGpuKinds,
  // One of Subak's keys, or a resource request, has a value that cannot be read.
  kInvalidValue,
  // The pod asks for MIG slices and also for a topology beyond one node or for a segment, which
  // slices cannot have.
  kMigTopology,
  // No GPU product offers the requested MIG profile.
  kMigProfile,
  // The pod names the scheduler of another queue manager.
  kOtherScheduler,
  // The pod names another user than its creator.
  kUserMismatch,
  // The node would not align the pod's CPUs, memory or network cards with its GPUs, and
  // AdmissionConfig::alignment_of() is kDeny.
  kUnaligned,
  // The request tries a way around the gate; Decision::bypass says which way.
  kBypass,
  // The pod requests devices by DRA. AdmissionConfig::device_claims decides about it.
  kDeviceClaim,
  // The body is not a readable review.
  kMalformed,
  // There is no View yet, so decide_without_view() decided.
  kNoView,
  // The object got the annotation names::kCreatedBy, or an edit of the annotation was undone.
  kStamped,
};
template <>
struct EnumText<Because> {
  static constexpr std::array<std::string_view, 29> names{
      "no_gpu",          "not_ours",     "exempt_namespace", "unmanaged_namespace",
      "unknown_cluster", "mirror_pod",

      "observe",         "warn",         "unchanged",        "suspended_above",
      "gated",           "suspended",    "ExceedsFleet",     "unknown_account",
      "outside_subtree", "over_limit",   "draining",         "two_gpu_kinds",
      "invalid_value",   "mig_topology", "mig_profile",      "other_scheduler",
      "user_mismatch",   "unaligned",    "bypass",           "device_claim",
      "malformed",       "no_view",      "stamped"};
};

// The ways around the gate: how a pod could see GPUs, or leave the queue, without Subak. Mode
// enforce denies each of them with 403. In mode warn, the counters count the attempts too.
enum class Bypass : std::uint8_t {
  kNone,
  // spec.nodeName is set, so the pod would skip the scheduler and the gate.
  kNodeName,
  // NVIDIA_VISIBLE_DEVICES names devices, or volume mounts do, which NVIDIA's runtime reads too.
  kVisibleDevices,
  // A host path of NVIDIA's devices is mounted.
  kHostPath,
  // A privileged container sees every device of its node.
  kPrivileged,
  // The pod has a runtime class of AdmissionConfig::gpu_runtime_classes, but requests no GPUs.
  kRuntimeClass,
  // A GPU pod reached /validate without Subak's gate.
  kGateMissing,
  // An update removes Subak's gate.
  kGateRemoved,
  // An update changes one of Subak's keys on a pod.
  kLabelsChanged,
};
template <>
struct EnumText<Bypass> {
  static constexpr std::array<std::string_view, 9> names{
      "none",          "node_name",    "visible_devices", "host_path",     "privileged",
      "runtime_class", "gate_missing", "gate_removed",    "labels_changed"};
};

// The decision about one request, before it becomes JSON. The default lets the object pass.
struct Decision {
  // What to do with the object.
  Verdict verdict = Verdict::kUntouched;
  // Why. A counter has this cause as a label.
  Because because = Because::kNotOurs;
  // The way around the gate that the request tried. The counters count it, even if the request was
  // not denied.
  Bypass bypass = Bypass::kNone;
  // The HTTP code of a denial: 403 or 422. Otherwise 0.
  int code = 0;
  // The text of a denial: the field, its value, and the fix.
  std::string message;
  // The patch as RFC 6902 text; empty: none.
  std::string patch;
  // The warnings: at most limits::kMaxWarnings, of at most 256 bytes each.
  std::vector<std::string> warnings;
  // How many warnings were left out because `warnings` was full. decide() then replaces the last
  // warning by one that counts the missing warnings.
  std::size_t more_warnings = 0;

  // Shortens the text, drops characters that are not printable, and adds the text as a warning. If
  // there are already limits::kMaxWarnings warnings, warn() only counts the new one.
  void warn(std::string_view text);
  // Returns the answer to send. Moves the texts out.
  ReviewAnswer answer() &&;
};

// Decides while there is no View yet. Pods that request GPUs get the gate and a warning, and the
// function denies no request. The reason: Subak can open an unnecessary gate later, but it can
// never add a missing gate.
// A pod that names its node cannot get a gate, so it passes with a warning. For kValidate there is
// no patch.
Decision decide_without_view(const AdmissionConfig& config, Endpoint endpoint,
                             const Review& review);

// Decides for Endpoint::kStamp, which needs no View. A new object gets the annotation
// names::kCreatedBy with the name of the caller, even if the caller wrote another value. An update
// cannot change the value.
Decision decide_stamp(const Review& review);

// Decides by the mode of the object's namespace. `cluster` is the name in the path of the call; an
// empty name stands for the only cluster. If the View lacks the cluster, config.unknown_cluster
// decides. The verdict is never kBadRequest, because the caller has already parsed the review.
Decision decide(const View& view, const AdmissionConfig& config, std::string_view cluster,
                Endpoint endpoint, const Review& review);

}  // namespace subak
