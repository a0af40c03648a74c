// Non-GPU pods that count in a gang because they state its size themselves: the launcher of an MPI
// job. They have no gate and so no rank. The gang waits until they exist. Threads: none; the cache
// owns it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/pod.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Only the name of the gang counts, not the controller: the launcher's is not the workers'.
class NonGpuMembers {
 public:
  // Forgets all members, as when a session begins.
  void clear();
  // Takes the pod as it is now. Returns the gangs ("namespace/gang") whose size changed by it.
  // `uid`: its own. A deleted, failed or ended-by-request pod leaves its gang. Two gangs if it
  // moved from one to another.
  std::vector<std::string> see(const std::string& uid, const Pod& pod, WatchKind kind);
  // The pod is gone. Returns as see().
  std::vector<std::string> gone(const std::string& uid) { return move(uid, ""); }
  // Takes the gang's non-GPU members off the size that the GPU pod states.
  // Does nothing if no such member is known.
  void leave_out_of(Pod& pod) const;

 private:
  // `gang` empty: out of every gang.
  std::vector<std::string> move(const std::string& uid, const std::string& gang);

  std::unordered_map<std::string, std::string> gangs_;     // by uid of the pod
  std::unordered_map<std::string, std::uint32_t> counts_;  // by gang
};

}  // namespace subak
