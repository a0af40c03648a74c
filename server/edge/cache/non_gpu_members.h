// Non-GPU pods whose own labels state a gang and its size, such as an MPI launcher. Such pods do
// not have Subak's scheduling gate, and so no rank in the gang. The gang waits until they exist.
// Threads: one at a time; ClusterCache owns this object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/pod.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Counts the non-GPU members of each gang. NonGpuMembers finds a gang by the gang's name and the
// owner that creates all its pods. This owner is not the pod's controller, because an MPI launcher
// and its workers have different controllers.
class NonGpuMembers {
 public:
  // Forgets all members, as when a session begins.
  void clear();
  // Takes the pod with this uid as it is now. Returns the gangs ("namespace/gang") whose number of
  // non-GPU members changed. These are two gangs if the pod moved from one gang to another. A pod
  // leaves its gang when it is deleted, when its deletion is requested, or when it fails.
  // `creator`: the owner that creates all pods of the gang (Gang::owner of the GPU pods). Empty: it
  // is not known, or the gang has several owners. The pod then counts in each gang of the name.
  std::vector<std::string> see(const std::string& uid, const Pod& pod, WatchKind kind,
                               const std::string& creator);
  // Takes the pod out of its gang because the pod is gone. Returns the same as see().
  std::vector<std::string> gone(const std::string& uid) { return move(uid, ""); }
  // Subtracts the known non-GPU members from the size that the GPU pod `pod` states for its gang.
  // So a gang of 5 pods with an MPI launcher has the size 4. If the gang has or had such members,
  // the function also sets Gang::size_of_owner, since the size may change later.
  void leave_out_of(Pod& pod) const;

 private:
  // Moves the pod to `gang`. If `gang` is empty, the pod only leaves its present gang.
  std::vector<std::string> move(const std::string& uid, const std::string& gang);

  // Returns the number of known members; nullopt: the gang never had one.
  std::optional<std::uint32_t> members_of(const std::string& gang) const;

  std::unordered_map<std::string, std::string> gangs_;  // by uid of the pod
  // By gang: "namespace/gang", or "namespace/gang\nOWNER" if the owner is known. A gang that had
  // non-GPU members stays, with 0.
  std::unordered_map<std::string, std::uint32_t> counts_;
  // The number of gangs with 0. Beyond limits::kMaxFormerGangs, all of them are forgotten.
  std::size_t without_ = 0;
};

}  // namespace subak
