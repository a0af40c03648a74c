// Bodies of events.k8s.io/v1 Events, which show people in the cluster what Subak did. An event that
// happens again stays one object and counts.
// Source: k8s.io/api events/v1, also for the bounds on the fields.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// An object of the cluster, by name.
struct ObjectRef {
  std::string_view api_version, kind, ns, name, uid;
};

struct KubeEvent {
  std::string_view name;    // of the event itself, unique in its namespace
  ObjectRef regarding;      // its subject; its namespace is the event's ("default" if it has none)
  std::string_view reason;  // one word: "Queued"
  std::string_view action;  // what was done: "Queue"
  std::string_view note;    // a sentence for people
  bool warning = false;     // it will not improve by itself
  std::string_view instance;  // which Subak process
  TimeMs at_ms = 0;
};

// Returns the body to POST. Texts that are too long are cut.
std::string event_body(const KubeEvent& event);
// Returns the merge patch for an event that has happened `count` times, last at `at_ms`.
std::string event_again(std::uint32_t count, TimeMs at_ms);

}  // namespace subak
