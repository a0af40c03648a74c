// The first wait reason of each row of a list.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace subak::api {

// Finds and caches first reasons. The time of one search grows with the fleet. So waiting jobs of
// one user with equal requests share an answer. A job that the cluster's scheduler refused gets its
// own answer. A page starts no search once it has examined more than `most_nodes` nodes. Threads:
// the follower's.
class FirstReasons {
 public:
  // `engine` outlives this object. One object serves one page: the state must not change meanwhile.
  FirstReasons(const Engine& engine, std::size_t most_nodes)
      : engine_(engine), most_nodes_(most_nodes) {}

  // Returns the job's first reason. nullptr: the page has examined too many nodes, or the job does
  // not wait.
  // `position`: the job's position in the queue, from 1; 0: unknown. The pointer is valid as long
  // as this object. Cached answers have no limit.
  const Reason* of(const JobRow& row, std::size_t position = 0) {
    if (!is_waiting(row.state)) return of_crowd(row);
    const std::string own = row.refused ? text::job_id_text(row.id) + " " : "";
    const std::string key = own + std::string(enum_name(row.state)) + " " + row.cluster + " " +
                            row.account + "/" + row.user + " " + to_text(row.request);
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return &known->second;
    if (looked_at_ > most_nodes_) return nullptr;
    looked_at_ += engine_.nodes(row.id.cluster()).size();
    std::vector<Reason> reasons = engine_.reasons(row.id, position);
    if (reasons.empty()) return nullptr;
    return &by_key_.emplace(key, std::move(reasons.front())).first->second;
  }

 private:
  // Returns the reason for a job that does not wait, whose pods beyond the gang's size may wait.
  const Reason* of_crowd(const JobRow& row) {
    auto reason = engine_.first_reason(row.id, 0);
    if (!reason) return nullptr;
    return &by_key_.insert_or_assign(text::job_id_text(row.id), *std::move(reason)).first->second;
  }

  const Engine& engine_;
  const std::size_t most_nodes_;
  std::size_t looked_at_ = 0;
  std::map<std::string, Reason> by_key_;
};

}  // namespace subak::api
