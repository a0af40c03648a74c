// The clusters: names, modes, job numbers, reservations, and up to when their events are known.
// Numbers of removed clusters are never reused.
//
// A reference to a cluster holds until the cluster is removed. Threads: none; State owns it. Only
// state/ changes it.
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

namespace subak::state {

// Nodes reserved for a queued job. The same as fact::Reserved.
struct Reservation {
  // A queued job of the cluster.
  JobId job;
  // Ascending, not empty.
  std::vector<NodeId> nodes;
  // The latest start there. kNever: not known.
  TimeMs start_ms = 0;
  // True: the start rests on a guess.
  bool estimated = false;
  // Why it was made or moved last.
  ReserveCause cause = ReserveCause::kMade;
  // When the job got the first of its consecutive reservations.
  TimeMs made_ms = 0;
  // How often the start has moved later since then.
  std::uint32_t late = 0;
  fact::Reserved as_fact() const;
};

// One cluster.
struct Cluster {
  // Never 0.
  ClusterId id;
  // A DNS label, unique among clusters.
  std::string name;
  // The mode of namespaces without a mode of their own.
  Mode mode = Mode::kObserve;
  // The namespaces with a mode of their own, by name.
  std::vector<NamespaceMode> namespaces;
  // True: its nodes are known, so jobs may be placed there.
  bool synced = false;
  // True: its nodes were imported, and no edge reports them.
  bool owned = false;
  // The newest session that began a list. 0: no session did.
  std::uint64_t session = 0;
  // While the cluster is not synced: since when its events are not known.
  TimeMs since_ms = 0;
  // Its identity as its edges reported it. Empty: no edge did.
  std::string uid;
  // The time up to which its events are known. 0: no edge has reported one.
  TimeMs seen_until_ms = 0;
  // The sequence number of its next job.
  std::uint64_t next_job = 1;
  // The reservations, in the order in which the jobs got their first one.
  std::vector<Reservation> reservations;
  // Never null.
  std::shared_ptr<const NamespaceLabels> labels = std::make_shared<const NamespaceLabels>();
  // The namespace's own mode, else the cluster's.
  Mode mode_of(std::string_view ns) const;
};

// All clusters.
class Clusters {
 public:
  using Sink = std::function<void(fact::Body)>;

  // --- reads -------------------------------------------------------------------------------------
  // Returns the cluster of this name; an empty name means the only one. nullptr: unknown, removed,
  // or not the only one.
  const Cluster* find(std::string_view name) const;
  // Returns the cluster. Asserts that it exists.
  const Cluster& at(ClusterId id) const;
  // All clusters without the removed ones.
  const std::map<ClusterId, Cluster>& all() const { return all_; }
  // Returns the name, also of a removed cluster, for rows of ended jobs.
  const std::string& name_of(ClusterId id) const;
  // The number of the next new cluster. None: all numbers are used.
  ClusterId next_id() const;
  // The nodes reserved for a job. nullptr: it has none. Valid until the next fact.
  const Reservation* reservation_of(JobId id) const;

  // --- facts -------------------------------------------------------------------------------------
  // A ClusterSet of an unknown cluster creates it. All other facts need an existing cluster
  // (asserted). Asserts that no number is reused and no session goes back.
  void apply(const fact::ClusterSet& f);
  void apply(const fact::ClusterRemoved& f);
  void apply(const fact::ClusterSynced& f);
  void apply(const fact::ClusterSeen& f);
  void apply(const fact::NamespaceLabelled& f);
  // Records that a pod existed at `at`. In a synced cluster with a `seen_until_ms`, its events are
  // then known until `at`.
  void pod_seen(ClusterId id, TimeMs at);
  // Sets the reservation of a job. Without nodes it ends the reservation, which must exist
  // (asserted).
  void apply(const fact::Reserved& f);
  // Restores the next job number of one cluster, which is not below that of its jobs (asserted).
  void apply(const fact::CountersSnapshot& f);
  // Makes sure that the next job of the cluster gets a higher number than this one.
  void number_used(JobId id);
  // Ends the reservation of a job. Returns false if the job had none.
  bool reserve_no_longer(JobId id);

  // Passes the clusters on as facts. Reservations follow after the jobs.
  void snapshot(const Sink& sink) const;
  void snapshot_reservations(const Sink& sink) const;
  // Asserts that names are unique and numbers are not reused.
  void check() const;

 private:
  // The cluster, to change it. Asserts that it is there.
  Cluster& writable(ClusterId id);

  std::map<ClusterId, Cluster> all_;
  // The names of removed clusters.
  std::map<ClusterId, std::string> removed_;
};

}  // namespace subak::state
