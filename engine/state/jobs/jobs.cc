#include "engine/state/jobs/jobs.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "core/limits.h"
#include "core/must.h"

namespace subak::state {

bool Job::is_whole() const {
  if (gang_size == 0 || pods.size() < gang_size) return false;
  return std::all_of(pods.begin(), pods.begin() + gang_size,
                     [](const Pod& p) { return p.is_ready(); });
}

std::size_t Job::pods_live() const {
  return static_cast<std::size_t>(std::count_if(
      pods.begin(), pods.end(), [](const Pod& p) { return p.is_live() && !p.is_expected(); }));
}

void Job::drop_empty_ranks() {
  while (pods.size() > gang_size && !pods.back().is_live()) pods.pop_back();
}

const Pod* Job::disputing() const {
  const auto end = pods.begin() + static_cast<std::ptrdiff_t>(ranks());
  const auto it = std::find_if(pods.begin(), end, [](const Pod& p) {
    return p.state == PodState::kWaiting && !p.dispute.empty();
  });
  return it == end ? nullptr : &*it;
}

std::size_t Job::pods_holding() const {
  return static_cast<std::size_t>(
      std::count_if(pods.begin(), pods.end(), [](const Pod& p) { return p.holds_slot(); }));
}

const Job* Jobs::find(JobId id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

const Job& Jobs::at(JobId id) const {
  const Job* const job = find(id);
  must(job != nullptr, "the job is there");
  return *job;
}

std::vector<JobId> Jobs::ids() const {
  std::vector<JobId> out;
  out.reserve(by_id_.size());
  std::copy_if(ids_.ascending().begin(), ids_.ascending().end(), std::back_inserter(out),
               [&](JobId id) { return find(id) != nullptr; });
  return out;
}

std::optional<PodPlace> Jobs::of_uid(ClusterId cluster, const std::string& uid) const {
  const auto of_cluster = uids_.find(cluster);
  if (of_cluster == uids_.end()) return std::nullopt;
  const auto it = of_cluster->second.find(uid);
  if (it == of_cluster->second.end()) return std::nullopt;
  return it->second;
}

std::optional<PodPlace> Jobs::find(ClusterId cluster, const PodRef& ref) const {
  if (!ref.uid.empty()) return of_uid(cluster, ref.uid);
  const Job* const job = find(ref.job);
  if (job == nullptr || ref.job.cluster() != cluster) return std::nullopt;
  if (ref.rank >= job->pods.size()) return std::nullopt;
  if (ref.attempt != 0 && ref.attempt != job->attempt) return std::nullopt;
  if (job->pods[ref.rank].is_expected()) return std::nullopt;
  return PodPlace{ref.job, ref.rank};
}

const PodShape& Jobs::shape_of(const Pod& pod) const {
  const GangRequest& request = fleet_.request(pod.shape);
  std::uint32_t rank = pod.shape_rank;
  for (const PodGroup& group : request.groups) {
    if (rank < group.count) return group.shape;
    rank -= group.count;
  }
  must(false, "a pod's rank is one of its gang's");
  return request.groups.back().shape;
}

GangRequest Jobs::request_of(const Job& job) const {
  if (job.shape) return fleet_.request(job.shape);
  return job.state == JobState::kDone && job.asked ? *job.asked : gathered_request(job);
}

namespace {

// Appends to the groups. Neighbours with the same request count once.
void append(std::vector<PodGroup>& groups, std::uint32_t count, const PodShape& shape) {
  if (count == 0) return;
  if (!groups.empty() && groups.back().shape == shape) {
    groups.back().count += count;
  } else {
    groups.push_back({count, shape});
  }
}

}  // namespace

GangRequest Jobs::request_with(const Job& job, std::uint32_t rank, const PodShape& shape) const {
  GangRequest request = request_of(job);
  std::vector<PodGroup> groups;
  std::uint32_t first = 0;
  for (const PodGroup& g : request.groups) {
    const bool mine = rank >= first && rank - first < g.count;
    append(groups, mine ? rank - first : g.count, g.shape);
    if (mine) append(groups, 1, shape);
    if (mine) append(groups, first + g.count - rank - 1, g.shape);
    first += g.count;
  }
  must(rank < first, "a pod's rank is one of its gang's");
  request.groups = std::move(groups);
  return request;
}

// The request from the present pods.
GangRequest Jobs::gathered_request(const Job& job) const {
  GangRequest request = job.asked ? *job.asked : GangRequest();
  request.groups.clear();
  for (const Pod& pod : std::span(job.pods).first(job.ranks())) {
    if (pod.shape) append(request.groups, 1, shape_of(pod));
  }
  return request;
}

MilliGpu Jobs::least_milligpu(const Job& job) const {
  if (job.shape) return fleet_.least_milligpu(job.shape);
  const bool ended = job.state == JobState::kDone && job.asked != nullptr;
  if (!job.is_ours() || !ended || job.asked->pods() != job.gang_size) return 0;
  return fleet_.costs().of_request(job.id.cluster(), *job.asked);
}

ProductId Jobs::only_product(const GangRequest& request) const {
  const std::string* only = nullptr;
  for (const PodGroup& group : request.groups) {
    if (group.shape.kind == GpuKind::kNone) continue;
    if (group.shape.products.size() != 1) return ProductId();
    const std::string& product = group.shape.products.front();
    if (only != nullptr && *only != product) return ProductId();
    only = &product;
  }
  return only == nullptr ? ProductId() : fleet_.products().find(*only);
}

Jobs::Jobs(const Fleet& fleet, const AccountTree& tree)
    : fleet_(fleet), tree_(tree), ready_([this](ShapeId shape) {
        return ShapeCost{fleet_.least_milligpu(shape), only_product(fleet_.request(shape))};
      }) {}

ReadyJob Jobs::ready_job(const Job& job) {
  return {job.id, job.leaf, job.shape, job.priority, job.submit_ms};
}

std::unique_ptr<PodOrigin> Jobs::said_by_pods(const fact::JobCreated& f) {
  return std::make_unique<PodOrigin>(
      PodOrigin{f.owner, f.account, f.user, f.awaits_resume, f.replaced_alone});
}

Job& Jobs::create(const fact::JobCreated& f, ShapeUse shape, TimeMs now) {
  const auto [it, added] = by_id_.try_emplace(f.id);
  must(added && static_cast<bool>(f.id), "a new job has a new number");
  must(f.leaf == kUnassigned || tree_.exists(f.leaf), "a job has an existing account, or none");
  must(static_cast<bool>(shape) == (f.origin == JobOrigin::kApi), "an API job says all at once");
  ids_.add(f.id);
  Job& job = it->second;
  job.id = f.id;
  job.leaf = f.leaf;
  job.shape = std::move(shape);
  job.origin = f.origin;
  job.name = f.name;
  job.priority = f.priority;
  job.gang_size = f.gang_size;
  job.time_limit_ms = f.time_limit_ms;
  must(f.submit_ms <= now, "who waits was submitted");
  job.submit_ms = f.submit_ms == 0 ? now : f.submit_ms;
  ++count_of(job.state);
  count_waiting(job, 1);
  parked_.insert(f.id);  // incomplete, to begin with
  job.gang = f.gang;
  if (job.from_pods()) {
    job.pod_origin = said_by_pods(f);
    job.asked = std::make_shared<const GangRequest>(f.request);
  }
  if (job.gang) gangs_[key_of(job)] = f.id;
  note_apart(job);
  note_unassigned(job);
  if (job.awaits_resume()) awaiting_resume_.insert(job.id);
  if (job.origin == JobOrigin::kForeign || job.origin == JobOrigin::kAdopted) {
    job.make_run().started_ms = now;
  }
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
  pod.dispute = f.dispute;
  pod.gate = f.gate;
  pod.shape = std::move(shape);
  uids_[job.id.cluster()][f.uid] = {f.job, f.rank};
  if (job.waits()) waiting_.pods(tree_, job.id.cluster(), job.leaf, 1);
  if (job.origin == JobOrigin::kPods && !job.gang && !job.is_apart())
    job.name = f.name;  // it may have changed
  note_crowd(job);
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
  pod.gate = f.gate;
  uids_[job.id.cluster()][f.uid] = {f.job, f.rank};
  must(f.until_ms >= job.until_ms, "a hold is not made shorter");
  set_deadline(job, f.until_ms);
}

void Jobs::expect_pod(Job& job, std::uint32_t rank, ShapeUse shape) {
  must(rank < job.gang_size && static_cast<bool>(shape), "who is expected has a rank and a shape");
  if (job.pods.size() <= rank) job.pods.resize(rank + 1);
  unsettle(job.pods);
  Pod& pod = job.pods[rank];
  must(!pod.is_live(), "no pod is expected at the rank of a live pod");
  pod = Pod{};
  pod.gate = PodGate::kClosed;
  pod.shape = std::move(shape);
}

void Jobs::change_pod(const fact::PodChanged& f, ShapeUse shape) {
  Pod& pod = writable(f.job).pods.at(f.rank);
  must(pod.shape && pod.shape_rank == 0, "who changes was seen");
  pod.shape = std::move(shape);
  pod.dispute = f.dispute;
}

void Jobs::change_request(Job& job, ShapeUse shape) {
  must(job.waits() && job.shape, "a request changes while its job waits");
  const bool queued = job.state == JobState::kQueued;
  if (queued) ready_.remove(job.id);
  complete_gang(job, std::move(shape));
  if (queued) ready_.add(ready_job(job), tree_);
}

void Jobs::complete_gang(Job& job, ShapeUse shape) {
  must(static_cast<bool>(shape), "a complete gang has a shape");
  must(fleet_.request(shape).pods() == job.gang_size, "a shape has a rank for each pod");
  job.shape = std::move(shape);
  for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
    job.pods[rank].shape = job.shape.share();
    job.pods[rank].shape_rank = rank;
  }
}

void Jobs::open_gang(Job& job, const std::function<ShapeUse(const PodShape&)>& alone) {
  must(job.from_pods() && job.pods_holding() == 0, "who holds a place keeps its request");
  for (std::uint32_t rank = 0; rank < job.gang_size; ++rank) {
    Pod& pod = job.pods[rank];
    const PodShape shape = shape_of(pod);
    pod.shape = alone(shape);
    pod.shape_rank = 0;
  }
  job.shape = ShapeUse();
}

void Jobs::note_unassigned(const Job& job) {
  if (job.from_pods() && job.leaf == kUnassigned) unassigned_[job.ns()].insert(job.id);
}

void Jobs::forget_unassigned(const Job& job) {
  if (unassigned_.empty()) return;
  const auto of_ns = unassigned_.find(job.ns());
  if (of_ns == unassigned_.end()) return;
  of_ns->second.erase(job.id);
  if (of_ns->second.empty()) unassigned_.erase(of_ns);
}

std::vector<JobId> Jobs::unassigned(ClusterId cluster, const std::string& ns) const {
  std::vector<JobId> out;
  const auto of_ns = unassigned_.find(ns);
  if (of_ns == unassigned_.end()) return out;
  std::copy_if(of_ns->second.begin(), of_ns->second.end(), std::back_inserter(out),
               [&](JobId id) { return id.cluster() == cluster; });
  return out;
}

void Jobs::assign(Job& job, AccountId leaf) {
  must(job.leaf == kUnassigned && tree_.exists(leaf), "who is of no account gets one");
  forget_unassigned(job);
  count_waiting(job, -1);
  job.leaf = leaf;
  count_waiting(job, 1);
}

// Counts a waiting job and its pods.
void Jobs::count_waiting(const Job& job, std::ptrdiff_t sign) {
  if (!job.waits()) return;
  waiting_.jobs(tree_, job.leaf, sign);
  waiting_.pods(tree_, job.id.cluster(), job.leaf,
                sign * static_cast<std::ptrdiff_t>(job.pods_live()));
}

void Jobs::set_state(Job& job, JobState to) {
  must(may_change(job.state, to), "jobs change as the table says");
  if (job.state == JobState::kQueued && to != JobState::kQueued) ready_.remove(job.id);
  if (job.state != JobState::kQueued && to == JobState::kQueued) ready_.add(ready_job(job), tree_);
  const bool queue_changes = job.state == JobState::kQueued || to == JobState::kQueued;
  must(count_of(job.state) > 0, "jobs are counted by state");
  --count_of(job.state);
  ++count_of(to);
  const bool waits_on = job.waits() && is_waiting(to);
  if (!waits_on) count_waiting(job, -1);
  job.state = to;
  if (!waits_on) count_waiting(job, 1);
  set_deadline(job, job.active() ? job.until_ms : 0);
  index_state(job);
  must(!queue_changes || ready_.contains(job.id) == (to == JobState::kQueued),
       "queued jobs are in the queue");
}

void Jobs::index_state(const Job& job) {
  const auto put = [&](BlockSet<JobId>& index, bool in) {
    if (in) {
      index.insert(job.id);
    } else {
      index.erase(job.id);
    }
  };
  put(active_, job.active());
  put(waiting_again_, job.waits_again());
  if (job.waits() && job.state != JobState::kQueued) {
    parked_.insert(job.id);
  } else {
    parked_.erase(job.id);
  }
}

void Jobs::put_off(ClusterId cluster, DurationMs by) {
  must(by >= 0, "a hold is not made shorter");
  const Deadlines before = deadlines_;
  for (const auto& [until, id] : before) {
    if (id.cluster() == cluster) set_deadline(writable(id), until + by);
  }
}

void Jobs::set_deadline(Job& job, TimeMs until_ms) {
  must(until_ms == 0 || job.active() || job.waits(), "who runs or is done has no deadline");
  if (job.until_ms != 0) {
    must(deadlines_.erase({job.until_ms, job.id}) == 1, "deadlines are indexed");
  }
  job.until_ms = until_ms;
  if (until_ms != 0) deadlines_.insert({until_ms, job.id});
  if (awaits_pod(job)) {
    awaiting_pods_.insert(job.id);
  } else {
    awaiting_pods_.erase(job.id);
  }
}

const Jobs::Deadlines& Jobs::dues(ClusterId cluster) const {
  static const Deadlines none;
  const auto it = dues_.find(cluster);
  return it == dues_.end() ? none : it->second;
}

void Jobs::set_end(Job& job, TimeMs end_ms, TimeMs due_ms) {
  must(due_ms <= end_ms, "an end is looked at before it is past");
  if (end_ms == 0 && job.of_run == nullptr) return;
  Run& run = job.make_run();
  run.end_ms = end_ms;
  if (run.due_ms == due_ms) return;
  Deadlines& dues = dues_[job.id.cluster()];
  if (run.due_ms != 0) must(dues.erase({run.due_ms, job.id}) == 1, "ends are indexed");
  run.due_ms = due_ms;
  if (due_ms != 0) dues.insert({due_ms, job.id});
}

bool Jobs::is_over(const Job& job) {
  return job.overruns > 0 && job.run().started_ms != 0 && job.shape;
}

void Jobs::overran(Job& job, std::uint32_t times) {
  const bool before = is_over(job);
  job.overruns = static_cast<std::uint8_t>(times);
  if (!before && is_over(job)) record_.over(job, fleet_.shared_request(job.shape));
}

bool Jobs::overran_lately(const Job& job) const {
  return job.shape && record_.overran_lately(job, fleet_.request(job.shape));
}

void Jobs::end_run(Job& job) {
  if (is_over(job)) record_.left(job, fleet_.shared_request(job.shape));
  set_end(job, 0, 0);
  job.of_run.reset();
}

void Jobs::end(Job& job, TimeMs now) {
  must(job.state == JobState::kDone && job.pods_holding() == 0, "an ended job holds nothing");
  job.make_run().ended_ms = now;
  forget_gang(job);
  note_apart(job);
  note_crowd(job);
  forget_unassigned(job);
  awaiting_resume_.erase(job.id);
  set_backoff(job, nullptr);
  auto& uids = uids_[job.id.cluster()];
  for (const Pod& pod : job.pods) {
    const auto known = uids.find(pod.uid);  // a pod that got past its gate goes on in another job
    if (known != uids.end() && known->second.job == job.id) uids.erase(known);
  }
  const bool over = is_over(job);
  // Reads show the request while the job is remembered; no search uses it any more.
  job.asked = job.shape ? fleet_.shared_request(job.shape)
                        : std::make_shared<const GangRequest>(gathered_request(job));
  job.shape = ShapeUse();
  for (Pod& pod : job.pods) pod.shape = ShapeUse();
  job.pod_origin.reset();
  done_.push_back(job.id);
  record_.ended(job);
  if (over) record_.left(job, job.asked);
  forget_done();
}

void Jobs::end_pod(Job& job, std::uint32_t rank) {
  Pod& pod = job.pods.at(rank);
  must(pod.slot == PodSlot(), "a pod that is gone holds nothing");
  must(pod.state != PodState::kGone, "a pod goes once");
  if (job.waits() && pod.is_live()) waiting_.pods(tree_, job.id.cluster(), job.leaf, -1);
  pod.state = PodState::kGone;
  uids_[job.id.cluster()].erase(pod.uid);
  if (rank < job.ranks()) return;
  pod = Pod{};  // no pod waits there any more
  job.drop_empty_ranks();
  note_crowd(job);
}

void Jobs::forget_done() {
  while (done_.size() > limits::kDoneJobsKept) {
    record_.forgotten(at(done_.front()));
    must(by_id_.erase(done_.front()) == 1, "an ended job is known until it is forgotten");
    done_.pop_front();
    --count_of(JobState::kDone);
  }
  ids_.trim(by_id_.size(), [this](JobId id) { return find(id) != nullptr; });
}

}  // namespace subak::state
