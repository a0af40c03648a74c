// Decides which job a pod joins, and which fields the job takes from the pod. The pods of a gang
// form one job; a single pod is a job of its own. The decisions on reports about pods call these
// functions.
// Threads: one at a time; all functions run inside Engine::apply.
#pragma once

#include <string>

#include "engine/decide/decide.h"

namespace subak::decide {

// Returns "namespace/gang", or "namespace/name" for a pod without a gang.
std::string job_name_of(const PodRecord& pod);
// Returns the gates that the pod has: Subak's gate and gates of other parties.
PodGate gate_of(const PodRecord& pod);
// Returns the job that the pod joins: the job of its parked owner, which Subak suspended until the
// job's turn, or else the job of its gang. For a pod without a gang, the result may be a job that
// waits until its controller recreates its pod. nullptr: the pod needs a new job.
const state::Job* find_gang(const Decision& d, ClusterId cluster, const PodRecord& pod);
// Returns the fact that creates a job of this origin, with the name, owner and gang of `pod`.
fact::JobCreated job_of(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                        AccountId account, JobOrigin origin);
// Returns job_of() for pods that wait, with the wishes, priority, limit and submit time of `pod`.
fact::JobCreated new_job(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                         AccountId account);
// Handles a new pod with Subak's gate: the pod joins its gang, or becomes a job of its own. Refuses
// the input if the account or the gang has too many waiting pods, or if the gang's request is too
// large.
void queue_pod(Decision& d, const state::Cluster& cluster, const PodRecord& pod, AccountId account);
// Call it when a waiting pod is seen again. From this call on, the pod's present request counts.
void change_pod(Decision& d, const state::PodPlace& place, const PodRecord& pod, AccountId account);
// Call see_size() when a pod is seen again, because the report has the present size of the pod's
// gang. The ranks of pods may change.
void see_size(Decision& d, JobId id, const PodRecord& pod);
// Returns `job` as the job of one pod whose gang started without it. Wishes that need several pods,
// such as `segment`, are dropped.
fact::JobCreated alone_of_gang(fact::JobCreated job);

}  // namespace subak::decide
