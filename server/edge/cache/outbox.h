// The updates that the core has not got yet, oldest first. Updates of one object are coalesced: the
// core gets the state that was last seen, and then the end if the object ended.
//
// Threads: none; ClusterCache owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "model/input.h"

namespace subak {

// The object of an update. Two updates with equal keys are coalesced.
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
// A gang, by the owner that creates its pods (GpuPodEntry::gang_owner).
struct Gang {
  std::string owner;
  friend bool operator==(const Gang&, const Gang&) = default;
};
// The pods of a gang that are created later, by the uid of its first pod.
struct LatePods {
  std::string first_uid;
  friend bool operator==(const LatePods&, const LatePods&) = default;
};
using Key = std::variant<Pod, Node, Namespace, Gang, LatePods>;
struct KeyHash {
  std::size_t operator()(const Key& key) const;
};

}  // namespace about

// One update for the core.
// It is a value: the edge may send it, drop it, or put it back.
struct News {
  // The input, ready to be sent.
  in::Body body;
  // The uid of the pod in the update; empty: the update is about no pod.
  std::string uid;
  // The node whose clock gave the pod's times; empty:
  // the service's clock gave them, or there are none.
  std::string clock{};
};

class Outbox {
 public:
  // `cluster`: the name of the cluster in each update.
  explicit Outbox(std::string cluster) : cluster_(std::move(cluster)) {}
  const std::string& cluster() const { return cluster_; }
  // Drops all updates, and forgets which updates wait for an answer.
  // Call it when a session begins: the next lists bring all objects again.
  void clear();

  // Adds the state of a pod. It replaces a waiting state of the same pod.
  // A waiting end of the pod stays, and is sent after the state.
  void pod_seen(const std::string& uid, const PodRecord& record);
  // Adds the state of a node. It replaces a waiting state of the same node.
  // It drops a waiting end of the node, since the node exists again.
  void node_seen(NodeSpec node);
  // Adds an update that follows the last state of the object: its end, or another change. It
  // replaces a waiting change of the same object.
  // A waiting state of a node is dropped. A waiting state of a pod stays, and is
  // sent before the change.
  // `clock`: News::clock of the update.
  void changed(const about::Key& key, in::Body body, std::string clock = {});
  // Adds the end of a node. It is sent after all other updates, and only once pods are known up to
  // version `after`. So the core gets the ends of the node's pods first.
  // `after`: a resource version.
  void node_gone(const std::string& name, in::Body body, std::uint64_t after);
  // Adds an update that is not coalesced. It comes before all others, except those already added
  // here or put back.
  void first(News news) { put_back_.push_back(std::move(news)); }

  // Returns the next update; call put_back() if it could not be sent. `pods_version`: the version
  // up to which the watch of pods has reported; 0: a list of pods is running. Versions of all kinds
  // of objects have one order (etcd's revision).
  static constexpr std::uint64_t kAllPodsKnown = UINT64_MAX;
  // First come updates that were put back, then objects in the order of their first waiting update,
  // then deleted nodes. nullopt: no update may be sent now.
  std::optional<News> next(std::uint64_t pods_version);
  // True if next() would return an update.
  bool has_next(std::uint64_t pods_version) const;
  // Takes an update back. It is the next one again, and no longer waits for an answer.
  void put_back(News news);
  // Says that the core has answered an update of the pod from next(), and that the edge has handled
  // the answer.
  void answered(const std::string& uid);
  // True if the core has answered every update of the pod.
  // False if an update of the pod waits or was put back.
  bool is_answered(const std::string& uid) const;
  // True if an update of the pod waits.
  bool has_pod(const std::string& uid) const { return waiting_.contains(about::Pod{uid}); }
  // True if no update waits to be sent, not even the end of a node. Updates that wait for an answer
  // do not count.
  bool is_empty() const { return queue_.empty() && last_queue_.empty() && put_back_.empty(); }

 private:
  struct Waiting {  // the updates of one object, in the order of sending
    // At most one of `pod` and `node` is set.
    std::optional<PodRecord> pod;
    std::optional<NodeSpec> node;
    std::optional<in::Body> change;
    // News::clock of `change`.
    std::string clock;
    // `change` is sent once pods are known up to this version; 0: at once.
    std::uint64_t after = 0;
    bool may_go_at(std::uint64_t pods_version) const {
      return pod || node || after <= pods_version;
    }
  };
  // Returns the entry of the object. A new entry goes to the end of the queue.
  Waiting& waiting(const about::Key& key);
  // As next(), without counting the update as unanswered.
  std::optional<News> take_next(std::uint64_t pods_version);

  const std::string cluster_;
  // Objects with an update, in the order of their first update.
  std::deque<about::Key> queue_;
  // Deleted nodes, which come after all other objects.
  std::deque<about::Key> last_queue_;
  std::unordered_map<about::Key, Waiting, about::KeyHash> waiting_;
  // Updates that come before all others, the next one first.
  std::deque<News> put_back_;
  // By uid of the pod: the number of updates from next() that wait for an answer.
  std::unordered_map<std::string, std::size_t> unanswered_;
};

}  // namespace subak
