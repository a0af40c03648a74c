// Explains why a job waits: all reasons that apply now, and the comparison of accounts that ranks
// the job. Implements Engine::explain(), reasons() and first_reason().
// Threads: one at a time; pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "engine/answers/answers.h"
#include "engine/derive/reservations.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns all reasons of a waiting job that apply now, in kReasonOrder. `position`: the position in
// the queue; 0: the position is not known, or the job is not in the queue. O(nodes).
std::vector<Reason> reasons_of(const State& s, const Places& places, const state::Job& job,
                               std::size_t position);
// Returns the main reason why the job waits, or a reason that says that there is room for the job.
// The function does not read every node (Engine::first_reason).
Reason first_reason(const State& s, const Places& places, const state::Job& job,
                    std::size_t position);
// Returns a reason with this text, without figures and without the jobs or nodes that are in the
// way.
Reason make_reason(ReasonToken token, std::string subject, std::string detail);
// Returns the reason of a job that this rule of an account stops.
Reason explain_rule(const State& s, const Binding& rule);
// Returns the reason of a job that new nodes of pools would start. nullopt: new nodes would not
// start the job, or that is not known.
std::optional<Reason> waits_for_nodes(const Places& places, const state::Job& job);
// Returns the reason of a job that only these pools could hold, but that other jobs or rules delay.
Reason waits_for_pools(const std::vector<std::string>& pools);
// Returns why the job's account has not accepted the job yet (Job::awaits_resume).
Reason explain_not_accepted(const State& s, const state::Job& job);
// Returns the account's path for a message.
std::string shown_path(const AccountNode& node);
// Returns the ranking of a queued job: the siblings that the walk of a pass compares at each
// account, from the root down. O(depth + siblings on the path); it computes the next job of each
// sibling.
std::vector<RankStep> ranking(const State& s, const state::Job& job, TimeMs t);
// Implements Engine::explain. Without `position` it computes the complete order of the queue.
std::optional<Explanation> explain(const State& s, const Places& places, JobId id, TimeMs t,
                                   std::optional<std::size_t> position);

}  // namespace subak::derive
