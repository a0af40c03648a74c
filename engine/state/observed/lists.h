// For each cluster: the objects that the list in progress has named, the time of the last report,
// and the user name of the edge. An edge is the program that reports a cluster. It begins a session
// with a list, a complete report of the cluster's objects. Objects that the list has not named by
// its end are gone: for example, a pod that ended while no edge ran.
//
// A restart loses this data. Each edge then lists again. Until it does, only Cluster::seen_until_ms
// says up to when the cluster's events are known.
// Threads: one at a time; Observed owns the object.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/state/clusters.h"
#include "engine/state/jobs/job.h"
#include "model/fact.h"

namespace subak::state {

// The objects that a list has named since it began.
struct ListMarks {
  // The time of the last report of the cluster before the list. 0: there was no report.
  TimeMs heard_before_ms = 0;
  // When the list began. Objects that the list names existed at that time.
  TimeMs begun_ms = 0;
  std::set<NodeId> nodes;
  std::set<PodPlace> pods;
  std::set<JobId> parked;  // jobs whose parked owner the list has named
  std::set<std::string> namespaces;
};

// The lists of all clusters. A cluster has one list in progress at most.
class Lists {
 public:
  // Returns the list in progress; nullptr if no list is in progress. The pointer is valid until the
  // list begins again or ends.
  const ListMarks* find(ClusterId id) const;
  // Returns the user name by which the API server knows the edge of the newest list. Empty: the
  // name is not known.
  const std::string& known_as(ClusterId id) const;

  // Records that the cluster's edge or a launcher reported something at `at`, so that the cluster's
  // events up to `at` are known. An earlier time than at the last call changes nothing.
  void heard(ClusterId id, TimeMs at);
  // Begins a list at `now`. `seen_until_ms` is the value of Cluster::seen_until_ms. If a list is
  // already in progress, it begins again: its marks are dropped, but `heard_before_ms` stays.
  // Otherwise `heard_before_ms` becomes `seen_until_ms` or the time of the last heard(), if later.
  void begin(ClusterId id, TimeMs now, TimeMs seen_until_ms, std::string known_as);
  // Ends the list in progress. Does nothing if no list is in progress.
  void end(ClusterId id);
  // mark() marks an object as named by the list. mark() does nothing if no list is in progress.
  void mark(ClusterId id, NodeId node);
  void mark(ClusterId id, const PodPlace& pod);
  void mark(ClusterId id, const std::string& ns);
  // Marks the parked owner of the job in the same way.
  void mark_owner(JobId job);
  // Call it after a pod has moved to a free rank of its job. It moves the pod's mark to this rank,
  // and drops an old mark there.
  void move_mark(JobId job, std::uint32_t from, std::uint32_t rank);
  // Call it after pods have moved to other ranks of their job. All marks move at once, because two
  // pods may have exchanged ranks.
  void move_marks(JobId job, std::span<const fact::PodsRanked::Move> moves);
  // Forgets everything about a cluster.
  void forget(ClusterId id);

  // Asserts that each list belongs to a cluster, and that the marked pods belong to jobs of that
  // cluster.
  void check(const Clusters& clusters) const;

 private:
  // Returns the list in progress for a change; nullptr if no list is in progress.
  ListMarks* writable(ClusterId id);

  std::map<ClusterId, ListMarks> lists_;
  std::map<ClusterId, TimeMs> heard_;
  std::map<ClusterId, std::string> known_as_;
};

}  // namespace subak::state
