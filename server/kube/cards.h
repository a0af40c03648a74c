// What the edge remembers of a cluster: a card of each pod, node and owner, as seen last, and what of it
// the core has not been told yet. News of one object fold into one: only the newest is told.
//
// A card is small: what a pod asks for is told and forgotten. What opening its gate needs stays while
// the gate is closed. Reads no clock, does no I/O. Threads: none.
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

#include "engine/input.h"
#include "kube/node.h"
#include "kube/owner.h"
#include "kube/pod.h"
#include "kube/rank.h"
#include "kube/release.h"
#include "server/kube/node_clocks.h"
#include "server/kube/watch_stream.h"

namespace subak {

// Collections of the API server.
inline constexpr const char* kPodsPath = "/api/v1/pods";
inline constexpr const char* kNodesPath = "/api/v1/nodes";
inline constexpr const char* kNamespacesPath = "/api/v1/namespaces";
// Of nodes: it need not be readable.
inline constexpr const char* kLeasesPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
inline constexpr const char* kJobsPath = "/apis/batch/v1/jobs";
inline constexpr const char* kJobSetsPath = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";
inline constexpr const char* kWorkerSetsPath = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets";
// What makes pods and is watched. Each but the first need not be there.
inline constexpr std::array kOwnerPaths{kJobsPath, kJobSetsPath, kWorkerSetsPath};

// What only pods have that ask for GPUs or carry our gate.
struct GpuCard {
  bool asks_gpu = false;
  bool claims = false;  // devices by DRA: somebody else has to decide
  bool gated = false;   // carries our gate
  bool foreign_gates = false;
  bool ended = false;
  bool bound = false;               // has a node
  bool going = false;               // its deletion was asked for
  bool given_up = false;            // while its node was silent
  bool gang = false;                // one of several that start together
  bool runs_alone = false;          // of these, where the others run on when one is lost
  std::int64_t index = -1;          // of an Indexed Job
  std::int64_t index_failures = 0;  // of its index, before it
  std::string gang_told;            // which gang the core knows it in
  bool size_changes = false;        // PodRecord::size_of_owner, once it was told
  // Whose pods come again together: uid of a Job or JobSet, "uid+group" of a LeaderWorkerSet. Empty: none.
  std::string gang_owner;
  std::string worker_set;          // "namespace/name" of its LeaderWorkerSet; empty: it is of none
  std::uint32_t without_gpus = 0;  // as OwnerCard's, of that
  std::uint64_t group_told = 0;    // digest of what the core was told of its gang's other pods
  std::string owner_api, owner_kind, owner_name, owner_uid;  // of its controller; empty: none
  GatedPod release;                                          // while gated
  std::string kept_closed;    // annotation subak.gpu/kept-closed; empty: none
  std::string let_go_to;      // the one node that its affinity names; empty: none, or several
  std::string unschedulable;  // the scheduler's words; empty: it does not say so
  std::int64_t unschedulable_since_ms = 0;  // since when we know them, monotonic
};

struct PodCard {
  std::string ns, name, node;
  std::uint64_t version = 0;  // what is older is no news
  std::uint64_t told = 0;     // digest of what the core was told; 0: nothing
  std::uint32_t list = 0;     // the list that named it last
  TimeMs listed_ms = 0;       // when that began: it was there
  std::unique_ptr<GpuCard> gpu;
};

struct NodeCard {
  std::uint64_t told = 0;
  std::uint32_t list = 0;
  TimeMs silent_ms = 0;  // since when the cluster says that it hears nothing of it; 0: it does hear
  TimeMs lease_ms = 0;   // when its lease was renewed last, once that has been read
  TimeMs lost_ms = 0;    // when it was last heard of before it fell silent the last time
};

// Only of namespaces whose label names an account, or did.
struct NamespaceCard {
  std::string account;
  std::uint32_t list = 0;
};

// Jobs of a JobSet that are made from one template.
struct JobsOfSet {
  std::string name;
  std::uint32_t copies = 1, pods = 1;  // pods of each
  PodShape shape;
};

// A Job, a JobSet or a LeaderWorkerSet.
struct OwnerCard {
  std::string collection;  // "/apis/batch/v1/jobs"
  std::string ns, name;
  std::string path() const;         // of the object, "/apis/batch/v1/namespaces/ml/jobs/train"
  std::string api_version() const;  // "batch/v1"
  std::string_view kind() const;    // "Job"
  std::string resource_version;
  std::int64_t done = 0;  // of a Job: completions that are done, and indexes that failed for good
  std::string parent;     // uid of its controller
  Together together = Together::kNone;
  std::vector<std::pair<std::string, std::uint32_t>>
      gangs;                                   // of each role: how many start together
  std::vector<RoleRanks> ranks;                // of a JobSet
  std::int64_t backoff_limit = 6, failed = 0;  // of a Job: pods that may fail, and that have
  bool has_deadline = false;  // activeDeadlineSeconds, which counts while its pods wait
  bool one_pod = false;       // of a Job: it has one pod at a time
  bool may_suspend() const { return collection != kWorkerSetsPath; }
  bool suspended = false;
  bool ended = false;
  bool replaced_alone = false;  // a lost pod is made again by itself, and the others run on
  std::uint32_t indexes = 0;    // of an Indexed Job: its completions
  // Of a Job with backoffLimitPerIndex: failures that one index may have.
  std::optional<std::int64_t> backoff_limit_per_index;
  // Of a LeaderWorkerSet: how many groups it has, and how many pods of each ask for no GPUs.
  std::uint32_t groups = 0, without_gpus = 0;
  // Of one whose workers come when their leader is ready: what each asks for. nullptr: nothing is late.
  std::shared_ptr<const PodShape> late;
  bool late_as_leader = false;  // the same as the leader, by its template
  // Of a JobSet that makes the first pod of each job before the others: its jobs with GPUs.
  std::vector<JobsOfSet> firsts;
  std::string mark;  // annotation subak.gpu/suspended: why we have suspended it; empty: we have not
  std::uint32_t list = 0;
};

// A pod that is not told yet, as what makes it is not known, and that may say how many start together.
struct Orphan {
  std::string text;  // the pod
  std::int64_t since_ms = 0;
};

void read_job_index(const Pod& pod, GpuCard& gpu);

// One thing that the core is to be told, and what a refusal is about.
struct News {
  in::Body body;
  std::string uid;  // of the pod; empty: a node
  // The node by whose clock the pod's times were read; empty: ours, or nobody's.
  std::string clock{};
};

class Cards {
 public:
  // `fatal_conditions`, `topology_labels`: as KubeNodeOptions.
  Cards(std::string cluster, ExtraGpuResources extra, std::vector<std::string> other_schedulers,
        std::vector<std::string> fatal_conditions = default_fatal_conditions(),
        std::vector<std::string> topology_labels = {});

