#include "engine/state/jobs/jobs.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/must.h"

namespace subak::state {
namespace {

ReadyJob ready_job(const Job& job) {
  return {job.id, job.leaf, job.shape, job.priority, job.submit_ms};
}

std::unique_ptr<PodOrigin> origin_of(const fact::JobCreated& f) {
  std::shared_ptr<const Workload> workload;
  if (!f.of_pods.workload.uid.empty())
    workload = std::make_shared<const Workload>(f.of_pods.workload);
  return std::make_unique<PodOrigin>(PodOrigin{f.owner, f.account, f.user, f.of_pods.awaits_resume,
                                               f.replaced_alone, f.of_pods.parking,
                                               std::move(workload)});
}

}  // namespace

Jobs::Jobs(const Fleet& fleet, const AccountTree& tree)
    : fleet_(fleet), tree_(tree), ready_([this](ShapeId shape) {
        return ShapeCost{fleet_.least_milligpu(shape), only_product(fleet_, fleet_.request(shape))};
      }) {}

std::optional<PodPlace> Jobs::find(ClusterId cluster, const PodRef& ref) const {
  if (!ref.uid.empty()) return pods_.find(cluster, ref.uid);
  const Job* const job = find(ref.job);
  if (job == nullptr || ref.job.cluster() != cluster) return std::nullopt;
  if (ref.rank >= job->pods.size()) return std::nullopt;
  if (ref.attempt != 0 && ref.attempt != job->attempt) return std::nullopt;
  if (job->pods[ref.rank].is_expected()) return std::nullopt;
  return PodPlace{ref.job, ref.rank};
}

Job& Jobs::create(const fact::JobCreated& f, ShapeUse shape, TimeMs now) {
  must(f.leaf == kUnassigned || tree_.exists(f.leaf), "a job has an existing account, or none");
  must(static_cast<bool>(shape) == (f.origin == JobOrigin::kApi), "an API job says all at once");
  must(f.submit_ms <= now, "who waits was submitted");
  Job& job = table_.add(f.id);
  job.leaf = f.leaf;
  job.shape = std::move(shape);
  job.origin = f.origin;
  job.name = f.name;
  job.priority = f.priority;
  job.has_class = f.has_class;
  job.gang_size = f.gang_size;
  job.time_limit_ms = f.time_limit_ms;
  if (f.grace_ms != 0) job.make_extras().grace_ms = f.grace_ms;
  job.submit_ms = f.submit_ms == 0 ? now : f.submit_ms;
  job.gang = f.gang;
  if (job.from_pods()) {
    job.pod_origin = origin_of(f);
    job.asked = std::make_shared<const GangRequest>(f.request);
  }
  if (job.origin == JobOrigin::kForeign || job.origin == JobOrigin::kAdopted) {
    job.make_run().started_ms = now;
  }
  count_waiting(job, 1);
  gangs_.add(job);
  sets_.add(job);
  gangs_.join_workload(job);
  return job;
}

void Jobs::add_pod(const fact::PodAdded& f, ShapeUse shape) {
  Job& job = writable(f.job);
  must(job.from_pods() && job.state != JobState::kDone,
       "pods join a live job that is made of pods");
  must(f.rank < limits::kMaxPodsPerJob && !f.uid.empty(), "a pod has a rank and a uid");
  must(static_cast<bool>(shape), "a pod has a shape");
  if (job.pods.size() <= f.rank) job.pods.resize(f.rank + 1);
  unsettle(job.pods);
  Pod& pod = job.pods[f.rank];
  must(!pod.is_live(), "a pod comes to a rank that is free");
  pod = Pod{};
  pod.uid = f.uid;
  pod.name = f.name;
  pod.controlled = f.controlled;
  pod.order = f.order;
  pod.grace_ms = f.grace_ms;
  pod.dispute = f.dispute;
  pod.gate = f.gate;
  pod.shape = std::move(shape);
  pods_.put(f.uid, {f.job, f.rank});
  if (job.waits()) waiting_.pods(tree_, job.id.cluster(), job.leaf, 1);
  // A recreated pod may have another name, and the job of a single pod has the pod's name.
  if (job.origin == JobOrigin::kPods && !job.gang && !job.is_apart() && f.rank < job.gang_size)
    job.name = f.name;
  sets_.change_pods(job);
}

void Jobs::fill_place(const fact::PodAdded& f) {
  Job& job = writable(f.job);
  Pod& pod = job.pods.at(f.rank);
  must(job.state == JobState::kStarting && pod.is_expected(), "an expected pod has a hold");
  must(!f.uid.empty() && !f.bound && f.dispute.empty(),
       "a pod that comes to its hold has a closed gate");
  pod.uid = f.uid;
  pod.name = f.name;
  pod.controlled = f.controlled;
  pod.order = f.order;
  pod.grace_ms = f.grace_ms;
  pod.gate = f.gate;
  pods_.put(f.uid, {f.job, f.rank});
  must(f.until_ms >= job.until_ms, "a hold is not made shorter");
  set_deadline(job, f.until_ms);
  if (!job.gang) job.name = f.name;  // the job had the name of its parked owner
}

void Jobs::change_request(Job& job, ShapeUse shape) {
  must(job.waits() && job.shape, "a request changes while its job waits");
  const bool queued = job.state == JobState::kQueued;
  if (queued) ready_.remove(job.id);
  complete_gang(fleet_, job, std::move(shape));
  if (queued) ready_.add(ready_job(job), tree_);
  must(ready_.contains(job.id) == queued, "queued jobs are in the queue");
}

void Jobs::seat_pod(Job& job, std::uint32_t from, std::uint32_t rank) {
  must(from >= job.gang_size && rank < job.gang_size, "who waits behind the ranks gets one");
  Pod& waiting = job.pods.at(from);
  Pod& seat = job.pods.at(rank);
  must(waiting.state == PodState::kWaiting && waiting.is_live() && !seat.is_live(),
       "a pod that waits takes a rank that is free");
  seat = std::exchange(waiting, Pod{});
  pods_.put(seat.uid, {job.id, rank});
  job.drop_empty_ranks();
  sets_.change_pods(job);
}

void Jobs::rank_pods(Job& job, std::span<const fact::PodsRanked::Move> moves) {
  std::vector<Pod> moved;
  moved.reserve(moves.size());
  for (const fact::PodsRanked::Move& m : moves) {
    Pod& pod = job.pods.at(m.from);
    must(m.from < job.gang_size && pod.is_live() && pod.state == PodState::kWaiting,
         "pods that wait change places");
    moved.push_back(std::exchange(pod, Pod{}));
  }
  for (std::size_t i = 0; i < moves.size(); ++i) {
    must(moves[i].rank < job.gang_size, "a rank is one of the gang's");
    Pod& seat = job.pods.at(moves[i].rank);
    must(!seat.is_live() && !seat.is_expected(), "a pod comes to a rank that another has left");
    seat = std::move(moved[i]);
    pods_.put(seat.uid, {job.id, moves[i].rank});
  }
}

void Jobs::resize_gang(Job& job, std::uint32_t size) {
  must(job.from_pods() && job.waits() && !job.shape, "a gang that waits may change its size");
  must(size > 0 && size <= limits::kMaxPodsPerJob, "a gang has a size");
  for (std::size_t rank = size; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].is_expected()) job.pods[rank] = Pod{};  // no longer expected
  }
  job.gang_size = size;
  job.drop_empty_ranks();
  sets_.change_pods(job);
}

