// The clusters of a state: names, modes, node pools, job numbers, reservations, and the time up to
// which their events are known. A cluster is one Kubernetes API server, or an imported list of
// nodes. The id of a removed cluster is never reused.
// An edge is the program that reports a cluster: it begins a session with a list of all objects,
// and then reports changes.
//
// A reference to a cluster is valid until the cluster is removed.
// Threads: one at a time. State owns the object. Only code in state/ changes the object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/answers/namespace_labels.h"
#include "model/fact.h"
#include "placement/search/pools.h"

namespace subak::state {

// Whole nodes that Subak reserves for a queued job, which starts there later. The fields are as in
// fact::Reserved.
struct Reservation {
  // The job that has the reservation: a queued job of the cluster.
  JobId job;
  // The nodes, ascending; at least one.
  std::vector<NodeId> nodes;
  // The latest start on these nodes. kNever: the start is not known.
  TimeMs start_ms = 0;
  // True: the start is an estimate, because it depends on a guess.
  bool estimated = false;
  // Why the reservation was made or last moved.
  ReserveCause cause = ReserveCause::kMade;
  // When the job got the first of its consecutive reservations.
  TimeMs made_ms = 0;
  // How often the start has moved later since `made_ms`.
  std::uint32_t late = 0;
  fact::Reserved as_fact() const;
};

// How long pods of one cluster held their GPUs, so that Subak knows how soon held GPUs become free.
// The numbers are equal in every replay, because each fact changes them in the same way. A
// checkpoint has all three (fact::CountersSnapshot).
struct HoldLengths {
  // How many holds of GPUs have ended.
  std::uint64_t ended = 0;
  // Two sums over these holds, of `amount x length` and of `amount x length x length`, in milli-GPU
  // and ms. Each end lowers the weight of all earlier ends by 1/limits::kHoldsRemembered.
  double time = 0;
  double time_squared = 0;

  // Records that a hold of this many milli-GPU ended after `length_ms`. Both are above 0
  // (asserted).
  void add(MilliGpu amount, DurationMs length_ms);
  // Returns the mean time until a GPU that is held at a random moment becomes free:
  // time_squared / (2 time). nullopt: fewer than limits::kFewestHolds holds have ended.
  // Source: the mean residual life of a renewal process, E[X^2] / (2 E[X]), for example in
  // D. R. Cox, Renewal Theory (1962).
  std::optional<DurationMs> mean_rest_ms() const;
};

// One cluster.
struct Cluster {
  // The id of the cluster; never 0.
  ClusterId id;
  // The name of the cluster: a DNS label, unique among clusters.
  std::string name;
  // The mode of namespaces without a mode of their own.
  Mode mode = Mode::kObserve;
  // The namespaces with a mode of their own, by name.
  std::vector<NamespaceMode> namespaces;
  // True: the edge's list is complete or the nodes were imported, so jobs may be placed there.
  bool synced = false;
  // True: the cluster's nodes were imported, and no edge reports them.
  bool owned = false;
  // The number of the newest session that began a list. 0: no session began one.
  std::uint64_t session = 0;
  // The time since which the cluster's events are not known. Used only while the cluster is not
  // synced.
  TimeMs since_ms = 0;
  // The identity of the cluster that its edges reported, so that an edge of another cluster is
  // noticed. Empty: no edge reported one.
  std::string uid;
  // The time up to which the cluster's events are known. 0: no edge has reported such a time.
  TimeMs seen_until_ms = 0;
  // The sequence number of the cluster's next job.
  std::uint64_t next_job = 1;
  // The reservations, in the order in which the jobs got the first of their consecutive
  // reservations.
  std::vector<Reservation> reservations;
  HoldLengths hold_lengths;
  // The labels of namespaces that name an account; never null.
  std::shared_ptr<const NamespaceLabels> labels = std::make_shared<const NamespaceLabels>();
  // Returns the namespace's own mode, or else the cluster's mode.
  Mode mode_of(std::string_view ns) const;
};

// All clusters.
class Clusters {
 public:
  using Sink = std::function<void(fact::Body)>;

  // --- reads -------------------------------------------------------------------------------------
  // Returns the cluster of this name; an empty name means the only cluster. nullptr: the name is
  // unknown, the cluster was removed, or the name is empty and there is not exactly one cluster.
  const Cluster* find(std::string_view name) const;
  // Returns the cluster. Asserts that the cluster exists.
  const Cluster& at(ClusterId id) const;
  // All clusters, except removed clusters.
  const std::map<ClusterId, Cluster>& all() const { return all_; }
  // Returns the name of a cluster, even of a removed one, because rows of ended jobs need it.
  const std::string& name_of(ClusterId id) const;
  // Returns the id of the next new cluster. None: all ids are used.
  ClusterId next_id() const;
  // The node pools of the policy whose clusters exist.
  const FleetPools& pools() const { return pools_; }
  // Returns the reservation of a job. nullptr: the job has no reservation. The pointer is valid
  // until the next fact.
  const Reservation* reservation_of(JobId id) const;

  // --- facts -------------------------------------------------------------------------------------
  // A ClusterSet of an unknown cluster creates the cluster. All other facts need an existing
  // cluster (asserted). The functions assert that no id is reused and that session numbers never
  // fall.
  void apply(const fact::ClusterSet& f);
  void apply(const fact::ClusterRemoved& f);
  void apply(const fact::ClusterSynced& f);
  void apply(const fact::ClusterSeen& f);
  void apply(const fact::NamespaceLabelled& f);
  // Sets the node pools of the policy.
  void set_pools(std::vector<NodePool> declared);
  // Records that a pod existed at `at`. If the cluster is synced and has a `seen_until_ms`, the
  // cluster's events are then known up to `at`.
  void pod_seen(ClusterId id, TimeMs at);
  // Records that a pod held this many milli-GPU for `length_ms`.
  void hold_ended(ClusterId id, MilliGpu amount, DurationMs length_ms);
  // Sets the reservation of a job. A fact without nodes ends the reservation, which must exist
  // (asserted).
  void apply(const fact::Reserved& f);
  // Restores the next job number and the hold lengths of one cluster. The number must be above the
  // numbers of all jobs of the cluster (asserted).
  void apply(const fact::CountersSnapshot& f);
  // Makes sure that the next job of the cluster gets a higher number than this job.
  void number_used(JobId id);
  // Ends the reservation of a job. Returns false if the job had no reservation.
  bool reserve_no_longer(JobId id);

  // Pass the clusters, and their reservations, on as facts of a checkpoint. The facts of
  // snapshot_reservations() must come after those of the jobs.
  void snapshot(const Sink& sink) const;
  void snapshot_reservations(const Sink& sink) const;
  // Asserts that names are unique and ids are not reused.
  void check() const;

 private:
  // Returns the cluster for a change. Asserts that the cluster exists.
  Cluster& writable(ClusterId id);
  // Finds the clusters that the declared pools name. Call it after a cluster comes or goes.
  void find_pools();

  std::map<ClusterId, Cluster> all_;
  // The names of removed clusters.
  std::map<ClusterId, std::string> removed_;
  // The node pools of the policy, and the result of pools().
  std::vector<NodePool> declared_;
  FleetPools pools_;
};

}  // namespace subak::state
