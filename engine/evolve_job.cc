// evolve() for jobs and their pods: what is taken, bound and given back.
#include <algorithm>
#include <cassert>

#include "core/limits.h"
#include "core/stored_size.h"
#include "engine/impl.h"

namespace subak {
namespace {

bool in_tree(AccountId leaf) { return leaf != kUnassigned; }

}  // namespace

ReadyJob Engine::Impl::ready_job(const Job& job) const {
  return {job.id,
          job.leaf,
          job.shape,
          job.priority,
          job.submit_ms,
          least_milligpu(job),
          only_product(fleet.request(job.shape))};
}

// The one product that every GPU pod of the gang can use; none if several would do.
ProductId Engine::Impl::only_product(const GangRequest& request) const {
  const std::string* only = nullptr;
  for (const PodGroup& group : request.groups) {
    if (group.shape.kind == GpuKind::kNone) continue;
    if (group.shape.products.size() != 1) return ProductId();
    const std::string& product = group.shape.products.front();
    if (only != nullptr && *only != product) return ProductId();
    only = &product;
  }
  return only == nullptr ? ProductId() : fleet.find_product(*only);
}

// The one place where a job's state changes, with everything that is indexed by it.
void Engine::Impl::set_state(Job& job, JobState to) {
  assert(job.state == to || may_change(job.state, to));
  if (job.state == JobState::kQueued && to != JobState::kQueued) ready.remove(job.id);
  if (job.state != JobState::kQueued && to == JobState::kQueued) ready.add(ready_job(job), tree);
  --counts[static_cast<std::size_t>(job.state)];
  ++counts[static_cast<std::size_t>(to)];
  job.state = to;
  if (to != JobState::kReserved && job.until_ms != 0) {
    deadlines.erase({job.until_ms, job.id});
    job.until_ms = 0;
  }
  if (to == JobState::kDone) job.cancelling = false;
  if (to == JobState::kReserved || job.cancelling) {
    active.insert(job.id);
  } else {
    active.erase(job.id);
  }
  Cluster& cluster = clusters.at(job.id.cluster());
  if (to != JobState::kQueued && cluster.awaited == job.id) cluster.awaited = JobId();
  dirty = true;
}

void Engine::Impl::on(const fact::JobCreated& f) {
  Job& job = jobs[f.id];
  ids.add(f.id);
  job.id = f.id;
  job.leaf = f.leaf;
  job.origin = f.origin;
  job.name = f.name;
  job.priority = f.priority;
  job.gang_size = f.gang_size;
  job.time_limit_ms = f.time_limit_ms;
  job.submit_ms = now;
  ++counts[static_cast<std::size_t>(job.state)];
  Cluster& cluster = clusters.at(f.id.cluster());
  cluster.next_job = std::max(cluster.next_job, f.id.sequence() + 1);
  if (job.from_pods()) {
    gangs[{f.id.cluster(), f.name}] = f.id;
    job.wishes = std::make_unique<GangRequest>(f.request);
  } else {
    job.shape = fleet.intern(f.id.cluster(), f.request);
  }
  if (job.origin == JobOrigin::kForeign || job.origin == JobOrigin::kAdopted) job.started_ms = now;
  if (f.state != JobState::kIncomplete) set_state(job, f.state);
  remember(f.edit, {now, f.id, AccountId(), 0});
}

void Engine::Impl::on(const fact::PodAdded& f) {
  Job& job = *find_job(f.job);
  if (job.pods.size() <= f.rank) job.pods.resize(f.rank + 1);
  Pod& pod = job.pods[f.rank];
  pod = Pod{};
  pod.uid = f.uid;
  pod.name = f.name;
  pod.controlled = f.controlled;
  pod.shape = intern_alone(f.job.cluster(), f.shape);
  uids[f.uid] = {f.job, f.rank};
  if (!f.bound) return;
  take(job, f.rank, f.slot);
  bind_in_tree(job, pod);
  pod.state = PodState::kBound;
}

// All pods are there: the gang becomes one request, and each pod a rank of it.
void Engine::Impl::complete_gang(Job& job) {
  const GangRequest request = request_of(job);
  job.shape = fleet.intern(job.id.cluster(), request);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    job.pods[rank].shape = job.shape;
    job.pods[rank].shape_rank = rank;
  }
}

