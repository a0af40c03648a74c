// Reads fields of pods, nodes and Jobs of a fault world's API server (api_objects.h).
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "api_objects.h"
#include "core/names.h"

namespace subak::fault {

inline constexpr const char* kGate = "subak.gpu/queue";

inline std::string phase_of(const Object& pod) { return text_at(pod, {"status", "phase"}); }
inline std::string node_of(const Object& pod) { return text_at(pod, {"spec", "nodeName"}); }
inline bool is_going(const Object& pod) {
  return find_at(pod, {"metadata", "deletionTimestamp"}) != nullptr;
}
inline bool has_ended(const Object& pod) {
  const std::string phase = phase_of(pod);
  return phase == "Succeeded" || phase == "Failed";
}

inline bool has_gate(const Object& pod, bool ours) {
  const json_out::value* const gates = find_at(pod, {"spec", "schedulingGates"});
  if (gates == nullptr) return false;
  return std::any_of(
      gates->as_array().begin(), gates->as_array().end(),
      [&](const json_out::value& gate) { return (text_at(gate, {"name"}) == kGate) == ours; });
}

// Returns the node to which its affinity pins the pod; empty: any node.
inline std::string pin_of(const Object& pod) {
  const json_out::value* const terms =
      find_at(pod, {"spec", "affinity", "nodeAffinity",
                    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (terms == nullptr) return {};
  for (const json_out::value& term : terms->as_array()) {
    const json_out::value* const fields = find_at(term.as_object(), {"matchFields"});
    if (fields == nullptr || fields->as_array().empty()) continue;
    return std::string(fields->as_array()[0].at("values").as_array()[0].as_string());
  }
  return {};
}

inline bool finds_no_way(const json_out::value& conditions) {
  return std::any_of(conditions.as_array().begin(), conditions.as_array().end(),
                     [](const json_out::value& condition) {
                       return text_at(condition, {"reason"}) == "Unschedulable";
                     });
}

inline int capacity_of(std::size_t i) { return i % 2 == 0 ? 8 : 4; }

inline bool suspended(const Object& job) {
  const json_out::value* const at = find_at(job, {"spec", "suspend"});
  return at != nullptr && at->as_bool();
}

inline std::string mark_of(const Object& job) {
  return text_at(job, {"metadata", "annotations", "subak.gpu/suspended"});
}

}  // namespace subak::fault
