// The pods of a cluster that have nodes, for the required pod affinity of gated pods. A topology
// domain is the nodes with one value of a label. For example, the affinity of a gated pod selects
// cache servers in the same zone, and these run in zone z1. Then NearCache adds "zone in z1" to the
// node affinity of the gated pod (docs/design/0123). The core, the engine that decides, gets only
// this node affinity, since it does not know the labels of pods. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/pod.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// The cache of one cluster. PodNeeds owns it.
class NearCache {
 public:
  // `topology_labels`: labels of nodes that name domains, besides the host's name and the labels of
  // Kubernetes that begin with "topology.".
  explicit NearCache(const std::vector<std::string>& topology_labels);

  // Takes an event on a node.
  void see_node(const WatchEvent& event);
  // Takes a pod with or without GPUs. Its gang must be known. Adds to the affinity of a gated GPU
  // pod the domains of the pods that its pod affinity selects, and remembers the pod until
  // forget(). `object` is the JSON from which `pod` was read. Returns why the pod must wait; empty:
  // it need not wait. A pod that must wait requests no GPUs. The pod stays as it is in three cases:
  //   - its affinity selects itself, and no other selected pod has a node: the first pod may run
  //     anywhere, and placement puts the pods of a gang near each other
  //   - the domains have a label that the cache does not know
  //   - the affinity would be longer than limits::kMaxSelectorTerms
  std::string see_pod(Pod& pod, json::Value object);
  // The pod has ended or is gone.
  void forget(const std::string& uid);
  // Forgets all pods, when a session begins. Until complete_pods(), a pod whose affinity does not
  // select itself must wait.
  void forget_pods();
  // The list of pods is complete.
  void complete_pods();

  // Returns the uids of the pods for which see_pod() may have another result now, and forgets this
  // list.
  std::set<std::string> take_outdated();

 private:
  // A pod with a node that has not ended.
  struct Placed {
    std::string ns, node;
    std::vector<Label> labels;
    // The pod's gang. A pod that is alone is a gang by itself.
    std::string gang;
    friend bool operator==(const Placed&, const Placed&) = default;
  };
  // A gated pod with pod affinity.
  struct User {
    std::string ns, gang;
    std::vector<NearPods::Term> terms;
    // True: pods of the user's own gang count too, because some had nodes before the user came. The
    // pods of a gang that starts get their nodes at about the same time, and do not count.
    bool with_gang = false;
    // How many counted pods each domain has, by term and the value of its label.
    std::vector<std::map<std::string, std::uint32_t>> domains;
  };
  static std::string gang_of(const Pod& pod);
  void see_placed(const Pod& pod);
  std::string add_domains(Pod& pod, NearPods near);
  bool knows(std::string_view key) const;
  static bool selects_all(const User& user, const Placed& pod);
  bool counts(const User& user, const Placed& pod) const;
  // Adds `change` to the user's counts of the pod's domains. Returns true if a domain came or went.
  bool count(User& user, const Placed& pod, int change) const;
  // Counts all pods for the user.
  void count_all(User& user) const;
  // Does count() for the users of the pod's namespace.
  void count_for_all(const Placed& pod, int change);
  void recount_all();

  const std::vector<std::string> topology_labels_;
  // The known labels of each node, by the node's name.
  std::map<std::string, std::vector<Label>, std::less<>> nodes_;
  // By namespace, then by uid.
  std::map<std::string, std::map<std::string, Placed>, std::less<>> placed_;
  std::map<std::string, std::map<std::string, User>, std::less<>> users_;
  // The namespaces of the pods in both, by uid.
  std::map<std::string, std::string> ns_of_;
  std::set<std::string> outdated_;
  bool complete_ = false;
};

}  // namespace subak