  // Nothing has been told: a new session begins.
  void forget_told();

  // Each kind of list. What a complete list does not name is gone; `heard_ms` is when the pods were
  // last known to be as told. A list that did not come to its end tells of those that it named that they were
  // there when it began. False: more than half of what was there would go, and it is the first
  // time that a list says so.
  void begin_pods(TimeMs began_ms) {
    ++pod_list_;
    pod_list_ms_ = began_ms;
  }
  void see_pod(const WatchEvent& event, std::int64_t monotonic_ms);
  bool complete_pods(TimeMs heard_ms);
  // A pod, or an owner, as a call was answered: news only of what is there. It may be older than what
  // the watch has said by now, and is in no list.
  void see_answered_pod(json::Value pod, std::int64_t monotonic_ms);
  void see_answered_owner(json::Value owner, const std::string& collection);
  void begin_nodes() { ++node_list_; }
  void see_node(const WatchEvent& event, TimeMs now_ms);
  // When nodes were last known to be as told, and the list's version.
  bool complete_nodes(TimeMs heard_ms, std::string_view version);
  // A node that has fallen silent is told once its lease has been read (k8s.io/api coordination/v1,
  // renewTime): that is the last sign of life, where the node's own status may be minutes old.
  const std::map<std::string, NodeSpec>& silent_nodes() const { return silent_nodes_; }
  void see_lease(const std::string& node, std::string_view renew_time);  // empty: there is none
  // Leases as they are watched: how far the clocks of nodes are behind ours (docs/design/0078).
  void begin_leases() { clocks_.begin_list(); }
  void see_lease(const WatchEvent& event, TimeMs now_ms, std::int64_t monotonic_ms);
  void complete_leases() { clocks_.end_list(); }
  const NodeClocks& clocks() const { return clocks_; }
  // Takes out the nodes whose clock is told to be off, or not any more: they are to be read again.
  std::set<std::string> take_outdated_nodes() { return std::exchange(outdated_nodes_, {}); }
  void put_outdated_node(const std::string& name) { outdated_nodes_.insert(name); }
  void begin_namespaces() { ++namespace_list_; }
  void see_namespace(const WatchEvent& event);
  bool complete_namespaces();
  void begin_owners(const std::string& collection) { ++owner_lists_[collection]; }
  void see_owner(const WatchEvent& event, const std::string& collection);
  void complete_owners(const std::string& collection);
  // Pods whose owner has not come for limits::kOwnerMs are told as they are.
  void adopt_orphans(std::int64_t monotonic_ms);

