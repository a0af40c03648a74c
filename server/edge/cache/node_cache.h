// The nodes of a cluster as seen last, their leases and their clocks. Threads: none; the cache owns
// it.
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
  // True if a pod is bound to this node or may be on its way to a node: a report of its end may
  // still come.
  using MayHavePods = std::function<bool(const std::string& node)>;
  // Options and outbox outlive the cache.
  NodeCache(const KubeNodeOptions& options, Outbox& outbox, MayHavePods may_have_pods)
      : options_(options), outbox_(outbox), may_have_pods_(std::move(may_have_pods)) {}
  // Forgets the nodes. The clocks stay.
  void clear();

  // A list of all nodes begins.
  void begin() { round_.begin(); }
  // Returns why the node could not be read; empty: it was.
  // `now_ms`: a deleted node counts as gone at this time, or earlier if it was silent. It is closed
  // for new pods before that, if a report of a pod may still come.
  std::string see(const WatchEvent& event, TimeMs now_ms);
  // Drops the nodes that the list did not name. `heard_ms`: when nodes were last known to be in the
  // state that was sent. `version`: of the list. False: see ListRound::believe().
  bool complete(TimeMs heard_ms, std::string_view version);
  // Number of nodes that exist, silent ones included.
  std::size_t size() const { return entries_.size(); }

  // Silent nodes whose lease was not read yet (k8s.io/api coordination/v1, renewTime). The core
  // gets such a node once its lease was read. The lease is the last sign of life; the node's own
  // status may be minutes old.
  const std::map<std::string, NodeSpec>& silent() const { return silent_; }
  // `renew_time`: of the node's lease; empty: there is none.
  // Does nothing for a node that is not in silent(). A time that cannot be read counts as none.
  void see_lease(const std::string& node, std::string_view renew_time);
  // True if the cluster reports the node silent: its condition Ready is Unknown.
  // False for an unknown node.
  bool is_silent(const std::string& node) const;
  // The last sign of life of the node before it last fell silent; 0: it did not, or is not known.
  TimeMs lost_ms(const std::string& node) const;

  // Watched leases: they show how far the clocks of nodes are behind the service's
  // (docs/design/0078).
  void begin_leases() { clocks_.begin_list(); }
  // The time of the renewal is compared with the service's, see NodeClocks.
  void see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms);
  // The list of leases is complete. Leases that it did not name stay: the clocks go with their
  // nodes.
  void complete_leases() { clocks_.end_list(); }
  const NodeClocks& clocks() const { return clocks_; }
  // Takes out the nodes that must be read again, since the clock error sent for them has changed.
  std::set<std::string> take_outdated() { return std::exchange(outdated_, {}); }
  // Marks a node to be read again, as after a read that could not begin.
  void put_outdated(const std::string& name) { outdated_.insert(name); }

 private:
  struct Entry {
    // Digest of what the core got; 0: nothing.
    std::uint64_t told = 0;
    // The last list that named the node, as ListRound::number().
    std::uint32_t list = 0;
    // Since when the cluster reports the node silent; 0: it is not silent.
    TimeMs silent_ms = 0;
    // The last renewal of its lease, once that was read; 0: it was not. 1: it has none.
    TimeMs lease_ms = 0;
    // As lost_ms(); 0: none.
    TimeMs lost_ms = 0;
  };
  // Corrects the node's times by its clock, and sends it unless the core has the same.
  void tell(NodeSpec node);
  // Puts the end of the node into the outbox. It ended at its last sign of life if it was silent,
  // else at `at_ms`. `version`: of the event or list that shows it.
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
