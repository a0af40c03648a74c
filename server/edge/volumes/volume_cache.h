// The PersistentVolumeClaims, PersistentVolumes and StorageClasses of a cluster. The core, the
// engine that decides, does not get them. So the cache adds the nodes on which a pod can use its
// volumes to the pod's affinity (docs/design/0122). Threads: one at a time; ClusterCache owns the
// cache.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/pod.h"
#include "kube/volume/volume.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// When a session of the edge with the core begins, ClusterCache calls forget_pods(). All other
// entries stay. The cache changes no pod until all three kinds were listed once. Subak may, for
// example, lack the right to read one of them.
class VolumeCache {
 public:
  // Take the list of each of the three kinds. Call begin, then see for each object, then complete.
  // At the end of a list, the cache forgets the objects that the list did not name.
  void begin_claims() { claims_.begin(); }
  void see_claim(const WatchEvent& event);
  void complete_claims();
  void begin_volumes() { volumes_.begin(); }
  void see_volume(const WatchEvent& event);
  void complete_volumes();
  void begin_classes() { classes_.begin(); }
  void see_class(const WatchEvent& event);
  void complete_classes();

  // Restricts the affinity of a gated GPU pod to nodes on which the pod can use its volumes.
  // Remembers the pod until forget(). `object` is the JSON from which `pod` was read. Returns why
  // the pod must wait for a volume; empty: it need not wait. A pod that must wait requests no GPUs.
  // If the pod would then have more than limits::kMaxSelectorTerms terms and requirements, its
  // affinity stays unchanged. The scheduler then finds a node for the volumes.
  std::string add_nodes(Pod& pod, json::Value object);
  void forget(const std::string& uid) { pods_.erase(uid); }
  // Forgets all pods, when a session begins.
  void forget_pods();

  // Returns the uids of the pods for which add_nodes() may have another result now, and forgets
  // this list.
  std::set<std::string> take_outdated();

 private:
  // The objects of one kind by name. `list`: the number of the last list that named the object.
  template <class T>
  struct Kind {
    struct Entry {
      T value;
      std::uint32_t list = 0;
    };
    std::map<std::string, Entry, std::less<>> entries;
    std::uint32_t list = 0;
    bool complete = false;

    void begin() { ++list; }
    // Returns true if the object is new or has changed.
    bool put(const std::string& name, T value);
    // Drops the objects that the last list did not name, and calls gone(name) for each.
    template <class F>
    void end(F&& gone);
    // nullptr: there is no such object.
    const T* find(std::string_view name) const;
  };

  // Adds the nodes of one volume to `nodes`. Returns why the pod must wait for the volume.
  std::string add_volume(const PodVolume& volume, std::string_view ns,
                         std::vector<AffinityTerm>& nodes) const;
  bool is_complete() const { return claims_.complete && volumes_.complete && classes_.complete; }
  // Marks the pods that name the PersistentVolumeClaim ("namespace/name").
  void outdate_users(const std::string& claim);
  // Marks the pods that use a PersistentVolumeClaim for which `names` returns true.
  template <class F>
  void outdate_if(F&& names);

  Kind<VolumeClaim> claims_;  // by "namespace/name"
  // The nodes of each PersistentVolume that only some nodes can use.
  Kind<std::vector<AffinityTerm>> volumes_;
  Kind<StorageClass> classes_;
  // The PersistentVolumeClaims of each gated pod, by uid.
  std::map<std::string, std::set<std::string>> pods_;
  std::set<std::string> outdated_;
};

}  // namespace subak
