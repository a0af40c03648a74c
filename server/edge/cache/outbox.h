// The updates that the edge will send to the core (the engine that decides), oldest first. Updates
// of one object are coalesced: if a pod changes three times before the edge can send, the core gets
// only its last state. If an object has ended, the core gets its last state and then its end,
// except that a node's end replaces its state.
// Threads: one at a time; ClusterCache owns the outbox.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "model/input.h"

namespace subak {

// The types in about:: name the object of an update. Two updates with equal keys are coalesced.
namespace about {

struct Pod {
  std::string uid;
  friend bool operator==(const Pod&, const Pod&) = default;
};
struct Node {
  std::string name;
  friend bool operator==(const Node&, const Node&) = default;
};
struct Namespace {
  std::string name;
  friend bool operator==(const Namespace&, const Namespace&) = default;
};
// A gang, named by the owner that creates its pods (GpuPodEntry::gang_owner).
struct Gang {
  std::string owner;
  friend bool operator==(const Gang&, const Gang&) = default;
};
// The pods of a gang that are created only when its first pods run, named by the uid of the gang's
// first pod.
struct LatePods {
  std::string first_uid;
  friend bool operator==(const LatePods&, const LatePods&) = default;
};
// An owner of pods that waits suspended, or waited so (in::OwnerSeen).
struct Owner {
  std::string uid;
  friend bool operator==(const Owner&, const Owner&) = default;
};
using Key = std::variant<Pod, Node, Namespace, Gang, LatePods, Owner>;
struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

}  // namespace about

// One update for the core. The edge owns an update that it has taken out: it may send the update,
// drop it, or put it back.
struct News {
  // The input, ready to be sent.
  in::Body body;
  // The uid of the pod or owner in the update; empty: the update is about neither.
  std::string uid;
  // The node whose clock gave the times of the pod. Empty: the service's clock gave them, or the
  // update has no such times.
  std::string clock{};
};

// The queue of one cluster's updates. The cache adds updates. The edge takes each out with next(),
// sends it, and calls answered() for the core's answer, or put_back() if it could not send it.
class Outbox {
 public:
  // `cluster`: the name of the cluster in each update.
  explicit Outbox(std::string cluster) : cluster_(std::move(cluster)) {}
  const std::string& cluster() const { return cluster_; }
  // Drops all updates, and forgets which updates wait for an answer. Call it when a session begins,
  // since the next lists bring all objects again.
  void clear();

  // Adds the state of a pod. This state replaces a waiting state of the same pod. A waiting end of
  // the pod stays, and is sent after the state.
  void pod_seen(const std::string& uid, const PodRecord& record);
  // Adds the state of a node. This state replaces a waiting state of the same node. A waiting end
  // of the node is dropped, since the node exists again.
  void node_seen(NodeSpec node);
  // Adds an update that is not the state of a pod or node: the end of an object, or another change.
  // The update replaces a waiting change of the same object. A waiting state of the same node is
  // dropped. A waiting state of the same pod stays, and is sent before the change. `clock`:
  // News::clock of the update.
  void changed(const about::Key& key, in::Body body, std::string clock = {});
  // Adds the end of a node. The end is sent after all updates of other objects. It also waits until
  // the watch of pods has reported up to the resource version `after`. So the core gets the ends of
  // the node's pods first.
  void node_gone(const std::string& name, in::Body body, std::uint64_t after);
  // Adds an update that is not coalesced. The update is sent before all other updates, except
  // updates that were put back or added by first() earlier.
  void first(News news) { put_back_.push_back(std::move(news)); }

  // If next() gets this value as `pods_version`, the end of a node does not wait for the ends of
  // the node's pods.
  static constexpr std::uint64_t kAllPodsKnown = UINT64_MAX;
  // Takes out the next update. If the update cannot be sent, call put_back(). The order is:
  // - updates that were put back;
  // - updates of objects, in the order in which the objects got their first waiting update;
  // - ends of nodes.
  // nullopt: no update may be sent now.
  // `pods_version`: the resource version up to which the watch of pods has reported; 0: a list of
  // pods is in progress. Resource versions rise across all kinds of objects (they are etcd's
  // revision), so a version of a node can be compared with one of a pod.
  std::optional<News> next(std::uint64_t pods_version);
  // True if next() would return an update.
  bool has_next(std::uint64_t pods_version) const;
  // Puts an update from next() back. The update is the next one again, and no longer counts as
  // waiting for an answer.
  void put_back(News news);
  // Says that the core has answered one update of the pod that next() returned, and that the edge
  // has handled this answer.
  void answered(const std::string& uid);
  // True if the core has answered every update of the pod. So it is false if an update of the pod
  // waits to be sent or was put back.
  bool is_answered(const std::string& uid) const;
  // True if an update of the pod waits to be sent. Updates that were put back do not count.
  bool has_pod(const std::string& uid) const { return waiting_.contains(about::Pod{uid}); }
  // True if no update waits to be sent, not even the end of a node. Updates that were sent and wait
  // for an answer do not count.
  bool is_empty() const { return queue_.empty() && last_queue_.empty() && put_back_.empty(); }

 private:
  struct Waiting {  // the updates of one object, in the order of sending
    // At most one of `pod` and `node` is set.
    std::optional<PodRecord> pod;
    std::optional<NodeSpec> node;
    std::optional<in::Body> change;
    // News::clock of `change`.
    std::string clock;
    // `change` must wait until the watch of pods has reported up to this version; 0: the change
    // need not wait.
    std::uint64_t after = 0;
    bool may_go_at(std::uint64_t pods_version) const {
      return pod || node || after <= pods_version;
    }
  };
  // Returns the entry of the object. If it has none, makes one, with the object at the end of the
  // queue.
  Waiting& waiting(const about::Key& key);
  // Works as next(), but does not count the update as one that waits for an answer.
  std::optional<News> take_next(std::uint64_t pods_version);

  const std::string cluster_;
  // The objects with a waiting update, in the order of their first waiting update.
  std::deque<about::Key> queue_;
  // The nodes whose end waits. The ends of these nodes come after the updates of all other objects.
  std::deque<about::Key> last_queue_;
  std::unordered_map<about::Key, Waiting, about::KeyHash> waiting_;
  // The updates that come before all others: those that were put back, or added by first(). The
  // next one is at the front.
  std::deque<News> put_back_;
  // For each pod, by its uid: the number of updates from next() that wait for an answer.
  std::unordered_map<std::string, std::size_t> unanswered_;
};

}  // namespace subak
