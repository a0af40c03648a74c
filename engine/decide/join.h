// Which job a pod joins, and what it takes there. Parts of decide/ that several files share.
// Threads: none.
#pragma once

#include <string>

#include "engine/decide/decide.h"

namespace subak::decide {

// "namespace/gang", or "namespace/name" of a pod alone.
std::string job_name_of(const PodRecord& pod);
PodGate gate_of(const PodRecord& pod);
// The job that members of its gang join; nullptr: there is none, or the pod is alone.
const state::Job* find_gang(const Decision& d, ClusterId cluster, const PodRecord& pod);
// What a job takes from its first pod, however that came.
fact::JobCreated job_of(Decision& d, const state::Cluster& cluster, const PodRecord& pod,
                        AccountId account, JobOrigin origin);
// A pod with our gate is new: it joins its gang, or becomes a job.
void queue_pod(Decision& d, const state::Cluster& cluster, const PodRecord& pod, AccountId account);
// A pod that waits is seen again: what it asks for now counts.
void change_pod(Decision& d, const state::PodPlace& place, const PodRecord& pod, AccountId account);
// It is seen again, and says how many its gang has now. Ranks may change.
void see_size(Decision& d, JobId id, const PodRecord& pod);
// The job of a pod by itself, which its gang's start has left behind.
fact::JobCreated alone_of_gang(fact::JobCreated job);

}  // namespace subak::decide
