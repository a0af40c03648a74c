// Makes the rows that reads show: jobs, accounts and the bill of nodes (engine/answers/answers.h).
// Rows are values, so they outlive their state.
// Threads: one at a time; pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/answers/answers.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the path of the account and the name of the user that pay for the jobs of a leaf of the
// tree. The user is empty if the leaf is not a user. For kUnassigned, both are empty.
std::pair<std::string, std::string> payer_of(const State& s, AccountId leaf);

// Returns one job as reads show it, with its pods only if requested. O(pods of the job).
JobRow row(const State& s, const state::Job& job, bool with_pods);
// Waiting jobs that are not in the queue (beside_queue()), and jobs with more pods than ranks.
// At most `most` rows after the job `after`, by id (Engine). O(jobs that they skip and return).
std::vector<JobRow> beside_queue(const State& s, JobId after, std::size_t most,
                                 std::string_view account);
std::vector<CrowdedJob> crowded(const State& s, JobId after, std::size_t most);
// Implements Engine::jobs(): a page by id of the jobs that match all filters. An empty filter
// matches every job. O(jobs after `after`) at worst.
std::vector<JobRow> jobs(const State& s, JobId after, std::size_t most,
                         std::optional<JobState> state, std::string_view account,
                         std::string_view user);
// Returns every account and user, parents first, with usage decayed to `t`. O(accounts log
// accounts).
std::vector<AccountRow> account_rows(const State& s, TimeMs t);
// Returns the usage of all pods that hold GPUs since their last ledger row, node by node.
std::vector<OpenUsage> open_usage(const State& s);
// Returns the bill of each node up to `t`, by cluster and name. O(nodes + pods that hold GPUs).
std::vector<NodeBill> bill(const State& s, TimeMs t);

}  // namespace subak::derive