  // The pod; nullptr: it is not there. Of pods that ask for GPUs or carry our gate only.
  const PodCard* find_gpu_pod(const std::string& uid) const;
  const OwnerCard* find_owner(const std::string& uid) const;
  // Owners that carry our mark.
  const std::set<std::string>& marked_owners() const { return marked_owners_; }
  // Pods of this controller, or of those that it controls, ended ones left out.
  std::size_t pods_of(const std::string& owner_uid) const;
  // Of these, with a node and not being deleted; of this controller only.
  std::size_t bound_of(const std::string& owner_uid) const;
  std::size_t bound_below(const std::string& owner_uid) const;  // and of those that it controls
  // Takes out the gated pods that cannot be told, as nobody says how large their gang is.
  std::set<std::string> take_unsized() { return std::exchange(unsized_, {}); }
  // Takes out the gated pods whose gang has changed by what their owner says now: they are to be read
  // again. `most` of them.
  std::set<std::string> take_outdated(std::size_t most = SIZE_MAX);
  void put_outdated(const std::string& uid) { outdated_.insert(uid); }
  // The core has not taken what it was told of the pod: it is read, and told, once more.
  void tell_again(const std::string& uid);
  // Pods with our gate, by uid.
  const std::set<std::string>& gated() const { return gated_; }
  // Pods that our gate is off and the scheduler finds no node for, with the monotonic time since.
  void each_unschedulable(
      const std::function<void(const std::string& uid, const PodCard& pod)>& take) const;
  // It is counted anew from now.
  void put_off_unschedulable(const std::string& uid, std::int64_t monotonic_ms);

  // What is to be told next, oldest first; put_back() if it could not be. A node that went comes last, as
  // how its pods ended counts first: once pods are known up to the version in which it went. Until then
  // it is told to take nobody. `pods_version`: up to which the watch of pods has said what happened; 0:
  // a list of them is on the way. Versions of all kinds of objects are in one order (etcd's revision).
  static constexpr std::uint64_t kAllPodsKnown = UINT64_MAX;
  std::optional<News> next(std::uint64_t pods_version);
  bool has_next(std::uint64_t pods_version) const;
  void put_back(News news);
  // The core has answered what next() gave of the pod, and what follows from that is known.
  void answered(const std::string& uid);
  // Nothing is known here of the pod that the core has not answered.
  bool is_answered(const std::string& uid) const;
  // Some are not told yet: pods whose owner has not been seen, nodes whose lease has not been read.
  bool any_untold() const { return !orphans_.empty() || !silent_nodes_.empty(); }
  bool all_told() const { return queue_.empty() && last_queue_.empty() && put_back_.empty(); }

  std::size_t pods() const { return pods_.size(); }
  std::size_t nodes() const { return nodes_.size(); }
  // Objects that could not be read, or not all of them, and the last reason.
  std::uint64_t unreadable() const { return unreadable_; }
  const std::string& last_unreadable() const { return last_unreadable_; }

