// Finds the first reason why a job waits, for each row of a list of jobs (ListJobs, ListQueue).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace subak::api {

// Finds and caches first reasons. The time of one search grows with the fleet. So waiting jobs of
// one user with equal requests share one search and its reason. But a job that the cluster's
// scheduler refused gets a search of its own. Once the searches for a page have examined more than
// `most_nodes` nodes, no further search begins. Threads: only the follower's thread.
class FirstReasons {
 public:
  // `engine` must outlive this object. Each page needs its own object, since the state must not
  // change while the object is in use.
  // `growth`: as for Engine::reasons(). It must outlive this object.
  FirstReasons(const Engine& engine, const Growth* growth, std::size_t most_nodes)
      : engine_(engine), growth_(growth), most_nodes_(most_nodes) {}

  // Returns the job's first reason. nullptr: the job does not wait, or a search would be needed and
  // too many nodes were examined. `position`: the job's position in the queue, from 1; 0: the
  // position is not known. The pointer is valid as long as this object exists.
  const Reason* of(const JobRow& row, std::size_t position = 0) {
    if (!is_waiting(row.state)) return of_crowd(row);
    const bool waits_for_nodes = growth_ != nullptr && growth_->find(row.id) != nullptr;
    const std::string own = row.refused || waits_for_nodes ? text::job_id_text(row.id) + " " : "";
    const std::string key = own + std::string(enum_name(row.state)) + " " + row.cluster + " " +
                            row.account + "/" + row.user + " " + to_text(row.request);
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return &known->second;
    if (looked_at_ > most_nodes_) return nullptr;
    looked_at_ += engine_.fleet().nodes(row.id.cluster()).size();
    std::vector<Reason> reasons = engine_.reasons(row.id, position, growth_);
    if (reasons.empty()) return nullptr;
    return &by_key_.emplace(key, std::move(reasons.front())).first->second;
  }

 private:
  // Returns the reason for a job that does not wait itself, but which may have waiting pods beyond
  // the size of its gang.
  const Reason* of_crowd(const JobRow& row) {
    auto reason = engine_.first_reason(row.id, 0);
    if (!reason) return nullptr;
    return &by_key_.insert_or_assign(text::job_id_text(row.id), *std::move(reason)).first->second;
  }

  const Engine& engine_;
  const Growth* const growth_;
  const std::size_t most_nodes_;
  std::size_t looked_at_ = 0;
  std::map<std::string, Reason> by_key_;
};

}  // namespace subak::api