void Jobs::assign(Job& job, AccountId leaf) {
  must(job.leaf == kUnassigned && tree_.exists(leaf), "who is of no account gets one");
  gangs_.assigned(job);
  count_waiting(job, -1);
  gangs_.leave_workload(job);
  job.leaf = leaf;
  gangs_.join_workload(job);
  count_waiting(job, 1);
}

void Jobs::count_waiting(const Job& job, std::ptrdiff_t sign) {
  if (!job.waits()) return;
  waiting_.jobs(tree_, job.leaf, sign);
  if (job.awaits_resume()) waiting_.not_accepted(tree_, job.leaf, sign);
  waiting_.pods(tree_, job.id.cluster(), job.leaf,
                sign * static_cast<std::ptrdiff_t>(job.pods_live()));
}

void Jobs::set_backoff(Job& job, std::unique_ptr<Backoff> backoff) {
  must(backoff == nullptr || !backoff->words.empty(), "a refusal has its words");
  if (backoff != nullptr || job.of_extras != nullptr)
    job.make_extras().backoff = std::move(backoff);
  sets_.change_waits(job);
}

void Jobs::await_resume(Job& job, bool awaits) {
  must(job.from_pods() && (!awaits || job.state == JobState::kIncomplete),
       "who awaits that its account is resumed is not queued");
  if (awaits != job.awaits_resume() && job.waits())
    waiting_.not_accepted(tree_, job.leaf, awaits ? 1 : -1);
  job.pod_origin->awaits_resume = awaits;
  sets_.change_waits(job);
}

