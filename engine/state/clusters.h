// The clusters: their names, modes, job numbers, the jobs that nodes are kept for, and what a list
// that is being read has named. Numbers of removed clusters are never used again.
//
// A reference to a cluster holds until it is removed. Threads: none; State owns it. Only state/
// changes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/fact.h"
#include "engine/namespace_labels.h"
#include "engine/state/job.h"

namespace subak::state {

// Nodes that are kept for a queued job: see fact::Reserved, which says the same.
struct Reservation {
  JobId job;
  std::vector<NodeId> nodes;  // ascending
  TimeMs start_ms = 0;        // by when it starts there; kNever: not known
  bool estimated = false;     // that rests on a guess
  ReserveCause cause = ReserveCause::kMade;
  TimeMs made_ms = 0;
  std::uint32_t late = 0;
  fact::Reserved as_fact() const;
};

struct Cluster {
  ClusterId id;
  std::string name;
  Mode mode = Mode::kObserve;
  std::vector<NamespaceMode> namespaces;  // by name
  bool synced = false;                    // its nodes are known: jobs may be placed
  bool owned = false;                     // they were imported, no edge reports them
  std::uint64_t session = 0;              // the newest that began a list; 0: none did
  TimeMs since_ms = 0;       // not synced: since when it is not known what happens there
  std::string uid;           // which cluster it is, as its edges said; empty: none did
  TimeMs seen_until_ms = 0;  // what happened there is known until then; 0: nobody said so
  std::uint64_t next_job = 1;
  std::vector<Reservation> reservations;  // in the order in which the jobs got their first ones
  // Never null.
  std::shared_ptr<const NamespaceLabels> labels = std::make_shared<const NamespaceLabels>();
  // The namespace's own mode, else the cluster's.
  Mode mode_of(std::string_view ns) const;
};

// What a list has named since it began. Not part of the state: an edge that lost us lists again.
struct ListMarks {
  TimeMs heard_before_ms = 0;  // when the cluster was last heard before the list; 0: never
  TimeMs begun_ms = 0;         // what it names was there then
  std::set<NodeId> nodes;
  std::set<PodPlace> pods;
  std::set<std::string> namespaces;
};

// The last that was said of a pod on a node that has not been seen. Not part of the state either.
struct EarlyPod {
  std::string pod;  // its uid, or "1-42/0/1" for a launcher's
  std::string node;
  in::Body said;
};

class Clusters {
 public:
  using Sink = std::function<void(fact::Body)>;

  // --- reads -------------------------------------------------------------------------------------
  // Empty name: the only one, if there is exactly one. nullptr if unknown or removed.
  const Cluster* find(std::string_view name) const;
  const Cluster& at(ClusterId id) const;  // asserts that it is there
  const std::map<ClusterId, Cluster>& all() const { return all_; }
  // Also of one that was removed, for rows of ended jobs.
  const std::string& name_of(ClusterId id) const;
  ClusterId next_id() const;                  // none: all numbers are used
  const ListMarks* list(ClusterId id) const;  // nullptr: no list is being read
  // What was said of pods on nodes that have not been seen: of this node, by pod; of how many in
  // all.
  std::vector<EarlyPod> early(ClusterId id, std::string_view node) const;
  std::size_t early(ClusterId id) const;
  const Reservation* reservation_of(JobId id) const;  // nullptr: it has none
  // As whom the API server knows the edge that began the newest list; empty: not known.
  const std::string& known_as(ClusterId id) const;

  // --- facts -------------------------------------------------------------------------------------
  // A cluster that is not there is made; all other facts are of one that is (asserted). What would
  // use a number again, or go back to an older session, is asserted against.
  void apply(const fact::ClusterSet& f);
  void apply(const fact::ClusterRemoved& f);
  void apply(const fact::ClusterSynced& f);
  void apply(const fact::ClusterSeen& f);
  void apply(const fact::NamespaceLabelled& f);
  // A pod was said to be there. Where the edge says until when it knows, that is known then.
  void pod_seen(ClusterId id, TimeMs at);
  void apply(const fact::Reserved& f);
  void apply(const fact::CountersKept& f);  // of one cluster
  void number_used(JobId id);               // the next job gets a higher one
  bool reserve_no_longer(JobId id);         // false: it had no reservation

  // --- what is no fact ---------------------------------------------------------------------------
  // Its edge, or a launcher, said something, so that what happened up to then is known. Not part of the
  // state: after a restart only what `seen_until_ms` says is.
  void heard(ClusterId id, TimeMs at);
  // Begun anew before it ended, it keeps the time before the first. What was early is
  // forgotten: the list says it again.
  void begin_list(ClusterId id, TimeMs now);
  void end_list(ClusterId id);
  void know_as(ClusterId id, std::string user);
  void early(ClusterId id, EarlyPod pod);
  void not_early(ClusterId id, const std::string& pod);
  void forget_news(ClusterId id) {
    early_.erase(id);
    heard_.erase(id);
    lists_.erase(id);
    known_as_.erase(id);
  }
  // Nothing if no list is being read.
  void mark(ClusterId id, NodeId node);
  void mark(ClusterId id, const PodPlace& pod);
  void mark(ClusterId id, const std::string& ns);
  void move_mark(ClusterId id, const PodPlace& from, const PodPlace& to);  // the pod has moved
  void move_marks(JobId job, std::span<const fact::PodsRanked::Move> moves);

  // The clusters as facts; reservations come after the jobs.
  void keep(const Sink& sink) const;
  void keep_reservations(const Sink& sink) const;
  // Asserts that names are unique, numbers not reused.
  void check() const;

 private:
  Cluster& writable(ClusterId id);

  std::map<ClusterId, Cluster> all_;
  std::map<ClusterId, std::string> removed_;  // their names
  std::map<ClusterId, ListMarks> lists_;
  std::map<ClusterId, TimeMs> heard_;
  std::map<ClusterId, std::string> known_as_;
  std::map<ClusterId, std::map<std::string, EarlyPod>> early_;  // by pod
};

}  // namespace subak::state
