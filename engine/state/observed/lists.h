// The lists of the clusters' edges: what the list in progress has named, when a cluster was last
// heard, and which user its edge is.
//
// A restart loses all of this. Then only Cluster::seen_until_ms says until when events are known,
// and each edge lists again. Threads: none; Observed owns it.
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
  // When the cluster was last heard before the list. 0: never.
  TimeMs heard_before_ms = 0;
  // When the list began: objects that it names existed then.
  TimeMs begun_ms = 0;
  std::set<NodeId> nodes;
  std::set<PodPlace> pods;
  std::set<std::string> namespaces;
};

// The lists of all clusters. A cluster has one list in progress at most.
class Lists {
 public:
  // Returns the list in progress; nullptr if no list is being read. Valid until the list begins
  // again or ends.
  const ListMarks* find(ClusterId id) const;
  // The user name that the API server knows for the edge of the newest list. Empty: not known.
  const std::string& known_as(ClusterId id) const;

  // Records that the cluster's edge or a launcher reported something at `at`, so events up to then
  // are known. An earlier time than the last one changes nothing.
  void heard(ClusterId id, TimeMs at);
  // Begins a list at `now`. `seen_until_ms`: as in the Cluster. If a list begins again before it
  // ended, what it named is forgotten, but `heard_before_ms` stays.
  void begin(ClusterId id, TimeMs now, TimeMs seen_until_ms, std::string known_as);
  // Ends the list in progress. Does nothing if no list is being read.
  void end(ClusterId id);
  // These mark an object as named. They do nothing if no list is being read.
  void mark(ClusterId id, NodeId node);
  void mark(ClusterId id, const PodPlace& pod);
  void mark(ClusterId id, const std::string& ns);
  // Call it after the pod moved to a free rank of its job. It drops a mark that was left at that
  // rank.
  void move_mark(JobId job, std::uint32_t from, std::uint32_t rank);
  // Call it after pods moved to other ranks of their job. All marks move at once, since two pods
  // may have exchanged ranks.
  void move_marks(JobId job, std::span<const fact::PodsRanked::Move> moves);
  // Forgets everything about a cluster.
  void forget(ClusterId id);

  // Asserts that each list belongs to a cluster, and its pods to jobs of that cluster.
  void check(const Clusters& clusters) const;

 private:
  // nullptr: no list is being read.
  ListMarks* writable(ClusterId id);

  std::map<ClusterId, ListMarks> lists_;
  std::map<ClusterId, TimeMs> heard_;
  std::map<ClusterId, std::string> known_as_;
};

}  // namespace subak::state