void Jobs::set_state(Job& job, JobState to) {
  const JobState before = job.state;
  must(may_change(before, to), "jobs change as the table says");
  const bool was_queued = before == JobState::kQueued, queued = to == JobState::kQueued;
  if (was_queued && !queued) ready_.remove(job.id);
  if (!was_queued && queued) ready_.add(ready_job(job), tree_);
  const bool waits_on = job.waits() && is_waiting(to);
  if (!waits_on) count_waiting(job, -1);
  gangs_.leave_workload(job);
  job.state = to;
  gangs_.join_workload(job);
  if (!waits_on) count_waiting(job, 1);
  sets_.change_state(job, before);
  set_deadline(job, job.active() ? job.until_ms : 0);
  must(!(was_queued || queued) || ready_.contains(job.id) == queued,
       "queued jobs are in the queue");
}

void Jobs::set_deadline(Job& job, TimeMs until_ms) {
  times_.set_deadline(job, until_ms);
  sets_.change_waits(job);
}

void Jobs::put_off(ClusterId cluster, DurationMs by) {
  must(by >= 0, "a hold is not made shorter");
  const JobTimes::Order before = times_.deadlines();
  for (const auto& [until, id] : before) {
    if (id.cluster() == cluster) set_deadline(writable(id), until + by);
  }
}

void Jobs::end_run(Job& job) {
  if (job.is_over()) record_.left(job, fleet_.shared_request(job.shape));
  set_end(job, 0, 0);
  sets_.end_run(job);
  job.of_run.reset();
}

void Jobs::overran(Job& job, std::uint32_t times) {
  const bool before = job.is_over();
  must(times > job.overruns, "overruns are counted");
  job.overruns = static_cast<std::uint8_t>(times);
  if (!before && job.is_over()) record_.over(job, fleet_.shared_request(job.shape));
}

void Jobs::end(Job& job, TimeMs now) {
  must(job.state == JobState::kDone && job.pods_holding() == 0, "an ended job holds nothing");
  job.make_run().ended_ms = now;
  gangs_.end(job);
  pods_.erase(job);
  const bool over = job.is_over();
  // Reads show the request while the job is remembered; no search uses it any more.
  job.asked = job.shape ? fleet_.shared_request(job.shape)
                        : std::make_shared<const GangRequest>(gathered_request(fleet_, job));
  job.shape = ShapeUse();
  for (Pod& pod : job.pods) pod.shape = ShapeUse();
  job.pod_origin.reset();
  if (job.of_extras != nullptr) {
    job.of_extras->backoff.reset();
    job.of_extras->unready.reset();
  }
  sets_.change_pods(job);
  sets_.change_waits(job);
  table_.end(job);
  record_.ended(job);
  if (over) record_.left(job, job.asked);
  while (const Job* const oldest = table_.to_forget()) {
    record_.forgotten(*oldest);
    sets_.forget(*oldest);
    table_.forget_oldest();
  }
}

