// Non-GPU pods whose own labels state a gang and its size, such as the launcher of an MPI job. They
// have no gate and so no rank in the gang. The gang waits until they exist. Threads: none;
// ClusterCache owns it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/pod.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Finds the gang of a pod by the gang's name, and not by the controller: launcher and workers have
// different controllers.
class NonGpuMembers {
 public:
  // Forgets all members, as when a session begins.
  void clear();
  // Takes the pod as it is now. Returns the gangs ("namespace/gang") whose number of such pods
  // changed: two, if the pod moved from one gang to another.
  // `uid`: the pod's. A pod leaves its gang when it is deleted, has failed,
  // or has ended by request.
  std::vector<std::string> see(const std::string& uid, const Pod& pod, WatchKind kind);
  // Takes a pod out because it is gone. Returns the same as see().
  std::vector<std::string> gone(const std::string& uid) { return move(uid, ""); }
  // Subtracts the gang's non-GPU members from the size that the GPU pod states.
  // Does nothing if no such member is known.
  void leave_out_of(Pod& pod) const;

 private:
  // Moves the pod to `gang`; empty: out of its gang.
  std::vector<std::string> move(const std::string& uid, const std::string& gang);

  std::unordered_map<std::string, std::string> gangs_;     // by uid of the pod
  std::unordered_map<std::string, std::uint32_t> counts_;  // by gang
};

}  // namespace subak
