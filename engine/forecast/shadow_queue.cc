#include "engine/forecast/shadow_queue.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/account_path.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/text.h"
#include "engine/derive/order.h"
#include "engine/derive/reasons.h"
#include "engine/derive/rows.h"
#include "engine/forecast/dry_run.h"

namespace subak::decide {

// Leaves out pods that stay outside the queue: ungated pods in an enforced namespace stay foreign,
// pods in a system namespace are never queued, and pods that the state knows by now are jobs.
std::vector<ShadowQueue::Waiting> ShadowQueue::waiting_in(const State& s, const View& view) {
  std::vector<Waiting> out;
  if (!view.clusters) return out;
  for (const ClusterView& seen : *view.clusters) {
    const auto known = s.clusters().all().find(seen.id);
    if (known == s.clusters().all().end() || !seen.unmanaged_pods) continue;
    const state::Cluster& cluster = known->second;
    for (const PodRecord* pod : seen.unmanaged_pods->by_uid.values()) {
      const bool would = cluster.mode_of(pod->ns) != Mode::kEnforce &&
                         !is_system_namespace(s.policy(), pod->ns) &&
                         !s.jobs().find(seen.id, pod->uid);
      if (would) out.push_back({&cluster, pod});
    }
  }
  const auto key = [](const Waiting& w) {
    return std::tie(w.pod->created_at_ms, w.cluster->id, w.pod->uid);
  };
  std::sort(out.begin(), out.end(),
            [&](const Waiting& a, const Waiting& b) { return key(a) < key(b); });
  return out;
}

std::unique_ptr<ShadowQueue> ShadowQueue::make(const State& s, const View& view) {
  const std::vector<Waiting> pods = waiting_in(s, view);
  if (live_size(s) + pods.size() > limits::kMaxShadowQueue) return nullptr;
  return std::unique_ptr<ShadowQueue>(new ShadowQueue(s, pods, view.time_ms));
}

ShadowQueue::ShadowQueue(const State& s, const std::vector<Waiting>& pods, TimeMs t) {
  copy_state(s, copy_);
  copy_.advance(t);
  search_ = std::make_unique<Search>(copy_.fleet());
  enforce_all();
  for (const Waiting& waiting : pods) queue(waiting);
  play_pass();
}

void ShadowQueue::enforce_all() {
  const Input input{copy_.now(), "", "", in::Pass{}};
  Decision d(copy_, observed_, *search_, input);
  for (const auto& [id, cluster] : std::map(copy_.clusters().all())) {
    d.emit(fact::ClusterSet{id, cluster.name, Mode::kEnforce, {}, {}});
  }
}

// Queues the pod as if it had been gated when it was created.
void ShadowQueue::queue(const Waiting& waiting) {
  in::PodSeen seen{waiting.cluster->name, *waiting.pod};
  seen.pod.gated = true;
  const Input input{copy_.now(), "", "", std::move(seen)};
  Decision d(copy_, observed_, *search_, input);
  const ClusterId cluster = waiting.cluster->id;
  const std::uint64_t fresh = copy_.clusters().at(cluster).next_job;
  decide(d, std::get<in::PodSeen>(input.body));
  const auto place = copy_.jobs().find(cluster, waiting.pod->uid);
  must(!place || place->job.cluster() == cluster, "a pod's job is in its cluster");
  if (place && place->job.sequence() >= fresh) pending_.insert(place->job);
}

void ShadowQueue::play_pass() {
  const Input input{copy_.now(), "", "", in::Pass{}};
  Decision d(copy_, observed_, *search_, input);
  copy_.advance_tick();
  rows_ = derive::queue_order(copy_, copy_.now(), copy_.jobs().ready().size());
  in_order_ = rows_.size();
  for (const JobId id : pending_) {
    if (copy_.jobs().at(id).state != JobState::kQueued) rows_.push_back(id);
  }
  must(in_order_ <= rows_.size(), "jobs in the order come first");
  decide(d, in::Pass{}, memory_);
}

std::vector<ShadowRow> ShadowQueue::rows(std::string_view account, std::size_t begin,
                                         std::size_t most) {
  std::vector<ShadowRow> out;
  for (std::size_t i = begin; i < rows_.size() && out.size() < most; ++i) {
    if (is_below(rows_[i], account)) out.push_back(row(i));
  }
  return out;
}

bool ShadowQueue::is_below(JobId id, std::string_view account) const {
  if (account.empty()) return true;
  const AccountId leaf = copy_.jobs().at(id).leaf;
  return leaf != kUnassigned && is_path_within(copy_.tree().node(leaf).spec.path, account);
}

ShadowRow ShadowQueue::row(std::size_t index) {
  must(index < rows_.size(), "a row is one of the shadow queue");
  const state::Job& job = copy_.jobs().at(rows_[index]);
  ShadowRow out;
  out.index = index;
  out.position = index < in_order_ ? index + 1 : 0;
  out.pending = pending_.contains(job.id);
  out.job = derive::row(copy_, job, false);
  if (out.pending) out.job.id = JobId();
  if (!job.waits()) return out;
  const derive::Places places{*search_, {}};
  out.waits_for = derive::first_reason(copy_, places, job, out.position);
  for (std::string& name : out.waits_for->blockers) {  // ids of the copy mean nothing outside
    const auto id = text::parse_job_id(name);
    if (id && pending_.contains(*id)) name = copy_.jobs().at(*id).name;
  }
  return out;
}

}  // namespace subak::decide
