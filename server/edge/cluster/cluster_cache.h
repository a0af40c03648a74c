// The edge's object cache of a cluster, as client-go's informer cache. It has an entry for
// each pod, node and owner, as seen last, and the updates that the core has not got yet. Updates of
// one object are coalesced: only the latest is sent.
//
// An entry is small: the resource requests of a pod are sent and not kept. While the gate is
// closed, the entry also has the data to open it. Reads no clock, does no I/O. Threads: none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/node/node.h"
#include "kube/owner.h"
#include "kube/pod.h"
#include "kube/rank.h"
#include "kube/release.h"
#include "model/input.h"
#include "server/edge/client/watch_stream.h"
#include "server/edge/cluster/node_clocks.h"

namespace subak {

// Collections of the API server.
inline constexpr const char* kPodsPath = "/api/v1/pods";
inline constexpr const char* kNodesPath = "/api/v1/nodes";
inline constexpr const char* kNamespacesPath = "/api/v1/namespaces";
// The leases of nodes. Subak need not have the right to read them.
inline constexpr const char* kLeasesPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
inline constexpr const char* kJobsPath = "/apis/batch/v1/jobs";
inline constexpr const char* kJobSetsPath = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";
inline constexpr const char* kWorkerSetsPath = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets";
// The watched kinds of owners. Only the first must exist.
inline constexpr std::array kOwnerPaths{kJobsPath, kJobSetsPath, kWorkerSetsPath};

// The part of an entry that only pods have that request GPUs or carry Subak's gate.
struct GpuPodEntry {
  bool asks_gpu = false;
  bool claims = false;  // devices by DRA: another component has to decide
  bool gated = false;   // carries Subak's gate
  bool foreign_gates = false;
  bool ended = false;
  bool bound = false;               // has a node
  bool going = false;               // its deletion was requested
  bool given_up = false;            // deleted while its node was silent
  bool gang = false;                // one of several pods that start together
  bool runs_alone = false;          // of a gang: the others keep running when one is lost
  std::int64_t index = -1;          // of an Indexed Job
  std::int64_t index_failures = 0;  // failures of its index before it
  std::string gang_told;            // the gang in which the core knows it
  bool size_changes = false;        // PodRecord::size_of_owner was told once
  // Owner of the pods that are recreated together: uid of a Job or JobSet, "uid+group" of a
  // LeaderWorkerSet. Empty: none.
  std::string gang_owner;
  std::string worker_set;          // "namespace/name" of its LeaderWorkerSet; empty: none
  std::uint32_t without_gpus = 0;  // of that LeaderWorkerSet, as in OwnerEntry
  std::uint64_t group_told = 0;    // digest of the gang's other pods as the core knows them
  std::string owner_api, owner_kind, owner_name, owner_uid;  // of its controller; empty: none
  GatedPod release;                                          // while gated
  std::string kept_closed;    // annotation subak.gpu/kept-closed; empty: none
  std::string let_go_to;      // the only node that its affinity names; empty: none, or several
  std::string unschedulable;  // the scheduler's message; empty: schedulable as far as known
  std::int64_t unschedulable_since_ms = 0;  // when that was first seen, monotonic
};

// The entry of a pod.
struct PodEntry {
  std::string ns, name, node;
  std::uint64_t version = 0;  // older versions are ignored
  std::uint64_t told = 0;     // digest of what the core got; 0: nothing
  std::uint32_t list = 0;     // the last list that named it
  TimeMs listed_ms = 0;       // when that list began, at which time the pod existed
  std::unique_ptr<GpuPodEntry> gpu;
};

// The entry of a node.
struct NodeEntry {
  std::uint64_t told = 0;
  std::uint32_t list = 0;
  TimeMs silent_ms = 0;  // since when the cluster reports the node silent; 0: it is not silent
  TimeMs lease_ms = 0;   // the last renewal of its lease, once that was read
  TimeMs lost_ms = 0;    // the last sign of life before it last fell silent
};

// Kept only for namespaces whose label names an account, or did.
struct NamespaceEntry {
  std::string account;
  std::uint32_t list = 0;
};

// Jobs of a JobSet from one template.
struct JobsOfSet {
  std::string name;
  std::uint32_t copies = 1, pods = 1;  // pods of each
  PodShape shape;
};

// A Job, a JobSet or a LeaderWorkerSet.
struct OwnerEntry {
  std::string collection;  // "/apis/batch/v1/jobs"
  std::string ns, name;
  std::string path() const;         // of the object, "/apis/batch/v1/namespaces/ml/jobs/train"
  std::string api_version() const;  // "batch/v1"
  std::string_view kind() const;    // "Job"
  std::string resource_version;
  std::int64_t done = 0;  // of a Job: finished completions, and indexes that failed for good
  std::string parent;     // uid of its controller
  Together together = Together::kNone;
  std::vector<std::pair<std::string, std::uint32_t>>
      gangs;                                   // of each role: how many pods start together
  std::vector<RoleRanks> ranks;                // of a JobSet
  std::int64_t backoff_limit = 6, failed = 0;  // of a Job: failures allowed, and failures so far
  bool has_deadline = false;  // activeDeadlineSeconds, which counts while its pods wait
  bool one_pod = false;       // of a Job: it has one pod at a time
  bool may_suspend() const { return collection != kWorkerSetsPath; }
  bool suspended = false;
  bool ended = false;
  bool replaced_alone = false;  // a lost pod is recreated alone, and the others keep running
  std::uint32_t indexes = 0;    // of an Indexed Job: its completions
  // Of a Job with backoffLimitPerIndex: the failures that one index may have.
  std::optional<std::int64_t> backoff_limit_per_index;
  // Of a LeaderWorkerSet: the number of groups, and of pods in each that request no GPUs.
  std::uint32_t groups = 0, without_gpus = 0;
  // Of an owner whose workers appear once their leader is ready: the request of each. nullptr: no
  // worker is late.
  std::shared_ptr<const PodShape> late;
  bool late_as_leader = false;  // workers have the leader's template
  // Of a JobSet that creates the first pod of each job before the others: its jobs with GPUs.
  std::vector<JobsOfSet> firsts;
  std::string mark;  // annotation subak.gpu/suspended: why Subak suspended it; empty: it did not
  std::uint32_t list = 0;
};

// A pod that the core does not know yet, because its owner was not seen. The owner may say how many
// pods start together.
struct Orphan {
  std::string text;  // the pod
  std::int64_t since_ms = 0;
};

// Reads the pod's index of an Indexed Job and its failures.
void read_job_index(const Pod& pod, GpuPodEntry& gpu);

// One update for the core, with the pod that a refusal would be about.
struct News {
  in::Body body;
  std::string uid;  // of the pod; empty: a node
  // The node by whose clock the pod's times were read; empty: the service's clock, or none.
  std::string clock{};
};

// The object cache. It receives lists and watch events, and gives updates for the core.
class ClusterCache {
 public:
  // `fatal_conditions` and `topology_labels`: as KubeNodeOptions.
  ClusterCache(std::string cluster, ExtraGpuResources extra,
               std::vector<std::string> other_schedulers,
               std::vector<std::string> fatal_conditions = default_fatal_conditions(),
               std::vector<std::string> topology_labels = {});

