// The state as facts that rebuild it in an empty engine, and its digest.
#include <cassert>
#include <functional>
#include <utility>

#include "core/limits.h"
#include "core/stored_size.h"
#include "engine/impl.h"

namespace subak {
namespace {

fact::MetersKept::Meter kept(const DecayedMeter::State& s) {
  return {s.a, s.shift, s.rate, s.peak_rate, {s.whole_gpu_s, s.whole_rest}, s.since};
}

DecayedMeter::State state_of(const fact::MetersKept::Meter& m) {
  DecayedMeter::State s;
  s.a = m.a;
  s.shift = m.shift;
  s.rate = m.rate;
  s.peak_rate = m.peak_rate;
  s.whole_gpu_s = m.whole.gpu_seconds;
  s.whole_rest = m.whole.rest;
  s.since = m.since_ms;
  return s;
}

// Hands on checkpoint facts, all with number 0 and the engine's time.
struct Sink {
  const std::function<void(const Fact&)>& each;
  TimeMs now;
  void operator()(fact::Body body) { each({0, now, std::move(body)}); }
};

void keep_accounts(const AccountTree& tree, Sink& sink) {
  for (AccountId id = kRootAccount; id < tree.next_id(); ++id.value) {  // parents have lower ids
    const AccountNode& node = tree.node(id);
    if (node.removed) {
      sink(fact::AccountDeleted{id, {}, node.spec, node.parent, node.revision});
    } else if (id != kRootAccount || node.revision != 0) {
      sink(fact::AccountSet{id, node.spec, node.revision, {}});
    }
  }
}

void keep_meters(const AccountTree& tree, Sink& sink) {
  for (AccountId id : tree.preorder()) {
    const AccountNode& node = tree.node(id);
    fact::MetersKept m;
    m.account = id;
    m.usage = kept(node.usage.state());
    m.surplus = kept(node.surplus.state());
    m.adjustment = kept(node.adjustment.state());
    m.usage_total = StoredGpuTime::of(node.usage_total);
    m.usage_as_of_ms = node.usage_as_of;
    sink(m);
  }
}

void keep_ledger(const Ledger& ledger, Sink& sink) {
  bool first = true;
  auto add = [&](fact::LedgerKept kept) {
    if (first) kept.rows = ledger.rows();
    first = false;
    sink(std::move(kept));
  };
  for (const auto& [key, amount] : ledger.sums()) {
    add({key.payer, key.holder, key.state, key.product, NodeId(), StoredGpuTime::of(amount), 0});
  }
  for (const auto& [node, amount] : ledger.node_sums()) {
    add({AccountId(), AccountId(), UsageState::kUsed, "", node, StoredGpuTime::of(amount), 0});
  }
}

}  // namespace

std::vector<Fact> Engine::checkpoint() const {
  std::vector<Fact> out;
  checkpoint([&out](const Fact& fact) { out.push_back(fact); });
  return out;
}

void Engine::checkpoint(const std::function<void(const Fact&)>& each) const {
  const Impl& s = *impl_;
  Sink sink{each, s.fact_ms};
  if (s.fact_version > 1) sink(fact::Finalized{s.fact_version, {}});
  sink(fact::PolicySet{s.policy, {}});
  for (const auto& [id, c] : s.clusters) {
    sink(fact::ClusterSet{id, c.name, c.mode, c.namespaces, {}});
    sink(fact::ClusterSynced{id, c.synced, c.owned});
    sink(fact::CountersKept{id, c.next_job, 0});
  }
  for (const auto& [id, name] : s.removed_clusters) {
    sink(fact::ClusterSet{id, name, Mode::kObserve, {}, {}});
    sink(fact::ClusterRemoved{id, {}});
  }
  sink(fact::CountersKept{ClusterId(), 0, s.last_node.value + 1});
  for (const auto& [key, id] : s.node_ids) {
    sink(s.billed(id, s.fact_ms));
    sink(fact::NodeSet{id, key.first, *s.fleet.node(id), s.fleet.drained(id), {}});
  }
  keep_accounts(s.tree, sink);
  for (JobId id : s.job_ids()) {
    const Job& job = *s.find_job(id);
    if (job.state == JobState::kDone) continue;
    s.keep(job, sink);
  }
  for (JobId id : s.done) s.keep(*s.find_job(id), sink);
  keep_meters(s.tree, sink);  // after the jobs, whose holds would otherwise count twice
  keep_ledger(s.ledger, sink);
  for (std::size_t i = 0; i < s.requests.size(); ++i) {
    const RememberedRequest& r = s.requests.request(i);
    const std::string text = s.requests.text(i);
    const RequestKey key = RequestLog::key_of(text);
    sink(fact::RequestKept{std::string(key.id), r.at_ms, r.job, r.account, r.revision,
                           std::string(key.actor), key.method, r.content});
  }
  for (const auto& [id, c] : s.clusters) {
    if (c.awaited) sink(fact::Awaited{id, c.awaited});
  }
}

fact::JobKept Engine::Impl::kept(const Job& job) const {
  fact::JobKept k;
  k.job.id = job.id;
  k.job.origin = job.origin;
  k.job.state = job.state;
  k.job.leaf = job.leaf;
  k.job.name = job.name;
  k.job.gang_size = job.gang_size;
  k.job.priority = job.priority;
  k.job.time_limit_ms = job.time_limit_ms;
  if (job.shape) {
    k.job.request = fleet.request(job.shape);
  } else if (job.wishes) {
    k.job.request = *job.wishes;
  }
  k.submit_ms = job.submit_ms;
  k.attempt = job.attempt;
  k.until_ms = job.until_ms;
  k.cancelling = job.cancelling;
  k.outcome = job.outcome;
  k.started_ms = job.started_ms;
  k.ended_ms = job.ended_ms;
  return k;
}

fact::JobKept::Pod Engine::Impl::kept(const Job& job, const Pod& pod) const {
  fact::JobKept::Pod p;
  p.uid = pod.uid;
  p.name = pod.name;
  p.state = pod.state;
  p.controlled = pod.controlled;
  p.slot = pod.slot;
  p.since_ms = pod.since_ms;
  if (!job.shape && pod.shape) p.shape = pod_shape(pod);
  return p;
}

// Ten thousand pods with requests of their own are more than a fact may hold: each but the last of
// its facts says that more pods follow, and only the last has all the rest.
void Engine::Impl::keep(const Job& job, const std::function<void(fact::Body)>& sink) const {
  fact::JobKept part;
  part.job.id = job.id;
  part.more = true;
  std::size_t bytes = 0;
  for (const Pod& pod : job.pods) {
    part.pods.push_back(kept(job, pod));
    bytes += stored_bytes(part.pods.back());
    if (bytes < limits::kCheckpointPartBytes) continue;
    sink(part);
    part.pods.clear();
    bytes = 0;
  }
  fact::JobKept last = kept(job);
  last.pods = std::move(part.pods);
  sink(std::move(last));
}

void Engine::Impl::on(const fact::JobKept& f) {
  kept_pods.insert(kept_pods.end(), f.pods.begin(), f.pods.end());
  if (f.more) return;
  Job& job = jobs[f.job.id];
  ids.add(f.job.id);
  job.id = f.job.id;
  job.origin = f.job.origin;
  job.leaf = f.job.leaf;
  job.name = f.job.name;
  job.gang_size = f.job.gang_size;
  job.priority = f.job.priority;
  job.time_limit_ms = f.job.time_limit_ms;
  job.submit_ms = f.submit_ms;
  job.attempt = f.attempt;
  job.outcome = f.outcome;
  job.started_ms = f.started_ms;
  job.ended_ms = f.ended_ms;
  const bool complete = f.job.request.pods() > 0;
  if (complete) job.shape = fleet.intern(f.job.id.cluster(), f.job.request);
  if (!complete && job.from_pods() && f.job.state != JobState::kDone) {
    job.wishes = std::make_unique<GangRequest>(f.job.request);
  }
  const auto pods = std::exchange(kept_pods, {});
  job.pods.resize(pods.size());
  for (std::uint32_t rank = 0; rank < pods.size(); ++rank) restore_pod(job, rank, pods[rank]);
  ++counts[static_cast<std::size_t>(f.job.state)];
  job.state = f.job.state;
  job.cancelling = f.cancelling;
  if (job.state == JobState::kQueued) ready.add(ready_job(job), tree);
  if (job.state == JobState::kReserved || job.cancelling) active.insert(job.id);
  job.until_ms = f.until_ms;
  if (job.until_ms != 0) deadlines.insert({job.until_ms, job.id});
  if (job.state == JobState::kDone) {
    done.push_back(job.id);
  } else if (job.from_pods()) {
    gangs[{job.id.cluster(), job.name}] = job.id;
  }
}

void Engine::Impl::restore_pod(Job& job, std::uint32_t rank, const fact::JobKept::Pod& kept_pod) {
  Pod& pod = job.pods[rank];
  pod.uid = kept_pod.uid;
  pod.name = kept_pod.name;
  pod.controlled = kept_pod.controlled;
  if (job.shape) {
    pod.shape = job.shape;
    pod.shape_rank = rank;
  } else if (!pod.uid.empty()) {  // it has been seen
    pod.shape = intern_alone(job.id.cluster(), kept_pod.shape);
  }
  pod.state = kept_pod.state;
  if (pod.holds_slot()) {
    take(job, rank, kept_pod.slot);
    if (kept_pod.state != PodState::kHeld) bind_in_tree(job, pod);
    pod.state = kept_pod.state;
  }
  pod.since_ms = kept_pod.since_ms;
  if (!pod.uid.empty() && pod.state != PodState::kGone && job.state != JobState::kDone) {
    uids[pod.uid] = {job.id, rank};
  }
}

void Engine::Impl::on(const fact::MetersKept& f) {
  tree.restore_meters(f.account, state_of(f.usage), state_of(f.surplus), state_of(f.adjustment),
                      f.usage_total.get(), f.usage_as_of_ms);
}

void Engine::Impl::on(const fact::LedgerKept& f) {
  if (f.rows != 0) ledger.restore_rows(f.rows);
  if (f.node) {
    ledger.restore_node(f.node, f.amount.get());
  } else {
    ledger.restore_sum({f.payer, f.holder, f.state, f.product}, f.amount.get());
  }
}

void Engine::Impl::on(const fact::RequestKept& f) {
  requests.add({f.actor, f.method, f.request_id},
               {f.at_ms, f.job, f.account, f.revision, f.content});
}

void Engine::Impl::on(const fact::CountersKept& f) {
  if (f.cluster) {
    clusters.at(f.cluster).next_job = f.next_job;
  } else {
    last_node = NodeId(f.next_node - 1);
  }
}

std::array<std::uint64_t, 2> Engine::digest() const {
  // FNV-1a in two lanes over the canonical text of the checkpoint: a comparison, not a signature.
  std::array<std::uint64_t, 2> h{0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
  checkpoint([&h](const Fact& fact) {
    for (char c : fact_to_text(fact)) {
      const auto byte = static_cast<unsigned char>(c);
      h[0] = (h[0] ^ byte) * 0x100000001b3ULL;
      h[1] = (h[1] ^ byte ^ (h[0] >> 32)) * 0x100000001b3ULL;
    }
    h[1] ^= h[0];
  });
  return h;
}

}  // namespace subak
