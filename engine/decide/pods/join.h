// Which job a pod joins, and what the job takes from it. Several files of decide/ share these.
// Threads: none.
#pragma once

#include <string>

#include "engine/decide/decide.h"

namespace subak::decide {

// "namespace/gang", or "namespace/name" of a pod without a gang.
std::string job_name_of(const PodRecord& pod);
// The gates that the pod has, Subak's and others.
PodGate gate_of(const PodRecord& pod);
// The job that members of the pod's gang join. nullptr: there is none, or the pod has no gang.
const state::Job* find_gang(const Decision& d, ClusterId cluster, const PodRecord& pod);
// The fields that a job takes from its first pod.
fact::JobCreated job_of(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                        AccountId account, JobOrigin origin);
// A new pod with Subak's gate joins its gang or becomes a job.
void queue_pod(Decision& d, const state::Cluster& cluster, const PodRecord& pod, AccountId account);
// A waiting pod is seen again: its present request counts.
void change_pod(Decision& d, const state::PodPlace& place, const PodRecord& pod, AccountId account);
// A pod is seen again and tells the present size of its gang. Ranks may change.
void see_size(Decision& d, JobId id, const PodRecord& pod);
// The job of a pod whose gang started without it.
fact::JobCreated alone_of_gang(fact::JobCreated job);

}  // namespace subak::decide
