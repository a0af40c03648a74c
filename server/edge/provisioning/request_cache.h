// The ProvisioningRequests of a cluster that Subak made, as the edge has seen them. With such an
// object, Subak asks an autoscaler for nodes. Does no I/O and reads no clock. Threads: one at a
// time; EdgeContext owns the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kube/provisioning/provisioning_request.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// The path of all ProvisioningRequests. A cluster without an autoscaler may not have this kind.
inline constexpr const char* kProvisioningPath =
    "/apis/autoscaling.x-k8s.io/v1/provisioningrequests";
// Returns the path of the collection in a namespace; with a name, the path of that object.
std::string provisioning_path(const std::string& ns, const std::string& name = "");
// Returns such a path for PodTemplates.
std::string pod_template_path(const std::string& ns, const std::string& name = "");

// The cache of one cluster.
class RequestCache {
 public:
  // A request, and the number of the last list that named it.
  struct Entry {
    ProvisioningRequest request;
    std::uint32_t list = 0;
  };

  // begin() and complete() frame a list. see() takes an event of the list or of the watch. A
  // request that a complete list did not name is gone. see() ignores requests that Subak did not
  // make, and returns the error of an object that it cannot read.
  void begin() { ++list_; }
  std::optional<Error> see(const WatchEvent& event);
  void complete();
  // Forgets all requests.
  void clear() { requests_.clear(); }

  // All requests of Subak, by namespaced_name().
  const std::map<std::string, Entry>& all() const { return requests_; }
  // Returns the request whose nodes the job's pods in this namespace may use: its newest request
  // that is provisioned. nullptr: there is none. O(requests).
  const ProvisioningRequest* provisioned(JobId job, const std::string& ns) const;

 private:
  std::map<std::string, Entry> requests_;
  // The number of the present or last list.
  std::uint32_t list_ = 0;
};

}  // namespace subak