 private:
  struct Untold {  // of one object: both, in this order
    std::optional<PodRecord> seen;
    std::optional<NodeSpec> node;
    std::optional<in::Body> gone;
    std::string gone_clock;   // News::clock of that
    std::uint64_t after = 0;  // gone: told once pods are known up to this version
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
  TimeMs end_seen(const PodCard& card, TimeMs said_ms) const;
  void see_gpu_pod(const std::string& uid, PodCard& card, const Pod& pod, const PodRecord& record,
                   json::Value object, std::int64_t monotonic_ms);
  void count_owner(const PodCard& card, int by);
  bool is_left_out(const PodCard& card) const;
  bool makes_more(const std::string& gang_owner) const;
  void tell_if_gone(const std::string& gang_owner);
  void tell_gone_gangs(const std::string& owner_uid);
  const OwnerCard* find_worker_set(const Pod& pod, std::string& uid) const;
  bool find_group(Pod& pod, PodCard& card) const;
  void tell_late_pods(const std::string& uid, PodCard& card, const Pod& pod,
                      const PodRecord& first);
  std::optional<in::GangSeen> late_workers(const Pod& pod, const PodRecord& leader) const;
  std::optional<in::GangSeen> late_in_jobs(const Pod& pod, const PodRecord& first) const;
  bool find_gang(Pod& pod, PodCard& card) const;
  void read_owner_card(const WatchEvent& event, OwnerCard& card) const;
  void see_orphans_of(const std::string& owner);
  void outdate(const std::string& owner_uid, const std::string& worker_set);
  void leave_gang(const std::string& uid, PodCard& card, const PodRecord& record);
  void count_light_member(const std::string& uid, const Pod& pod, WatchKind kind);
  void move_light_member(const std::string& uid, const std::string& gang);
  void leave_out_light_members(Pod& pod) const;
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
  std::unordered_map<std::string, PodCard> pods_;    // by uid
  std::map<std::string, NodeCard> nodes_;            // by name
  std::map<std::string, NodeSpec> silent_nodes_;     // by name; not told yet
  std::map<std::string, NamespaceCard> namespaces_;  // by name
  std::map<std::string, OwnerCard> owners_;          // by uid
  std::map<std::string, std::string> worker_sets_;   // their uids, by "namespace/name"
  std::set<std::string> marked_owners_;
  std::set<std::string> known_collections_;  // whose list has been complete
  std::map<std::string, Orphan> orphans_;    // by uid
  std::multimap<std::string, std::string>
      orphans_of_;  // by uid, or "namespace/name", of what they wait for
  struct Made {
    std::size_t pods = 0, bound = 0;
  };
  std::unordered_map<std::string, Made> of_owner_;
  std::unordered_map<std::string, std::size_t> of_gang_;  // pods that have not ended
  // Of pods without GPUs that count in a gang, by uid: "namespace/gang"; and how many each gang has.
  std::unordered_map<std::string, std::string> light_members_;
  std::unordered_map<std::string, std::uint32_t> light_counts_;
  std::set<std::string> gang_owners_;  // whose end matters: they had pods, and it was not told
  std::set<std::string> unschedulable_, gated_, unsized_, outdated_;  // uids
  NodeClocks clocks_;
  std::set<std::string> outdated_nodes_;  // by name
  std::uint32_t pod_list_ = 0, node_list_ = 0, namespace_list_ = 0;
  TimeMs pod_list_ms_ = 0;
  std::map<std::string, std::uint32_t> owner_lists_;  // by collection
  bool pods_asked_ = false, nodes_asked_ = false, namespaces_asked_ = false;
  // Keys of untold_: "p" + uid, "n" + name, "s" + namespace, "g" + owner, "w" + uid of a leader
  std::deque<std::string> queue_;
  std::deque<std::string> last_queue_;  // of nodes that went: after all others
  std::unordered_map<std::string, Untold> untold_;
  std::deque<News> put_back_;
  std::unordered_map<std::string, std::size_t>
      unanswered_;  // by uid: given by next(), not put back
  std::uint64_t unreadable_ = 0;
  std::string last_unreadable_;
};

}  // namespace subak
