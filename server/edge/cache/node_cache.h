// The nodes of a cluster as last seen, their leases and their clocks. The cache puts each change
// into the outbox for the core, the engine that decides. A node is silent if its condition Ready is
// Unknown, since its kubelet does not report. Threads: one at a time; ClusterCache owns the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/node/node.h"
#include "kube/node/operand_pods.h"
#include "server/edge/cache/list_round.h"
#include "server/edge/cache/node_clocks.h"
#include "server/edge/cache/outbox.h"
#include "server/edge/client/watch_stream.h"
#include "server/edge/devices/device_cache.h"

namespace subak {

// For a list of all nodes, call begin(), then see() for each, then complete(). Between lists, see()
// takes the events of the watch.
class NodeCache {
 public:
  // True if the cache may still report the end of a pod on this node. That is so if a pod is bound
  // to the node, or if a released pod without a node may still be bound to the node.
  using MayHavePods = std::function<bool(const std::string& node)>;
  // True if the node's DRA driver offers the channel of a ComputeDomain. The core gets the channel
  // as an extended resource of the node (names::kChannel).
  using OffersChannel = std::function<bool(const std::string& node)>;
  // `options`, `devices` and `outbox` must outlive the cache.
  NodeCache(const KubeNodeOptions& options, const DeviceCache& devices, Outbox& outbox,
            MayHavePods may_have_pods, OffersChannel offers_channel)
      : options_(options),
        devices_(devices),
        outbox_(outbox),
        may_have_pods_(std::move(may_have_pods)),
        offers_channel_(std::move(offers_channel)) {}
  // Forgets the nodes, but not the measured errors of their clocks.
  void clear();

  // A list of all nodes begins.
  void begin() { round_.begin(); }
  // Takes an event on a node. Returns why the node could not be read; empty: it was read. The end
  // of a deleted node is `now_ms`, or the node's last sign of life if the node was silent. If
  // MayHavePods is true for a deleted node, the cache first reports the node to the core as closed
  // for new pods, and reports its end later.
  std::string see(const WatchEvent& event, TimeMs now_ms);
  // The list is complete: drops the nodes that it did not name. `heard_ms`: the last time at which
  // the watch of nodes showed that the cache was up to date. This is the end of a dropped node,
  // unless it was silent. `version`: the resource version of the list. Returns false, and drops no
  // node, if the list is not believed (ListRound::believe()).
  bool complete(TimeMs heard_ms, std::string_view version);
  // Returns the number of nodes that exist, including silent nodes.
  std::size_t size() const { return entries_.size(); }

  // Returns the silent nodes whose lease was not read yet. The core gets such a node only when its
  // lease was read. The last renewal of the lease (k8s.io/api coordination/v1, renewTime) is the
  // node's last sign of life; the status of the node may be minutes old.
  const std::map<std::string, NodeSpec>& silent() const { return silent_; }
  // Takes the lease of a silent node, and sends the node to the core. `renew_time`: the renewTime
  // of the lease; empty: the node has no lease. A time that cannot be read counts as no lease. Does
  // nothing for a node that is not in silent().
  void see_lease(const std::string& node, std::string_view renew_time);
  // True if the node is silent (top of this file). False for a node that is not in the cache.
  bool is_silent(const std::string& node) const;
  // Returns the last sign of life of the node before it last became silent. 0: the node never
  // became silent, or it is not in the cache.
  TimeMs lost_ms(const std::string& node) const;

  // True while the GPU Operator upgrades the driver of the node. False for a node that is not in
  // the cache.
  bool upgrades_driver(const std::string& node) const;

  // Takes a pod of the GPU Operator on a node. While no pod of a part is ready, the node is unfit.
  // If that changes, take_changed() has the node.
  void see_operand(const std::string& uid, const std::string& node, const OperandPod& pod);
  // The pod is gone. Does nothing for an unknown pod.
  void forget_operand(const std::string& uid);

  // A list of leases begins. The leases show how far the clocks of nodes are behind the service's
  // clock (docs/design/0078).
  void begin_leases() { clocks_.begin_list(); }
  // Takes an event on a lease, and compares the time of the renewal with `now_ms`, the service's
  // time. See NodeClocks.
  void see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms);
  // The list of leases is complete. The measurements of a node's clock stay even if the list did
  // not name the node's lease.
  void complete_leases() { clocks_.end_list(); }
  const NodeClocks& clocks() const { return clocks_; }
  // Takes out the nodes that must be read again, because the error of their clock has changed since
  // it was sent to the core.
  std::set<std::string> take_outdated() { return std::exchange(outdated_, {}); }
  // Marks a node to be read again, for example after a read that could not begin.
  void put_outdated(const std::string& name) { outdated_.insert(name); }
  // take_changed() and put_changed() do the same for nodes whose devices, operands or offer of a
  // channel have changed. A node that is not in the cache is not marked.
  std::set<std::string> take_changed() { return std::exchange(changed_, {}); }
  void put_changed(const std::string& name) {
    if (entries_.contains(name)) changed_.insert(name);
  }

 private:
  struct Entry {
    // The digest of the last record that was sent to the core; 0: none was sent.
    std::uint64_t told = 0;
    // The number of the last list that named the node (ListRound::number()).
    std::uint32_t list = 0;
    // Since when the cluster says that the node is silent; 0: the node is not silent.
    TimeMs silent_ms = 0;
    // The last renewal of the node's lease, if the node is silent. 0: the lease was not read. 1:
    // the node has no lease.
    TimeMs lease_ms = 0;
    // The result of NodeCache::lost_ms(); 0: there is none.
    TimeMs lost_ms = 0;
    // The result of NodeCache::upgrades_driver().
    bool upgrades_driver = false;
  };
  // Corrects the node's times by the error of its clock, and adds the operands that are not ready.
  // Then sends the node to the core, unless the last record that was sent is the same.
  void tell(NodeSpec node);
  // Drops the node and puts its end into the outbox. A silent node ended at its last sign of life,
  // any other node at `at_ms`. `version`: the resource version of the event or list that shows the
  // end.
  void drop(const std::string& name, TimeMs at_ms, std::uint64_t version);

  const KubeNodeOptions& options_;
  const DeviceCache& devices_;
  Outbox& outbox_;
  const MayHavePods may_have_pods_;
  const OffersChannel offers_channel_;
  std::map<std::string, Entry> entries_;    // by name
  std::map<std::string, NodeSpec> silent_;  // by name; not sent yet
  NodeClocks clocks_;
  OperandPods operands_;
  std::set<std::string> outdated_, changed_;  // by name
  ListRound round_;
};

}  // namespace subak
