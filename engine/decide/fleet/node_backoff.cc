// Decisions about nodes that reject pods, and jobs that the cluster's scheduler refuses: the next
// try is backed off, longer each time.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/printable.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// Returns the length of the backoff after `times` rejections: `first`, doubled with each further
// rejection, up to `most`.
DurationMs length_ms(std::uint32_t times, DurationMs first, DurationMs most) {
  must(times > 0 && first > 0 && first <= most, "a backoff has a first and a longest time");
  DurationMs length = first;
  for (std::uint32_t i = 1; i < times && length < most; ++i) length *= 2;
  return std::min(length, most);
}

void forget(Decision& d, const fact::NodeBackedOff& backoff, const EditStamp& edit = {}) {
  const std::size_t before = d.s.node_backoff().size();
  d.emit(fact::NodeBackedOff{.node = backoff.node,
                             .shape = backoff.shape,
                             .job = backoff.job,
                             .any_pod = backoff.any_pod});
  must(d.s.node_backoff().size() + 1 == before, "one backoff is forgotten");
  if (backoff.any_pod && backoff.barred) renew_fitness(d, backoff.node, edit);
}

// Emits a record. `known`: the record replaces an existing one. If the table is full, a new record
// replaces the record that ends first.
void remember(Decision& d, fact::NodeBackedOff backoff, bool known) {
  if (!known && d.s.node_backoff().size() >= limits::kMaxNodeBackoffs)
    forget(d, fact::NodeBackedOff(d.s.node_backoff().first()));
  d.emit(std::move(backoff));
  must(d.s.node_backoff().size() <= limits::kMaxNodeBackoffs, "backoffs are bounded");
}

void back_off(Decision& d, NodeId node, const PodShape& shape, JobId job, DurationMs first,
              DurationMs most, const Rejection& rejection = {}) {
  const fact::NodeBackedOff* const known = d.s.node_backoff().find(node, shape, job);
  const std::uint32_t times = known == nullptr ? 1 : known->times + 1;
  remember(d,
           {.node = node,
            .shape = shape,
            .times = times,
            .until_ms = d.s.now() + length_ms(times, first, most),
            .barred = true,
            .job = job,
            .rejection = rejection},
           known != nullptr);
}

// Counts one rejection for all pods of the node. If limits::kNodesOfBadPod nodes reject such pods,
// the pods are at fault. Then their rejections must not make one node after the other unfit.
void count_rejection(Decision& d, NodeId node, const PodShape& shape, const Rejection& rejection) {
  if (d.s.node_backoff().nodes_rejecting(shape) >= limits::kNodesOfBadPod) return;
  const fact::NodeBackedOff* const known = d.s.node_backoff().of_any_pod(node);
  if (known != nullptr && known->barred) return;
  const TimeMs now = d.s.now();
  fact::NodeBackedOff all{.node = node, .shape = {}, .rejection = rejection, .any_pod = true};
  if (known != nullptr) all.recent = known->recent;
  std::erase_if(all.recent,
                [&](const auto& one) { return one.at_ms + limits::kRejectionsMs <= now; });
  all.recent.push_back({now});
  must(all.recent.size() <= limits::kMaxRejections, "an unfit node counts no more");
  all.times = static_cast<std::uint32_t>(all.recent.size());
  all.barred = all.recent.size() == limits::kMaxRejections;
  all.until_ms = now + (all.barred ? limits::kRejectingMs : limits::kRejectionsMs);
  const bool unfit = all.barred;
  remember(d, std::move(all), known != nullptr);
  if (unfit) renew_fitness(d, node);
}

bool is_over(const Decision& d, JobId id) {
  const state::Job* const job = d.s.jobs().find(id);
  return job == nullptr || job->state == JobState::kDone;
}

}  // namespace

void bar_node(Decision& d, NodeId node, const PodShape& shape, const Rejection& rejection) {
  const PodShape pod = shape;  // NOLINT: facts follow, after which the reference is stale
  const RejectionRule& rule = rule_of(rejection_kind(rejection.error));
  back_off(d, node, pod, JobId(), rule.first_ms, rule.longest_ms, rejection);
  count_rejection(d, node, pod, rejection);
}

void set_rejections(const Decision& d, NodeId node, NodeSpec& spec) {
  const fact::NodeBackedOff* const all = d.s.node_backoff().of_any_pod(node);
  spec.rejects = all != nullptr && all->barred;
  spec.reported_unfit.clear();
  if (!spec.rejects) return;
  std::string words = "its kubelet rejected " + std::to_string(all->times) + " pods within " +
                      format_duration(limits::kRejectionsMs);
  if (!all->rejection.error.empty()) words += ", the last with " + all->rejection.error;
  words += "; fit again at " + format_time(all->until_ms);
  if (!spec.unfit.empty()) words += ", " + spec.unfit;
  spec.reported_unfit = std::move(spec.unfit);
  spec.unfit = cut_text(words, limits::kMaxTextBytes - kCutNoteBytes);
}

