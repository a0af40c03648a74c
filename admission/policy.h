// The pod policy: the webhook's answer, as a pure function of the published View, the configuration
// and one request. It changes no state, so a retry, a reinvocation or a dry run gets the same
// answer. An object that needs no change gets no patch.
//
// It denies only what can never be right (static limits, impossible values, ways around the gate).
// A request for something that is only missing now is gated and queues. In `warn` the same
// evaluation becomes warnings, in `observe` nothing.
//
// Threads: pure; the View and the Review must stay alive during the call.
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

// The webhook that was called: mutating (may patch), or validating (checks the final object).
enum class Endpoint : std::uint8_t { kMutate, kValidate };

// What the webhook does with the request. kBadRequest: it was no review, so the answer is HTTP 400.
enum class Verdict : std::uint8_t { kUntouched, kPatched, kDenied, kBadRequest };
template <>
struct EnumText<Verdict> {
  static constexpr std::array<std::string_view, 4> names{"allowed", "patched", "denied",
                                                         "bad_request"};
};

// The cause of a decision; a closed set, for counters (admissions_total{decision,reason}).
enum class Because : std::uint8_t {
  // The object requests no GPUs.
  kNoGpu,
  // A kind, subresource or operation that the policy ignores.
  kNotOurs,
  // Subak's own namespace, a system namespace or an operator's.
  kExemptNamespace,
  // A namespace that no account names.
  kUnmanaged,
  // The path of the call names a cluster that the View lacks.
  kUnknownCluster,
  // A static pod, as its node reports it.
  kMirrorPod,
  // The mode of the namespace is observe: nothing is judged.
  kObserve,
  // The mode is warn: what enforce does has become warnings.
  kWarn,
  // The object needs no change.
  kUnchanged,
  // An owner that can be suspended is above this one.
  kSuspendedAbove,
  // The pod got Subak's gate.
  kGated,
  // The owner was suspended.
  kSuspended,
  // Gated, with a warning: the fleet now could not hold the pod.
  kExceedsFleet,
  // The named account does not exist, or the namespace has none.
  kUnknownAccount,
  // The named account is not within that of the namespace.
  kOutsideSubtree,
  // More than the limits of the accounts could ever allow.
  kOverLimit,
  // An account that pays is draining.
  kDraining,
  // The pod requests GPUs in two ways.
  kTwoGpuKinds,
  // One of Subak's keys, or a request, has a value that cannot be read.
  kInvalidValue,
  // Slices with a wish for a topology or a segment, which they cannot have.
  kMigTopology,
  // No GPU product has such slices.
  kMigProfile,
  // A scheduler of another queue manager would place the pod.
  kOtherScheduler,
  // The named user is another person.
  kUserMismatch,
  // Denied because the configuration says so: missing alignment.
  kUnaligned,
  // A way around the gate: see Decision::bypass.
  kBypass,
  // It requests devices by DRA: gated, denied or allowed, as configured.
  kDeviceClaim,
  // Not a readable review.
  kMalformed,
  // There is no View yet: GPU pods were gated without one.
  kNoView,
};
template <>
struct EnumText<Because> {
  static constexpr std::array<std::string_view, 28> names{
      "no_gpu",          "not_ours",     "exempt_namespace", "unmanaged_namespace",
      "unknown_cluster", "mirror_pod",

      "observe",         "warn",         "unchanged",        "suspended_above",
      "gated",           "suspended",    "ExceedsFleet",     "unknown_account",
      "outside_subtree", "over_limit",   "draining",         "two_gpu_kinds",
      "invalid_value",   "mig_topology", "mig_profile",      "other_scheduler",
      "user_mismatch",   "unaligned",    "bypass",           "device_claim",
      "malformed",       "no_view"};
};

// An attempted way around the gate.
// How a pod could see GPUs or leave the queue without Subak. Each is denied with 403 in mode
// enforce, and counted in mode warn too.
enum class Bypass : std::uint8_t {
  kNone,
  // spec.nodeName is set: the scheduler and its gate would be skipped.
  kNodeName,
  // NVIDIA_VISIBLE_DEVICES is set, or its volume mounts are used.
  kVisibleDevices,
  // A host path of NVIDIA's devices is mounted.
  kHostPath,
  // A privileged container sees every device of its node.
  kPrivileged,
  // A runtime class of AdmissionConfig::gpu_runtime_classes, without a request for GPUs.
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
  // Why. It goes into the counters.
  Because because = Because::kNotOurs;
  // The way around the gate that was tried. It is counted, denied or not.
  Bypass bypass = Bypass::kNone;
  // The HTTP code of a denial: 403 or 422. Otherwise 0.
  int code = 0;
  // Of a denial: the field, its value, and the fix.
  std::string message;
  // RFC 6902; empty: none.
  std::string patch;
  // At most kMaxWarnings, of at most 256 bytes each.
  std::vector<std::string> warnings;
  // Further ones. decide() counts them in the last warning.
  std::size_t more_warnings = 0;

  // Adds a warning, shortened, with only printable characters. Beyond kMaxWarnings it only counts.
  void warn(std::string_view text);
  // Returns the answer to send. Moves the texts out.
  ReviewAnswer answer() &&;
};

// Decides before the first View: pods that request GPUs get the gate, with a warning, and
// nothing is refused. A later View can open an unnecessary gate, but nothing could add a missing
// one.
// A pod that names its node cannot get a gate and passes with a warning. On kValidate nothing is
// patched.
Decision decide_without_view(const AdmissionConfig& config, Endpoint endpoint,
                             const Review& review);

// Decides by the mode of the object's namespace. `cluster` as in the path of the call, empty for
// the only one. A cluster that the View lacks is judged by config.unknown_cluster.
// Never kBadRequest: the caller answers what is no review.
Decision decide(const View& view, const AdmissionConfig& config, std::string_view cluster,
                Endpoint endpoint, const Review& review);

}  // namespace subak