void Engine::Impl::on(const fact::JobMoved& f) {
  Job& job = *find_job(f.id);
  job.cancelling = job.cancelling || f.cancelling;
  if (f.adopted) job.origin = JobOrigin::kAdopted;
  if (f.outcome != Outcome::kNone) job.outcome = f.outcome;
  if (job.state == JobState::kIncomplete && f.to == JobState::kQueued) complete_gang(job);
  set_state(job, f.to);
  remember(f.edit, {now, f.id, AccountId(), 0});
  if (f.to != JobState::kDone) return;
  assert(job.pods_holding() == 0);
  job.ended_ms = now;
  const auto gang = gangs.find({f.id.cluster(), job.name});
  if (gang != gangs.end() && gang->second == f.id) gangs.erase(gang);
  for (const Pod& pod : job.pods) {
    const auto known = uids.find(pod.uid);  // a pod that got past its gate goes on in another job
    if (known != uids.end() && known->second.first == f.id) uids.erase(known);
  }
  job.wishes.reset();
  done.push_back(f.id);
  forget_done();
}

void Engine::Impl::forget_done() {
  while (done.size() > limits::kDoneJobsKept) {
    jobs.erase(done.front());
    done.pop_front();
    --counts[static_cast<std::size_t>(JobState::kDone)];
  }
  ids.trim(jobs.size(), [this](JobId id) { return find_job(id) != nullptr; });
}

// A hold begins for one rank.
void Engine::Impl::take(Job& job, std::uint32_t rank, const PodSlot& slot) {
  Pod& pod = job.pods[rank];
  pod.slot = slot;
  pod.since_ms = now;
  pod.state = PodState::kHeld;
  fleet.take(pod.shape, pod.shape_rank, slot, job.id, now);
  on_node[slot.node].insert({job.id, rank});
  if (in_tree(job.leaf) && slot.milligpu > 0) {
    tree.hold(job.leaf, fleet.product_of(slot.node), slot.milligpu, now);
    if (tick) {
      tick->advance(tree, now);
      tick->job_start(job.leaf, slot.milligpu, now);
    }
  }
}

// The hold of one pod becomes a meter of its account.
void Engine::Impl::bind_in_tree(const Job& job, const Pod& pod) {
  if (!in_tree(job.leaf) || pod.slot.milligpu == 0) return;
  tree.bind(job.leaf, fleet.product_of(pod.slot.node), pod.slot.milligpu, now);
}

// What a node's pods take is counted under the node's product: under its new name, when it gets
// one.
void Engine::Impl::relabel(NodeId node, ProductId before) {
  const auto pods = on_node.find(node);
  const ProductId after = fleet.product_of(node);
  if (pods == on_node.end() || before == after) return;
  for (const auto& [id, rank] : pods->second) {
    const Job& job = *find_job(id);
    const Pod& pod = job.pods[rank];
    if (!in_tree(job.leaf) || pod.slot.milligpu == 0) continue;
    tree.release(job.leaf, before, pod.slot.milligpu, pod.is_bound(), now);
    tree.hold(job.leaf, after, pod.slot.milligpu, now);
    if (pod.is_bound()) bind_in_tree(job, pod);
  }
}

// The shape of a pod that is no rank of a gang's request.
ShapeId Engine::Impl::intern_alone(ClusterId cluster, const PodShape& shape) {
  GangRequest alone;
  alone.groups.push_back({1, shape});
  return fleet.intern(cluster, alone);
}

const PodShape& Engine::Impl::alone(ShapeId shape) const {
  return fleet.request(shape).groups.front().shape;
}