void forgive_rejections(Decision& d, NodeId node, const EditStamp& edit) {
  const auto of_node = d.s.node_backoff().all().find(node);
  if (of_node == d.s.node_backoff().all().end()) return;
  for (const fact::NodeBackedOff& backoff : std::vector(of_node->second)) {
    if (!backoff.job && !backoff.any_pod) forget(d, backoff);
  }
  const fact::NodeBackedOff* const all = d.s.node_backoff().of_any_pod(node);
  if (all != nullptr) forget(d, fact::NodeBackedOff(*all), edit);
  must(!d.s.fleet().node(node)->rejects, "a repaired node has rejected no pods");
}

void clear_backoff(Decision& d, NodeId node, const PodShape& shape, JobId job) {
  for (const JobId of : {JobId(), job}) {
    const fact::NodeBackedOff* const known = d.s.node_backoff().find(node, shape, of);
    if (known != nullptr) forget(d, fact::NodeBackedOff(*known));
    if (!job) return;
  }
}

void end_backoffs(Decision& d) {
  const std::vector<fact::NodeBackedOff> ended = d.s.node_backoff().ended(d.s.now());
  for (const fact::NodeBackedOff& backoff : ended) {
    if (backoff.any_pod) continue;
    if (backoff.barred && (!backoff.job || !is_over(d, backoff.job))) {
      fact::NodeBackedOff count = backoff;
      count.barred = false;
      count.until_ms += limits::kNodeBackoffMemoryMs;
      d.emit(std::move(count));
    } else {
      forget(d, backoff);
    }
  }
  // The records of all pods come last, because the end of such a record also drops the scheduler's
  // refusals on the node.
  for (const fact::NodeBackedOff& backoff : ended) {
    if (backoff.any_pod) forget(d, backoff);
  }
}

// --- refusals of the cluster's scheduler (docs/design/0072) -------------------------------------

namespace {

std::size_t nodes_refused(const Decision& d, JobId id) {
  std::set<NodeId> nodes;
  for (const fact::NodeBackedOff& backoff : d.s.node_backoff().of_job(id))
    nodes.insert(backoff.node);
  return nodes.size();
}

// Returns the job's next backoff. Only the first refusal of an attempt makes the wait longer.
state::Backoff next_backoff(const Decision& d, const state::Job& job) {
  state::Backoff next = job.extras().backoff != nullptr ? *job.extras().backoff : state::Backoff();
  const bool counted = next.times > 0 && std::any_of(job.pods.begin(), job.pods.end(),
                                                     [](const auto& pod) { return pod.refused; });
  if (counted || nodes_refused(d, job.id) < 2) return next;
  ++next.times;
  must(next.times > 0, "the number of refusals is bounded by their waits");
  next.until_ms =
      d.s.now() + length_ms(next.times, limits::kFirstBackoffMs, limits::kLongestBackoffMs);
  must(next.until_ms > d.s.now(), "a job that is refused waits for a while");
  return next;
}

}  // namespace

void note_refusal(Decision& d, const state::Job& job, std::uint32_t rank, std::string_view words) {
  const state::Pod& pod = job.pods[rank];
  must(pod.holds_slot(), "the scheduler refused a pod with a hold");
  if (pod.refused) return;
  back_off(d, pod.slot.node, state::shape_of(d.s.fleet(), pod), job.id, limits::kFirstBackoffMs,
           limits::kLongestBackoffMs);
  const state::Backoff next = next_backoff(d, job);
  const std::string said = one_line(words);
  d.emit(fact::SchedulerRefused{job.id, rank, said.empty() ? "it gave no reason" : said, next.times,
                                next.until_ms});
}

void forget_refusals(Decision& d, JobId id) {
  for (const fact::NodeBackedOff& backoff : d.s.node_backoff().of_job(id)) forget(d, backoff);
  if (d.s.jobs().at(id).extras().backoff != nullptr) d.emit(fact::RefusalsForgotten{id});
  must(d.s.jobs().at(id).extras().backoff == nullptr, "a job without refusals is not backed off");
}

void retry(Decision& d, JobId id) {
  const state::Job& job = d.s.jobs().at(id);
  const bool waits = job.is_backed_off();
  if (job.extras().backoff != nullptr) d.emit(fact::RefusalsForgotten{id});
  must(job.extras().backoff == nullptr, "a job that is tried again is not backed off");
  if (waits) end_wait(d, job);
}

bool asks_anew(const Decision& d, const state::Job& job, const PodShape& shape) {
  if (job.extras().backoff == nullptr) return false;
  return std::none_of(job.pods.begin(), job.pods.end(), [&](const state::Pod& pod) {
    return pod.shape && state::shape_of(d.s.fleet(), pod) == shape;
  });
}

void job_changed(Decision& d, JobId id) {
  const bool waits = d.s.jobs().at(id).is_backed_off();
  forget_refusals(d, id);
  if (waits) end_wait(d, d.s.jobs().at(id));
}

void forgive_refusals(Decision& d, NodeId node) {
  if (!d.s.fleet().takes_pods(node)) return;
  const auto of_node = d.s.node_backoff().all().find(node);
  if (of_node != d.s.node_backoff().all().end()) {
    for (const fact::NodeBackedOff& backoff : std::vector(of_node->second)) {
      if (backoff.job) forget(d, backoff);
    }
  }
  const ClusterId cluster = d.s.fleet().cluster_of(node);
  for (const JobId id : std::set(d.s.jobs().sets().refused())) {
    if (id.cluster() == cluster) retry(d, id);
  }
}

}  // namespace subak::decide
