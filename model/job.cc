#include "model/job.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/limits.h"

namespace subak {

bool may_change(JobState from, JobState to) {
  using S = JobState;
  if (to == S::kDone) return from != S::kDone;
  switch (from) {
    case S::kIncomplete:
      return to == S::kQueued || to == S::kPaused || to == S::kRunning || to == S::kEnding;
    case S::kQueued:
      return to == S::kIncomplete || to == S::kPaused || to == S::kStarting || to == S::kEnding;
    case S::kPaused:
      return to == S::kIncomplete || to == S::kQueued || to == S::kEnding;
    case S::kStarting:
      return to == S::kRunning || is_waiting(to) || to == S::kEnding;
    case S::kRunning:
      return is_waiting(to) || to == S::kEnding;
    case S::kEnding:
      return is_waiting(to);
    case S::kDone:
      return false;
  }
  return false;
}

bool comes_back(Cause cause) {
  switch (cause) {
    case Cause::kExpired:
    case Cause::kPreempted:
    case Cause::kNodeLost:
    case Cause::kNodeDrained:
    case Cause::kRejected:
    case Cause::kUnschedulable:
    case Cause::kReleaseRefused:
    case Cause::kMemberLost:
    case Cause::kFailed:
    case Cause::kVanished:
    case Cause::kFinished:
    case Cause::kEvictRefused:
    case Cause::kEvicted:
    case Cause::kNotReady:
    case Cause::kNone:
      return true;
    case Cause::kCancelled:
    case Cause::kTimeLimit:
    case Cause::kBudget:
    case Cause::kMisconfigured:
      return false;
  }
  return false;
}

namespace {

using RK = RejectionKind;

// Errors whose kind follows from the complete name.
constexpr std::array<std::pair<std::string_view, RK>, 12> kRejectionErrors{{
    {"TopologyAffinityError", RK::kTopology},
    {"SMTAlignmentError", RK::kCores},
    {"UnexpectedAdmissionError", RK::kDevices},
    {"OutOfcpu", RK::kRoom},
    {"OutOfmemory", RK::kRoom},
    {"OutOfephemeral-storage", RK::kRoom},
    {"OutOfpods", RK::kRoom},
    {"NodeAffinity", RK::kConstraints},
    {"NodeName", RK::kConstraints},
    {"NodePorts", RK::kConstraints},
    {"TaintToleration", RK::kConstraints},
    {"NodeShutdown", RK::kShutdown},
}};

constexpr DurationMs kShortPause = limits::kFirstNodeBackoffMs;
constexpr DurationMs kLongPause = limits::kFirstDeviceBackoffMs;
constexpr DurationMs kLongestPause = limits::kLongestNodeBackoffMs;

// One rule for each RejectionKind, in the order of the enum. CPU and memory become free within
// minutes, because the pods without GPUs that use them come and go. A fault of a device, or GPUs on
// different NUMA nodes, last longer.
constexpr std::array<RejectionRule, EnumText<RK>::names.size()> kRejectionRules{{
    {"its Topology Manager found no CPUs and GPUs for the pod on the NUMA nodes that its policy "
     "allows",
     "ask for at most the GPUs and CPUs of one NUMA node, or name nodes with another "
     "topologyManagerPolicy",
     kLongPause, kLongestPause},
    {"its CPU Manager gives whole cores only",
     "ask in each container for a multiple of the threads of a core, such as an even number of "
     "CPUs",
     kLongPause, kLongestPause},
    {"its kubelet could not get the pod's devices: the device plugin does not run, a GPU is not "
     "healthy, or the plugin refuses several replicas of a shared GPU",
     "look at the device plugin's pod on the node; of a shared GPU, ask for one replica",
     kLongPause, kLongestPause},
    {"its kubelet has fewer free units of this resource than Subak counts",
     "look for pods outside Subak and for unhealthy GPUs on the node; if there are none, restart "
     "the kubelet",
     kLongPause, kLongestPause},
    {"its kubelet has less room than the scheduler counts: static pods use it, or another pod came "
     "at the same moment",
     "Subak tries again soon; if this goes on, ask for less of this resource", kShortPause,
     limits::kLongestBackoffMs},
    {"labels, taints or ports of the node changed after the pod was bound",
     "compare the pod's selectors, tolerations and ports with the node", kShortPause,
     kLongestPause},
    {"the node is shutting down", "wait until the node is back, or drain it", kShortPause,
     kLongestPause},
    {"its kubelet did not accept the pod", "the kubelet's message and its log say why", kShortPause,
     kLongestPause},
}};
static_assert(std::all_of(kRejectionRules.begin(), kRejectionRules.end(),
                          [](const RejectionRule& rule) {
                            return !rule.means.empty() && !rule.helps.empty() &&
                                   rule.first_ms > 0 && rule.first_ms <= rule.longest_ms;
                          }));

}  // namespace

RejectionKind rejection_kind(std::string_view error) {
  const auto* const known = std::find_if(kRejectionErrors.begin(), kRejectionErrors.end(),
                                         [&](const auto& one) { return one.first == error; });
  if (known != kRejectionErrors.end()) return known->second;
  constexpr std::string_view kOutOf = "OutOf";
  if (!error.starts_with(kOutOf)) return RK::kOther;
  // Extended resources have a domain: "nvidia.com/gpu".
  return error.find('/') != std::string_view::npos ? RK::kExtended : RK::kRoom;
}

const RejectionRule& rule_of(RejectionKind kind) {
  return kRejectionRules.at(static_cast<std::size_t>(kind));
}

std::string explain_rejection(const Rejection& rejection) {
  const RejectionRule& rule = rule_of(rejection_kind(rejection.error));
  std::string out = rejection.error;
  out += (out.empty() ? "" : ": ") + std::string(rule.means);
  if (!rejection.words.empty()) out += "; its message: " + rejection.words;
  return out + "; what helps: " + std::string(rule.helps);
}

}  // namespace subak
