// The updates that the core has not got yet, oldest first. Updates of one object are coalesced: the
// core gets what was seen last, and after it the end, if the object ended.
//
// Threads: none; the cache owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "model/input.h"

namespace subak {

// What an update is about. Two updates of equal keys are coalesced.
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

// One update for the core, with the pod that a refusal would be about.
// A value: it may be sent, dropped, or put back.
struct News {
  // The input, ready to be sent.
  in::Body body;
  // The uid of the pod; empty: it is about no pod.
  std::string uid;
  // The node by whose clock the pod's times were read; empty: the service's clock, or none.
  std::string clock{};
};

class Outbox {
 public:
  // The name of the cluster in each update.
  explicit Outbox(std::string cluster) : cluster_(std::move(cluster)) {}
  const std::string& cluster() const { return cluster_; }
  // Also forgets which updates wait for an answer.
  // As when a session begins: the next lists bring all objects again.
  void clear();

  // Adds an update, or replaces what waits for the same object.
  // An end of the pod that waits already stays, and follows.
  void pod_seen(const std::string& uid, const PodRecord& record);
  // Drops a waiting end of the node: it exists again.
  // It replaces a sight of the node that waits.
  void node_seen(NodeSpec node);
  // Adds what follows the last sight of the object: its end, or what else changed about it.
  // `clock`: News::clock of that.
  // Replaces a change of the same object that waits. A waiting sight of a node is dropped, that of
  // a pod is kept and sent before.
  void changed(const about::Key& key, in::Body body, std::string clock = {});
  // Adds the end of a node. It comes after all other updates, and once pods are known up to version
  // `after`: the ends of its pods count first.
  // `after`: in the order of resource versions.
  void node_gone(const std::string& name, in::Body body, std::uint64_t after);
  // Adds an update that comes before all others and is not coalesced.
  void first(News news) { put_back_.push_back(std::move(news)); }

  // Returns the next update; call put_back() if it could not be sent. `pods_version`: the version
  // up to which the watch of pods has reported; 0: a list of pods is running. Versions of all kinds
  // of objects are in one order (etcd's revision).
  static constexpr std::uint64_t kAllPodsKnown = UINT64_MAX;
  // First what was put back, then objects in the order of their first waiting update, then deleted
  // nodes. nullopt: nothing may be sent now.
  std::optional<News> next(std::uint64_t pods_version);
  // True if next() would return an update.
  bool has_next(std::uint64_t pods_version) const;
  // It becomes the next one, and counts as not given out.
  void put_back(News news);
  // Call once the core has answered what next() gave of the pod and the consequences are known.
  void answered(const std::string& uid);
  // True if the core has answered every update of the pod.
  // And none waits or was put back.
  bool is_answered(const std::string& uid) const;
  // True if an update of the pod waits.
  bool has_pod(const std::string& uid) const { return waiting_.contains(about::Pod{uid}); }
  // True if no update waits, not even one that must wait for pods. Updates without an answer do not
  // count.
  bool is_empty() const { return queue_.empty() && last_queue_.empty() && put_back_.empty(); }

 private:
  struct Waiting {  // of one object: both are sent, in this order
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
  // Returns the entry of the object. A new one goes to the end of the queue.
  Waiting& waiting(const about::Key& key);
  // As next(), without counting the update as unanswered.
  std::optional<News> take_next(std::uint64_t pods_version);

  const std::string cluster_;
  // Objects with an update, in the order of the first one.
  std::deque<about::Key> queue_;
  // Deleted nodes: they come after all others.
  std::deque<about::Key> last_queue_;
  std::unordered_map<about::Key, Waiting, about::KeyHash> waiting_;
  // Updates that come before all others, the next one first.
  std::deque<News> put_back_;
  // By uid: given by next(), not put back.
  std::unordered_map<std::string, std::size_t> unanswered_;
};

}  // namespace subak