std::size_t Engine::Impl::alone_bytes(ShapeId shape) const {
  if (bytes_of_shape.size() <= shape.value) bytes_of_shape.resize(fleet.shapes() + 1);
  std::uint32_t& bytes = bytes_of_shape[shape.value];
  if (bytes == 0) bytes = static_cast<std::uint32_t>(stored_bytes(alone(shape)));
  return bytes;
}

// A hold or meter ended at `at` (<= now; an end that is reported late is taken back to its time).
void Engine::Impl::give(Job& job, std::uint32_t rank, TimeMs at) {
  Pod& pod = job.pods[rank];
  const NodeId node = pod.slot.node;
  fleet.give(pod.shape, pod.shape_rank, pod.slot, job.id, at);
  on_node[node].erase({job.id, rank});
  if (on_node[node].empty()) on_node.erase(node);
  if (in_tree(job.leaf) && pod.slot.milligpu > 0) {
    tree.release(job.leaf, fleet.product_of(node), pod.slot.milligpu, pod.is_bound(), at);
    if (tick) {
      tick->advance(tree, now);
      tick->job_end(job.leaf, pod.slot.milligpu, job.started_ms, at);
    }
  }
  pod.slot = PodSlot();
  dirty = true;
}

void Engine::Impl::on(const fact::JobReserved& f) {
  Job& job = *find_job(f.id);
  if (job.state != JobState::kReserved) {
    set_state(job, JobState::kReserved);
    job.attempt = f.attempt;
    job.started_ms = now;
    if (job.pods.empty()) {
      job.pods.resize(f.slots.size());
      for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
        job.pods[rank].shape = job.shape;
        job.pods[rank].shape_rank = rank;
      }
    }
    for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) take(job, rank, f.slots[rank]);
  }
  if (job.until_ms != 0) deadlines.erase({job.until_ms, f.id});
  job.until_ms = f.until_ms;
  if (job.until_ms != 0) deadlines.insert({job.until_ms, f.id});
}

// Reserved becomes running when no pod is left to bind.
void Engine::Impl::run_if_bound(Job& job) {
  const bool all = std::none_of(job.pods.begin(), job.pods.end(), [](const Pod& p) {
    return p.state == PodState::kWaiting || p.state == PodState::kHeld;
  });
  if (all && job.state == JobState::kReserved && job.pods_holding() > 0) {
    set_state(job, JobState::kRunning);
  }
}

void Engine::Impl::on(const fact::PodBound& f) {
  Job& job = *find_job(f.job);
  Pod& pod = job.pods[f.rank];
  if (!(pod.slot == f.slot)) {  // somebody bound it elsewhere
    const TimeMs since = pod.since_ms;
    give(job, f.rank, now);
    take(job, f.rank, f.slot);
    pod.since_ms = since;
  }
  bind_in_tree(job, pod);
  pod.state = PodState::kBound;
  run_if_bound(job);
}

void Engine::Impl::on(const fact::PodRunning& f) {
  find_job(f.job)->pods[f.rank].state = PodState::kRunning;
}

void Engine::Impl::on(const fact::PodGone& f) {
  Job& job = *find_job(f.job);
  Pod& pod = job.pods[f.rank];
  if (pod.holds_slot()) {
    give(job, f.rank, f.at_ms);
    const bool ill = f.outcome != Outcome::kNone && f.outcome != Outcome::kSucceeded;
    if (ill && job.outcome == Outcome::kNone) job.outcome = f.outcome;
  }
  pod.state = PodState::kGone;
  uids.erase(pod.uid);
  run_if_bound(job);
  dirty = true;
}

void Engine::Impl::on(const fact::HoldReleased& f) {
  Job& job = *find_job(f.id);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].state != PodState::kHeld) continue;
    give(job, rank, now);
    job.pods[rank].state = PodState::kWaiting;
  }
  if (job.until_ms != 0) deadlines.erase({job.until_ms, job.id});
  job.until_ms = 0;
  if (job.all_pods(PodState::kWaiting)) {
    job.started_ms = 0;
    set_state(job, JobState::kQueued);
  }
}

}  // namespace subak