void Jobs::end_pod(Job& job, std::uint32_t rank) {
  Pod& pod = job.pods.at(rank);
  must(pod.slot == PodSlot(), "a pod that is gone holds nothing");
  must(pod.state != PodState::kGone, "a pod goes once");
  if (job.waits() && pod.is_live()) waiting_.pods(tree_, job.id.cluster(), job.leaf, -1);
  pod.state = PodState::kGone;
  pods_.erase(job.id.cluster(), pod.uid);
  if (rank >= job.ranks()) {
    pod = Pod{};  // no pod waits there any more
    job.drop_empty_ranks();
  }
  sets_.change_pods(job);
}

Job& Jobs::restore(const fact::JobSnapshot& f, ShapeUse shape) {
  must(f.job.leaf == kUnassigned || tree_.exists(f.job.leaf),
       "a job has an existing account, or none");
  Job& job = table_.add(f.job.id);
  job.leaf = f.job.leaf;
  job.shape = std::move(shape);
  job.origin = f.job.origin;
  job.name = f.job.name;
  job.gang_size = f.job.gang_size;
  job.priority = f.job.priority;
  job.has_class = f.job.has_class;
  job.time_limit_ms = f.job.time_limit_ms;
  if (f.job.grace_ms != 0) job.make_extras().grace_ms = f.job.grace_ms;
  job.gang = f.job.gang;
  job.submit_ms = f.submit_ms;
  job.attempt = f.attempt;
  job.cause = f.cause;
  job.stop = f.stop;
  job.refusals = static_cast<std::uint16_t>(f.refusals);
  job.overruns = static_cast<std::uint8_t>(f.overruns);
  if (!f.refusal.words.empty()) {
    job.make_extras().backoff =
        std::make_unique<Backoff>(Backoff{f.refusal.words, f.refusal.backoffs, f.refusal.until_ms});
  }
  if (const auto& last = f.refusal; !last.unready_words.empty()) {
    job.make_extras().unready = std::make_unique<ReadyTimeout>(
        ReadyTimeout{last.unready_words, last.unready_times, last.unready_until_ms});
  }
  if (const auto& last = f.preempted; last.times > 0) {
    must(!last.leaf || tree_.exists(last.leaf), "a job was preempted for an existing account");
    job.make_extras().preempted =
        std::make_unique<Preempted>(Preempted{last.times, last.at_ms, last.claimant, last.leaf,
                                              last.started_ms, last.milligpu, last.right});
  }
  if (const auto& last = f.refusal; !last.rejected_by.empty()) {
    job.make_extras().rejected =
        std::make_unique<NodeRejection>(NodeRejection{last.rejected_by, last.rejection});
  }
  if (!is_waiting(f.job.state)) {
    Run& run = job.make_run();
    run.started_ms = f.run.started_ms;
    run.ended_ms = f.run.ended_ms;
    run.end_refused_ms = f.run.end_refused_ms;
    run.finishing_ms = f.run.finishing_ms;
    for (const auto& on : f.run.finished_on) run.finished_on.push_back(on.node);
  }
  const bool live_of_pods = job.from_pods() && f.job.state != JobState::kDone;
  if (live_of_pods || !job.shape) {
    GangRequest asked = f.job.request;
    if (live_of_pods && job.shape) asked.groups.clear();
    job.asked = std::make_shared<const GangRequest>(std::move(asked));
  }
  if (live_of_pods) job.pod_origin = origin_of(f.job);
  job.pods.resize(f.pods.size());
  return job;
}

