// A second ledger of a fault world (world.h), computed from the reports and their times alone. Each
// stay of a pod on a node must begin once, be bound once and end once, each for a reason. The
// account must be charged for exactly this time. `mistakes` has all violations.
// Threads: one at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace subak::fault {

class Books {
 public:
  // Takes one input with the time that the service gave it, and the engine's outcome.
  void saw(const Input& input, const ApplyOutcome& outcome);
  std::vector<std::string> mistakes;
  std::vector<fact::NodeBackedOff> bars;  // node backoffs in force

 private:
  using Place = std::pair<JobId, std::uint32_t>;  // a job and the rank of a pod
  struct Stay {
    TimeMs since = 0, until = 0, charged_to = 0;
    TimeMs seen = 0;  // the last time at which the pod certainly existed
    std::optional<TimeMs> bound;
    DurationMs charged = 0, held = 0;
    std::uint32_t attempt = 0;
    NodeId node;
  };
  // What an input reports about one pod.
  struct Report {
    enum class Kind : std::uint8_t { kNone, kBound, kGone } kind = Kind::kNone;
    PodRef pod;
    TimeMs at_ms = 0;
    std::string node;
  };
  static Report report_of(const in::Body& body);
  TimeMs ours(TimeMs said) const;
  static std::optional<Report> earlier_bind(const in::Body& body);
  std::optional<Place> find(const PodRef& ref) const;
  void wrong(const Place& place, const std::string& what);
  void mark(const Input& input, const Report& report);
  bool is_early(const Report& report) const;
  void note_early(const Input& input);
  const Report* said_of(const Place& place) const;  // now, or before its node was there

  void on(const fact::ClusterSynced& f);
  void on(const fact::ClusterSeen& f);
  void note_known(const fact::Body& body);
  void on(const fact::NodeSet& f) {
    nodes_[f.id] = f.spec.name;
    node_since_.try_emplace(f.id, now_);
    there_.insert(f.spec.name);
  }
  void on(const fact::PodAdded& f);
  void on(const fact::PodSeated& f);
  void on(const fact::PodsRanked& f);
  void on(const fact::AttemptStarted& f);
  void on(const fact::AttemptEnded& f);
  void on(const fact::PlaceLost& f);
  void on(const fact::Charged& f);
  void on(const fact::PodBound& f);
  void on(const fact::PodRunning& f);
  void on(const fact::PodGone& f);
  void on(const fact::JobMoved& f);
  void on(const fact::NodeBackedOff& f) {
    std::erase_if(bars, [&f](const fact::NodeBackedOff& b) {
      return b.node == f.node && b.any_pod == f.any_pod && b.shape == f.shape && b.job == f.job;
    });
    if (f.barred) bars.push_back(f);
  }
  void on(const fact::NodeRemoved& f) {
    there_.erase(nodes_.at(f.id));
    std::erase_if(bars, [&f](const fact::NodeBackedOff& b) { return b.node == f.id; });
  }
  template <class Other>
  void on(const Other&) {}
  TimeMs end_of(const Place& place, const Stay& stay);
  bool node_went(NodeId node) const;
  void close(const Place& place, TimeMs at);
  void lose(const Place& place, Cause cause);
  void forget(JobId job);

  const Input* input_ = nullptr;
  Report report_;
  std::optional<Report> earlier_;  // the binding of a pod that this input ends
  std::optional<Place> named_;     // the pod of report_
  std::optional<Place> ends_;      // the pod that report_ ends
  TimeMs now_ = 0;
  std::map<Place, Stay> stays_;
  std::map<std::string, Place> uids_;
  std::map<JobId, std::uint32_t> attempts_;
  std::map<NodeId, std::string> nodes_;
  std::set<std::string> there_;                // names of nodes
  std::map<std::string, Report> early_;        // by pod: reports on unknown nodes
  std::map<ClusterId, TimeMs> unknown_since_;  // clusters that are not synced
  std::map<NodeId, TimeMs> node_since_;
  std::set<std::string> listed_nodes_;
  std::set<Place> listed_;
  bool listing_ = false;
  // When the cluster was last heard, and before the present list; 0: not since the last restart.
  TimeMs heard_ = 0, heard_before_list_ = 0, restarted_at_ = 0;
  TimeMs seen_until_ = 0;  // Cluster::seen_until_ms
};

}  // namespace subak::fault
