#include "engine/state/jobs/job_snapshot.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/state/jobs/job_request.h"

namespace subak::state {
namespace {

// Returns the fact of the job without its pods.
fact::JobSnapshot record_of(const Fleet& fleet, const Job& job) {
  fact::JobSnapshot k;
  k.job.id = job.id;
  k.job.origin = job.origin;
  k.job.state = job.state;
  k.job.leaf = job.leaf;
  k.job.name = job.name;
  k.job.gang_size = job.gang_size;
  k.job.priority = job.priority;
  k.job.has_class = job.has_class;
  k.job.time_limit_ms = job.time_limit_ms;
  k.job.grace_ms = job.extras().grace_ms;
  k.job.gang = job.gang;
  if (job.pod_origin) {
    k.job.owner = job.pod_origin->owner;
    k.job.account = job.pod_origin->account;
    k.job.user = job.pod_origin->user;
    k.job.of_pods.awaits_resume = job.pod_origin->awaits_resume;
    k.job.replaced_alone = job.pod_origin->replaced_alone;
    k.job.of_pods.parking = job.pod_origin->parking;
    if (job.pod_origin->workload != nullptr) k.job.of_pods.workload = *job.pod_origin->workload;
  }
  if (job.shape) {
    k.job.request = fleet.request(job.shape);
  } else if (job.asked) {
    k.job.request = *job.asked;
  }
  k.submit_ms = job.submit_ms;
  k.attempt = job.attempt;
  k.until_ms = job.until_ms;
  k.cause = job.cause;
  k.stop = job.stop;
  k.refusals = job.refusals;
  k.run.end_refused_ms = job.run().end_refused_ms;
  k.overruns = job.overruns;
  if (const Backoff* const last = job.extras().backoff.get())
    k.refusal = {last->words, last->times, last->until_ms};
  if (const Preempted* const last = job.extras().preempted.get())
    k.preempted = {last->times,      last->at_ms,    last->claimant, last->leaf,
                   last->started_ms, last->milligpu, last->right};
  if (const NodeRejection* const last = job.extras().rejected.get()) {
    k.refusal.rejected_by = last->node;
    k.refusal.rejection = last->rejection;
  }
  if (const ReadyTimeout* const last = job.extras().unready.get()) {
    k.refusal.unready_words = last->words;
    k.refusal.unready_times = last->times;
    k.refusal.unready_until_ms = last->until_ms;
  }
  if (job.is_finishing()) {
    k.run.finishing_ms = job.run().finishing_ms;
    for (const NodeId node : job.run().finished_on) k.run.finished_on.push_back({node});
  }
  k.run.started_ms = job.run().started_ms;
  k.run.ended_ms = job.run().ended_ms;
  return k;
}

fact::JobSnapshot::Pod pod_record_of(const Fleet& fleet, const Job& job, std::uint32_t rank) {
  const Pod& pod = job.pods[rank];
  fact::JobSnapshot::Pod p;
  p.uid = pod.uid;
  p.name = pod.name;
  p.state = pod.state;
  p.controlled = pod.controlled;
  p.dispute = pod.dispute;
  p.gate = pod.gate;
  p.order = pod.order;
  p.grace_ms = pod.grace_ms;
  p.slot = pod.slot;
  p.since_ms = pod.since_ms;
  if (pod.is_bound()) {
    p.seen_ms = pod.seen_ms;
    p.behind_ms = pod.behind_ms;
  }
  p.refused = pod.refused;
  const bool of_request = job.shape && rank < job.ranks();
  if (!of_request && pod.shape) p.shape = shape_of(fleet, pod);
  return p;
}

}  // namespace

// Ten thousand pods with requests of their own are more than one fact may hold.
void snapshot_job(const Fleet& fleet, const Job& job, const LiveCopy::Sink& sink) {
  fact::JobSnapshot part;
  part.job.id = job.id;
  part.more = true;
  std::size_t bytes = 0;
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    part.pods.push_back(pod_record_of(fleet, job, rank));
    bytes += stored_bytes(part.pods.back());
    if (bytes < limits::kCheckpointPartBytes) continue;
    sink(part);
    part.pods.clear();
    bytes = 0;
  }
  fact::JobSnapshot last = record_of(fleet, job);
  last.pods = std::move(part.pods);
  sink(std::move(last));
}

const fact::JobSnapshot* JobParts::add(const fact::JobSnapshot& part) {
  must(pods_.empty() || part.job.id == job_, "the facts of a job come one after the other");
  job_ = part.job.id;
  if (part.more) {
    pods_.insert(pods_.end(), part.pods.begin(), part.pods.end());
    return nullptr;
  }
  if (pods_.empty()) return &part;
  whole_ = part;
  whole_.pods.insert(whole_.pods.begin(), std::make_move_iterator(pods_.begin()),
                     std::make_move_iterator(pods_.end()));
  pods_.clear();
  return &whole_;
}

}  // namespace subak::state
