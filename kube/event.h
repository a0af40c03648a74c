// What people are told in the cluster: bodies of events.k8s.io/v1 Events (k8s.io/api events/v1,
// which has the bounds on their fields). An event that is told again is one object that counts.
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
  std::string_view name;  // of the event itself, unique in its namespace
  ObjectRef regarding;  // what it is about; its namespace is the event's ("default" if it has none)
  std::string_view reason;    // one word: "Queued"
  std::string_view action;    // what was done: "Queue"
  std::string_view note;      // a sentence for people
  bool warning = false;       // it will not get better by itself
  std::string_view instance;  // which of our processes
  TimeMs at_ms = 0;
};

// The body to POST. Too long texts are cut.
std::string event_body(const KubeEvent& event);
// The merge patch that says: it has happened `count` times by now, last at `at_ms`.
std::string event_again(std::uint32_t count, TimeMs at_ms);

}  // namespace subak