  // Forgets what the core got. Call when a session begins.
  void forget_told();

  // The lists of each kind. An object that a complete list does not name is gone. `heard_ms` is
  // when the pods were last known to be in the state that was sent. A list that did not end still
  // shows that the pods it named existed when it began. complete_pods() returns false if more than
  // half of the pods would go and this is the first list to say so.
  void begin_pods(TimeMs began_ms) {
    ++pod_list_;
    pod_list_ms_ = began_ms;
  }
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms);
  bool complete_pods(TimeMs heard_ms);
  // Takes a pod or an owner from the answer to a call. It only updates existing entries: the answer
  // may be older than the watch, and belongs to no list.
  void see_answered_pod(json::Value pod, std::int64_t monotonic_ms);
  void see_answered_owner(json::Value owner, const std::string& collection);
  void begin_nodes() { ++node_list_; }
  void see_node(const WatchEvent& event, TimeMs now_ms);
  // `heard_ms`: when nodes were last known to be in the state that was sent. `version`: of the
  // list.
  bool complete_nodes(TimeMs heard_ms, std::string_view version);
  // Silent nodes whose lease was not read yet (k8s.io/api coordination/v1, renewTime). The core
  // gets such a node once its lease was read. The lease is the last sign of life; the node's own
  // status may be minutes old.
  const std::map<std::string, NodeSpec>& silent_nodes() const { return silent_nodes_; }
  void see_lease(const std::string& node, std::string_view renew_time);  // empty: there is none
  // Watched leases: they show how far the clocks of nodes are behind the service's
  // (docs/design/0078).
  void begin_leases() { clocks_.begin_list(); }
  void see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms);
  void complete_leases() { clocks_.end_list(); }
  const NodeClocks& clocks() const { return clocks_; }
  // Takes out the nodes that must be read again, since the clock error sent for them has changed.
  std::set<std::string> take_outdated_nodes() { return std::exchange(outdated_nodes_, {}); }
  void put_outdated_node(const std::string& name) { outdated_nodes_.insert(name); }
  void begin_namespaces() { ++namespace_list_; }
  void see_namespace(const WatchEvent& event);
  bool complete_namespaces();
  void begin_owners(const std::string& collection) { ++owner_lists_[collection]; }
  void see_owner(const WatchEvent& event, const std::string& collection);
  void complete_owners(const std::string& collection);
  // Sends pods without their owner if it was not seen for limits::kOwnerMs.
  void adopt_orphans(std::int64_t monotonic_ms);

  // Returns the pod; nullptr: it does not exist. Only for pods that request GPUs or carry Subak's
  // gate.
  const PodEntry* find_gpu_pod(const std::string& uid) const;
  const OwnerEntry* find_owner(const std::string& uid) const;
  // Owners that carry Subak's mark.
  const std::set<std::string>& marked_owners() const { return marked_owners_; }
  // Number of pods of this controller, or of the controllers below it, without ended ones.
  std::size_t pods_of(const std::string& owner_uid) const;
  // Number of pods of this controller that have a node and are not being deleted.
  std::size_t bound_of(const std::string& owner_uid) const;
  std::size_t bound_below(const std::string& owner_uid) const;  // and of controllers below it
  // Takes out the gated pods that cannot be sent, because no object says how large their gang is.
  std::set<std::string> take_unsized() { return std::exchange(unsized_, {}); }
  // Takes out at most `most` gated pods that must be read again, since their owner now says
  // something else about their gang.
  std::set<std::string> take_outdated(std::size_t most = SIZE_MAX);
  void put_outdated(const std::string& uid) { outdated_.insert(uid); }
  // Reads and sends the pod again: the core refused its last update.
  void tell_again(const std::string& uid);
  // Pods with Subak's gate, by uid.
  const std::set<std::string>& gated() const { return gated_; }
  // Calls `take` for each pod whose gate is open and that the scheduler finds no node for. The pod
  // has the monotonic time since when.
  void each_unschedulable(
      const std::function<void(const std::string& uid, const PodEntry& pod)>& take) const;
  // Restarts the pod's unschedulable time from now.
  void put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms);

  // Returns the next update, oldest first; call put_back() if it could not be sent.
  //
  // A deleted node comes last, since the ends of its pods count first. It is sent once pods are
  // known up to the version in which the node went. Until then the core has it as a node that
  // accepts no pod. `pods_version`: the version up to which the watch of pods has reported; 0: a
  // list of pods is running. Versions of all kinds of objects are in one order (etcd's revision).
  static constexpr std::uint64_t kAllPodsKnown = UINT64_MAX;
  std::optional<News> next(std::uint64_t pods_version);
  bool has_next(std::uint64_t pods_version) const;
  void put_back(News news);
  // Call once the core has answered what next() gave of the pod and the consequences are known.
  void answered(const std::string& uid);
  // True if the core has answered every update of the pod.
  bool is_answered(const std::string& uid) const;
  // True if some objects wait: pods for their owner, nodes for their lease.
  bool any_untold() const { return !orphans_.empty() || !silent_nodes_.empty(); }
  bool all_told() const { return queue_.empty() && last_queue_.empty() && put_back_.empty(); }

  std::size_t pods() const { return pods_.size(); }
  std::size_t nodes() const { return nodes_.size(); }
  // Number of objects that could not be read completely, and the last reason.
  std::uint64_t unreadable() const { return unreadable_; }
  const std::string& last_unreadable() const { return last_unreadable_; }

 private:
  struct Untold {  // of one object: both are sent, in this order
    std::optional<PodRecord> seen;
    std::optional<NodeSpec> node;
    std::optional<in::Body> gone;
    std::string gone_clock;   // News::clock of that
    std::uint64_t after = 0;  // gone: sent once pods are known up to this version
    bool is_told_at(std::uint64_t pods_version) const {
      return seen || node || after <= pods_version;
    }
  };
  void tell_pod(const std::string& uid, const PodRecord& record);
  void tell_gone(const std::string& key, in::Body gone);
  void tell_label(const std::string& ns, const std::string& account);
  void drop_pod(const std::string& uid, in::PodGone gone, const std::string& clock = {});
  void tell_node(NodeSpec node);
  void drop_node(const std::string& name, TimeMs at_ms, std::uint64_t version);
  bool may_have_pods(const std::string& node) const;
  bool is_silent(const std::string& node) const;
  TimeMs end_seen(const PodEntry& entry, TimeMs said_ms) const;
  void see_gpu_pod(const std::string& uid, PodEntry& entry, const Pod& pod, const PodRecord& record,
                   json::Value object, std::int64_t monotonic_ms);
  void count_owner(const PodEntry& entry, int by);
  bool is_left_out(const PodEntry& entry) const;
  bool makes_more(const std::string& gang_owner) const;
  void tell_if_gone(const std::string& gang_owner);
  void tell_gone_gangs(const std::string& owner_uid);
  const OwnerEntry* find_worker_set(const Pod& pod, std::string& uid) const;
  bool find_group(Pod& pod, PodEntry& entry) const;
  void tell_late_pods(const std::string& uid, PodEntry& entry, const Pod& pod,
                      const PodRecord& first);
  std::optional<in::GangSeen> late_workers(const Pod& pod, const PodRecord& leader) const;
  std::optional<in::GangSeen> late_in_jobs(const Pod& pod, const PodRecord& first) const;
  bool find_gang(Pod& pod, PodEntry& entry) const;
  void read_owner_entry(const WatchEvent& event, OwnerEntry& entry) const;
  void see_orphans_of(const std::string& owner);
  void outdate(const std::string& owner_uid, const std::string& worker_set);
  void leave_gang(const std::string& uid, PodEntry& entry, const PodRecord& record);
  void count_non_gpu_member(const std::string& uid, const Pod& pod, WatchKind kind);
  void move_non_gpu_member(const std::string& uid, const std::string& gang);
  void leave_out_non_gpu_members(Pod& pod) const;
  void outdate_gang(const std::string& gang);
  bool waits_for_owner(const Pod& pod, const WatchEvent& event, std::int64_t monotonic_ms);
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms, bool with_owner);
  void see_again(json::Value pod, std::int64_t monotonic_ms, bool with_owner);
  void see_orphan(const std::string& uid, std::int64_t monotonic_ms, bool with_owner);
  Untold& untold(const std::string& key);
  std::optional<News> take_next(std::uint64_t pods_version);
  bool believe(std::size_t going, std::size_t all, bool& asked);

  const std::string cluster_;
  const KubeNodeOptions node_options_;
  const std::vector<std::string> other_schedulers_;
  std::unordered_map<std::string, PodEntry> pods_;    // by uid
  std::map<std::string, NodeEntry> nodes_;            // by name
  std::map<std::string, NodeSpec> silent_nodes_;      // by name; not sent yet
  std::map<std::string, NamespaceEntry> namespaces_;  // by name
  std::map<std::string, OwnerEntry> owners_;          // by uid
  std::map<std::string, std::string> worker_sets_;    // their uids, by "namespace/name"
  std::set<std::string> marked_owners_;
  std::set<std::string> known_collections_;  // with at least one complete list
  std::map<std::string, Orphan> orphans_;    // by uid
  std::multimap<std::string, std::string>
      orphans_of_;  // by uid or "namespace/name" of the awaited owner
  struct Made {
    std::size_t pods = 0, bound = 0;
  };
  std::unordered_map<std::string, Made> of_owner_;
  std::unordered_map<std::string, std::size_t> of_gang_;  // pods that have not ended
  // Non-GPU pods that count in a gang, by uid: "namespace/gang"; and how many of them each gang
  // has.
  std::unordered_map<std::string, std::string> non_gpu_members_;
  std::unordered_map<std::string, std::uint32_t> non_gpu_counts_;
  std::set<std::string> gang_owners_;  // owners that had pods and whose end was not sent
  std::set<std::string> unschedulable_, gated_, unsized_, outdated_;  // uids
  NodeClocks clocks_;
  std::set<std::string> outdated_nodes_;  // by name
  std::uint32_t pod_list_ = 0, node_list_ = 0, namespace_list_ = 0;
  TimeMs pod_list_ms_ = 0;
  std::map<std::string, std::uint32_t> owner_lists_;  // by collection
  bool pods_asked_ = false, nodes_asked_ = false, namespaces_asked_ = false;
  // Keys of untold_: "p" + uid, "n" + name, "s" + namespace, "g" + owner, "w" + uid of a leader
  std::deque<std::string> queue_;
  std::deque<std::string> last_queue_;  // of deleted nodes: after all others
  std::unordered_map<std::string, Untold> untold_;
  std::deque<News> put_back_;
  std::unordered_map<std::string, std::size_t>
      unanswered_;  // by uid: given by next(), not put back
  std::uint64_t unreadable_ = 0;
  std::string last_unreadable_;
};

}  // namespace subak
