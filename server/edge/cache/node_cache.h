// The nodes of a cluster as last seen, their leases and their clocks. Threads: none; ClusterCache
// owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/node/node.h"
#include "server/edge/cache/list_round.h"
#include "server/edge/cache/node_clocks.h"
#include "server/edge/cache/outbox.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

class NodeCache {
 public:
  // True if the end of a pod may still be reported for this node. Either a pod is bound to the
  // node, or some pod is on its way to a node not known yet.
  using MayHavePods = std::function<bool(const std::string& node)>;
  // Options and outbox outlive the cache.
  NodeCache(const KubeNodeOptions& options, Outbox& outbox, MayHavePods may_have_pods)
      : options_(options), outbox_(outbox), may_have_pods_(std::move(may_have_pods)) {}
  // Forgets the nodes, but not the errors of their clocks.
  void clear();

  // A list of all nodes begins.
  void begin() { round_.begin(); }
  // Takes an event on a node. Returns why the node could not be read; empty: it could.
  // `now_ms`: a deleted node counts as gone at this time, or earlier if it was silent. If a report
  // of one of its pods may still come, the cache first reports the node to the core as closed for
  // new pods.
  std::string see(const WatchEvent& event, TimeMs now_ms);
  // Drops the nodes that the list did not name. `heard_ms`: the last time at which the nodes were
  // known to be as the cache reported them. `version`: that of the list. Returns false if the list
  // is not believed, and drops nothing (ListRound::believe()).
  bool complete(TimeMs heard_ms, std::string_view version);
  // Returns the number of nodes that exist, with silent ones.
  std::size_t size() const { return entries_.size(); }

  // Returns the silent nodes whose lease was not read yet. The core gets such a node after that
  // read. The renewal of the lease (k8s.io/api coordination/v1, renewTime) is the node's last sign
  // of life; the node's own status may be minutes old.
  const std::map<std::string, NodeSpec>& silent() const { return silent_; }
  // Takes the lease of a silent node, and sends the node. `renew_time`: that of the lease; empty:
  // the node has no lease.
  // Does nothing for a node that is not in silent(). A time that cannot be read counts as no lease.
  void see_lease(const std::string& node, std::string_view renew_time);
  // True if the cluster reports the node as silent: the node's condition Ready is Unknown.
  // False for an unknown node.
  bool is_silent(const std::string& node) const;
  // Returns the last sign of life of the node before it last fell silent. 0: it never fell silent,
  // or the node is not known.
  TimeMs lost_ms(const std::string& node) const;

  // A list of leases begins. The leases show how far the clocks of nodes are behind the service's
  // (docs/design/0078).
  void begin_leases() { clocks_.begin_list(); }
  // Takes an event on a lease, and compares the time of the renewal with the service's.
  // See NodeClocks.
  void see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms);
  // The list of leases is complete. The clock of a node stays, even if the list
  // did not name its lease.
  void complete_leases() { clocks_.end_list(); }
  const NodeClocks& clocks() const { return clocks_; }
  // Takes out the nodes that must be read again, since the clock error sent for them has changed.
  std::set<std::string> take_outdated() { return std::exchange(outdated_, {}); }
  // Marks a node to be read again, for example after a read that could not begin.
  void put_outdated(const std::string& name) { outdated_.insert(name); }

 private:
  struct Entry {
    // The digest of the record that the core got; 0: it got none.
    std::uint64_t told = 0;
    // The last list that named the node, as ListRound::number().
    std::uint32_t list = 0;
    // Since when the cluster reports the node silent; 0: it is not silent.
    TimeMs silent_ms = 0;
    // The last renewal of its lease. 0: the lease was not read. 1: the node has no lease.
    TimeMs lease_ms = 0;
    // The result of lost_ms(); 0: none.
    TimeMs lost_ms = 0;
  };
  // Corrects the node's times by the error of its clock. Sends the node unless the core has the
  // same record.
  void tell(NodeSpec node);
  // Puts the end of the node into the outbox. The node ended at its last sign of life if it was
  // silent, else at `at_ms`. `version`: that of the event or list that shows the end.
  void drop(const std::string& name, TimeMs at_ms, std::uint64_t version);

  const KubeNodeOptions& options_;
  Outbox& outbox_;
  const MayHavePods may_have_pods_;
  std::map<std::string, Entry> entries_;    // by name
  std::map<std::string, NodeSpec> silent_;  // by name; not sent yet
  NodeClocks clocks_;
  std::set<std::string> outdated_;  // by name
  ListRound round_;
};

}  // namespace subak
