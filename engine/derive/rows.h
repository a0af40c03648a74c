// Rows for reads of jobs, accounts and the bill. Values: they outlive their state. Threads: none;
// pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/answers/answers.h"
#include "engine/state/state.h"

namespace subak::derive {

// One job as reads show it, with its pods only if requested.
JobRow row(const State& s, const state::Job& job, bool with_pods);
// Engine::beside_queue(), Engine::crowded().
std::vector<JobRow> beside_queue(const State& s, JobId after, std::size_t most,
                                 std::string_view account);
std::vector<CrowdedJob> crowded(const State& s, JobId after, std::size_t most);
// Engine::jobs.
std::vector<JobRow> jobs(const State& s, JobId after, std::size_t most,
                         std::optional<JobState> state, std::string_view account,
                         std::string_view user);
// Every account and user, parents first.
std::vector<AccountRow> account_rows(const State& s, TimeMs t);
// The usage of all pods that hold GPUs since their last ledger row.
std::vector<OpenUsage> open_usage(const State& s);
// The bill by node: both books, and the time that neither explains.
std::vector<NodeBill> bill(const State& s, TimeMs t);

}  // namespace subak::derive