void Jobs::restore_pod(Job& job, std::uint32_t rank, const fact::JobSnapshot::Pod& kept,
                       ShapeUse shape) {
  Pod& pod = job.pods.at(rank);
  pod.uid = kept.uid;
  pod.name = kept.name;
  pod.controlled = kept.controlled;
  pod.dispute = kept.dispute;
  pod.gate = kept.gate;
  pod.order = kept.order;
  pod.grace_ms = kept.grace_ms;
  pod.refused = kept.refused;
  pod.state = kept.state;
  pod.since_ms = kept.since_ms;
  pod.shape = std::move(shape);
  pod.shape_rank = job.shape && rank < job.ranks() ? rank : 0;
  // A pod of an ended job has no shape and no uid in the index: another job may have the uid by
  // now.
  if (pod.shape && !pod.uid.empty() && pod.state != PodState::kGone) {
    pods_.put(pod.uid, {job.id, rank});
  }
}

void Jobs::restored(Job& job, const fact::JobSnapshot& f) {
  must(f.pods.size() == job.pods.size(), "a checkpoint has each pod once");
  job.state = f.job.state;
  count_waiting(job, 1);
  if (job.state == JobState::kQueued) ready_.add(ready_job(job), tree_);
  if (job.is_over()) record_.over(job, fleet_.shared_request(job.shape));
  times_.set_deadline(job, f.until_ms);
  sets_.add(job);
  if (job.state == JobState::kDone) {
    table_.end(job);
    record_.ended(job);
  } else {
    gangs_.add(job);
    gangs_.join_workload(job);
  }
}

void Jobs::begin_copy() {
  table_.begin_copy(
      [this](const Job& job, const LiveCopy::Sink& sink) { snapshot_job(fleet_, job, sink); });
}

namespace {

// Asserts what holds of the job alone, and of the queue.
void check_job(const Job& job, const ReadyQueue& ready) {
  must(ready.contains(job.id) == (job.state == JobState::kQueued), "queued jobs are in the queue");
  const bool empty = job.waits() || job.state == JobState::kDone;
  must(!empty || job.pods_holding() == 0, "a job that waits or has ended holds nothing");
  must(job.stop == Cause::kNone || job.state == JobState::kEnding, "who is to end is ending");
  const Run& run = job.run();
  must(job.of_run == nullptr || !job.waits(), "who waits has no run");
  must(run.end_refused_ms == 0 || job.state == JobState::kEnding, "who may not end is to end");
  const bool whole = job.origin != JobOrigin::kPods || job.is_whole();
  must(job.state != JobState::kQueued || whole, "who is queued could start");
  const bool held_back = job.state == JobState::kIncomplete || job.state == JobState::kEnding;
  must(!job.awaits_resume() || held_back, "who awaits is not queued");
  must(!empty || run.end_ms == 0, "who holds nothing has no end");
}

}  // namespace

void Jobs::check() const {
  table_.check();
  pods_.check(table_);
  gangs_.check(table_);
  sets_.check(table_);
  times_.check(table_);
  ready_.check_invariants();
  WaitingCount waiting;
  LimitRecord record;
  for (const auto& [id, job] : table_.all()) {  // any order: sums, and each is judged by itself
    check_job(job, ready_);
    if (job.is_over()) record.over(job, fleet_.shared_request(job.shape));
    if (!job.waits()) continue;
    waiting.jobs(tree_, job.leaf, 1);
    if (job.awaits_resume()) waiting.not_accepted(tree_, job.leaf, 1);
    waiting.pods(tree_, id.cluster(), job.leaf, static_cast<std::ptrdiff_t>(job.pods_live()));
  }
  for (const JobId id : table_.done()) record.ended(table_.at(id));
  must(waiting == waiting_, "what waits is counted by account");
  must(record_.agrees_with(record), "whose limits were overrun follows from the jobs");
}

}  // namespace subak::state
