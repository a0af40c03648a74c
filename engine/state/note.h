// What an input teaches that no fact need keep: it is lost at a restart, is no part of the digest,
// and decides nothing by itself. Everything else that changes the state is a fact.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/ids.h"
#include "engine/input_seen.h"
#include "engine/state/clusters.h"
#include "engine/state/job.h"
#include "placement/request.h"

namespace subak::note {

// The cluster's edge, or a launcher, has said something: what happened up to then is known.
struct Heard {
  ClusterId cluster;
  TimeMs at_ms = 0;
};
// The cluster's edge begins to list, and has listed: what is named in between is there.
struct ListBegun {
  ClusterId cluster;
  std::string known_as;  // in::ListBegin::known_as
};
struct ListEnded {
  ClusterId cluster;
};
// The list that is being read has named it.
struct NodeListed {
  ClusterId cluster;
  NodeId node;
};
struct NamespaceListed {
  ClusterId cluster;
  std::string ns;
};
struct PodListed {
  ClusterId cluster;
  state::PodPlace pod;
};
// Something was said of a pod on a node that has not been seen: it is decided once the node is.
struct PodEarly {
  ClusterId cluster;
  state::EarlyPod pod;
};
// The pod is gone, whatever was said of it.
struct PodNotEarly {
  ClusterId cluster;
  std::string pod;
};
// A process that begins has heard nothing: it knows of no early pods, nor when anybody spoke last.
struct NewsForgotten {
  ClusterId cluster;
};
// A pod without GPUs is on this node, or (no node) is not there any more.
struct LightPodSeen {
  ClusterId cluster;
  std::string uid;
  NodeId node;
  PodShape shape;
};
// A pod with GPUs waits for a node without us, or does no longer.
struct PodPending {
  ClusterId cluster;
  PodRecord pod;
};
struct PodNotPending {
  ClusterId cluster;
  std::string uid;
};
// A request that is to be judged gets a ShapeId, until the input is decided.
struct ShapeSeen {
  ClusterId cluster;
  GangRequest request;
};
// The input at hand is decided: what it only looked at is forgotten.
struct Decided {};
// Whether there is something that a pass should look at.
struct PassDue {
  bool due = true;
};

}  // namespace subak::note

namespace subak {

using Note = std::variant<note::Heard, note::ListBegun, note::ListEnded, note::NodeListed,
                          note::NamespaceListed, note::PodListed, note::PodEarly, note::PodNotEarly,
                          note::NewsForgotten, note::LightPodSeen, note::PodPending,
                          note::PodNotPending, note::ShapeSeen, note::Decided, note::PassDue>;

}  // namespace subak
