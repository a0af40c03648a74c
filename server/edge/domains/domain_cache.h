// The ComputeDomains of a cluster as last seen, their ResourceClaimTemplates, the nodes whose
// driver offers a channel, and the pods that use each ComputeDomain. NVIDIA's DRA driver sets up
// multi-node NVLink for a ComputeDomain, and gives each of its pods a channel (a device). Subak's
// own ComputeDomain and its template have the same name, so "namespace/name" identifies both; this
// text is called the key.
// Entries stay when a session of the edge with the core ends, since the core does not get these
// objects.
// Threads: one at a time; ClusterCache owns the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/domain/domain_objects.h"
#include "kube/domain/domain_row.h"
#include "kube/pod.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// The path of the collection of ComputeDomains, which a cluster without NVIDIA's driver lacks.
inline constexpr const char* kDomainsPath = "/apis/resource.nvidia.com/v1beta1/computedomains";

// Returns the path of the ComputeDomain with this key. If `named` is false, it is the path of the
// collection in the namespace.
std::string domain_path(std::string_view key, bool named);

// The functions that the cache calls when it has changed. All functions must be set.
struct DomainHooks {
  // An object could not be read. `why` names the field.
  std::function<void(const std::string& why)> unreadable;
  // The result of offers_channel() has changed for this node.
  std::function<void(const std::string& node)> offers_changed;
};

// The cache of one cluster.
class DomainCache {
 public:
  // A ComputeDomain. `not_ready_since`: since when each node of its status is not ready, by name,
  // in monotonic ms.
  struct Entry {
    ComputeDomain object;
    std::map<std::string, std::int64_t> not_ready_since;
    // The number of the last list that named the object.
    std::uint32_t list = 0;
  };
  // The pods that use a ComputeDomain: their gates are open, and they have not ended. `staying`:
  // those of them whose deletion was not requested.
  struct Users {
    std::size_t all = 0, staying = 0;
  };

  explicit DomainCache(DomainHooks hooks) : hooks_(std::move(hooks)) {}

  // begin_...() and complete_...() frame a list. see_...() takes an event of the list or of the
  // watch. An object that a complete list did not name is gone.
  void begin_domains() { ++domain_list_; }
  void see_domain(const WatchEvent& event, std::int64_t monotonic_ms);
  void complete_domains();
  void begin_templates() { ++template_list_; }
  void see_template(const WatchEvent& event);
  void complete_templates();
  void begin_slices() { ++slice_list_; }
  void see_slice(const WatchEvent& event);
  void complete_slices();
  // Takes a ComputeDomain from the answer to a call. The answer has no effect if it is older than
  // the entry, or than the event with which the watch reported the deletion of the object.
  void see_answered_domain(json::Value object, std::int64_t monotonic_ms);
  // Forgets a ComputeDomain, because a call has shown that it does not exist.
  void forget_domain(const std::string& key);

  // True if the node's driver offers a channel, and the cluster has ComputeDomains.
  bool offers_channel(const std::string& node) const;
  // nullptr: there is no such object.
  const Entry* find(const std::string& key) const;
  const ClaimTemplate* find_template(const std::string& key) const;
  // All ComputeDomains, by key.
  const std::map<std::string, Entry>& all() const { return domains_; }
  // Rises with each change of a ComputeDomain or a template.
  std::uint64_t version() const { return version_; }

  // Recognises the ResourceClaims that a user wrote into the pod. If one of them requests the
  // channel of a ComputeDomain, the pod's gang uses a ComputeDomain. If all of them do, the pod has
  // no ResourceClaim that Subak does not know. Does nothing for a pod without GPUs.
  void recognise(Pod& pod) const;

  // Counts a pod with an open gate that has not ended. `going`: its deletion was requested. `key`
  // may be empty. remove_user() must get the same values as add_user().
  void add_user(const std::string& key, bool going);
  void remove_user(const std::string& key, bool going);
  Users users(const std::string& key) const;
  // Forgets the pods. Call it when all entries of pods are dropped.
  void forget_users() { users_.clear(); }

 private:
  // Stores the object and the times since which nodes are not ready.
  void put(ComputeDomain object, std::int64_t monotonic_ms);

  struct Slice {
    std::string node;
    std::uint32_t list = 0;
  };
  struct Template {
    ClaimTemplate object;
    std::uint32_t list = 0;
  };
  // Subtracts the slice from the channels that its node offers.
  void drop_slice(const Slice& slice);
  // Calls the hook if the cluster has ComputeDomains.
  void tell_offer(const std::string& node) const;

  const DomainHooks hooks_;
  std::map<std::string, Entry> domains_;       // by key
  std::map<std::string, Template> templates_;  // by key
  std::map<std::string, Slice> slices_;        // slices with a channel, by name
  std::map<std::string, std::size_t> offers_;  // the number of such slices, by node
  std::map<std::string, Users> users_;         // by key
  // True: at least one list of ComputeDomains was complete.
  bool domains_known_ = false;
  // The numbers of the present or last lists.
  std::uint32_t domain_list_ = 0, template_list_ = 0, slice_list_ = 0;
  std::uint64_t version_ = 0;
  // The newest resource version of the events on ComputeDomains.
  std::uint64_t heard_version_ = 0;
};

// Returns Subak's own ComputeDomains, for people.
std::vector<ComputeDomainRow> domain_rows(const DomainCache& cache);

}  // namespace subak
