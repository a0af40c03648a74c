// What reads show of jobs, accounts and the bill. Values: they outlive the state that they are of.
// Threads: none; pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/state/state.h"

namespace subak::derive {

// One job as reads show it; its pods only if asked for.
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
// What all pods that hold GPUs have not been charged for yet.
std::vector<OpenUsage> open_usage(const State& s);
// By node: both books, and what is left unexplained.
std::vector<NodeBill> bill(const State& s, TimeMs t);

}  // namespace subak::derive
