// Writes bodies of events.k8s.io/v1 Events, which show people in the cluster what Subak did
// (`kubectl describe`). If an event happens again, Subak makes no second object but raises the
// count of the existing one. The event recorder of the edge, which watches a cluster, uses it
// (server/edge/events).
// Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (also for
// the bounds on the fields).
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.h"

namespace subak {

// An object of the cluster, by name. `ns` is empty for an object that is in no namespace.
struct ObjectRef {
  std::string_view api_version, kind, ns, name, uid;
};

// The contents of an event. The views must stay valid during the call that gets the event.
struct KubeEvent {
  // The name of the event itself, unique in its namespace.
  std::string_view name;
  // The event's subject. The event is in the namespace of the subject, or in "default" if the
  // subject is in no namespace.
  ObjectRef regarding;
  // `reason`: one word for what happened, such as "Queued". `action`: one word for what was done,
  // such as "Queue". Both are cut at 128 bytes, the limit of the API.
  std::string_view reason;
  std::string_view action;
  // A sentence for people. A longer note is cut at 1,024 bytes and says that it was cut.
  std::string_view note;
  // True: the event has the type Warning, because the problem does not go away by itself. False:
  // the type is Normal.
  bool warning = false;
  // The name of the Subak process that reports the event, such as its pod's name. The API refuses
  // an empty name.
  std::string_view instance;
  // When the event happened, by Subak's clock.
  TimeMs at_ms = 0;
};

// Returns the body to POST. Texts that are too long are cut.
std::string event_body(const KubeEvent& event);
// Returns the merge patch for an event that has happened `count` times, the last time at `at_ms`.
std::string event_again(std::uint32_t count, TimeMs at_ms);

}  // namespace subak
