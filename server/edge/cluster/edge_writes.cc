// The edge's writes: the core's effects on a cluster, and Events for users.
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "core/cut.h"
#include "core/limits.h"
#include "core/printable.h"
#include "core/text.h"
#include "server/edge/cluster/edge_impl.h"
#include "server/log/log.h"

namespace subak {

// --- what the core wants -------------------------------------------------------------------------

void Edge::Impl::take_effects() {
  if (!effects) return;
  for (Effect& effect : effects->take()) {
    if (effect.session > session) continue;  // from another session
    replan = true;
    planned.clear();
    want(std::move(effect), ++last_order);
  }
  if (effects->state() == EffectStream::State::kOverflowed) {
    const ClusterView* const cluster = ports.view()->cluster(options.cluster);
    if (cluster != nullptr) subscribe(cluster->id);
  }
}

// Takes an effect. Until the list is complete, it may continue work of an earlier process.
void Edge::Impl::want(Effect effect, std::uint64_t order) {
  fence.take(effect, phase != Phase::kFollows);
  const JobId job = effect.job;
  wanted[job] = {std::move(effect), order};
}

// Reads the outstanding effects again while there are any. An effect may be lost, and the core
// sends none when it is done.
void Edge::Impl::confirm() {
  const std::int64_t now = ports.monotonic_ms();
  if (confirming || wanted.empty() || now < confirm_due_ms) return;
  const auto answer = [this, to = inbox, asked = last_order, of = session,
                       name = options.cluster](const Engine& engine) {
    const ClusterId id = engine.find_cluster(name);
    std::vector<Effect> all = id ? engine.outstanding(id) : std::vector<Effect>();
    to->put([this, asked, of, all = std::move(all)]() mutable {
      confirming = false;
      if (of != session) return;
      std::map<JobId, Effect> now_wanted;
      for (Effect& effect : all) now_wanted.emplace(effect.job, std::move(effect));
      for (auto& [job, effect] : now_wanted) {
        const auto known = wanted.find(job);
        if (known != wanted.end() && known->second.order > asked) continue;
        const std::uint64_t order = known == wanted.end() ? ++last_order : known->second.order;
        want(std::move(effect), order);
      }
      std::erase_if(wanted, [&](const auto& entry) {
        return entry.second.order <= asked && !now_wanted.contains(entry.first);
      });
      planned.clear();
      replan = true;
    });
  };
  confirming = ports.read(answer);
  confirm_due_ms = now + kSecondMs;
}

void Edge::Impl::report_unschedulable() {
  const std::int64_t now = ports.monotonic_ms();
  std::vector<std::pair<std::string, std::string>> due;
  cache.each_unschedulable([&](const std::string& uid, const PodEntry& pod) {
    const std::int64_t since = pod.gpu->unschedulable_since_ms;
    if (now - since >= limits::kUnschedulableMs) due.emplace_back(uid, pod.gpu->unschedulable);
  });
  for (const auto& [uid, words] : due) {
    give_up(uid, {}, Cause::kUnschedulable, words);
    cache.put_off_unschedulable(uid, now);
  }
}

// Reports a refusal. The core ignores it as late unless it still wants the effect of this pod.
bool Edge::Impl::say_refused(const std::string& uid, Cause cause, const std::string& words) {
  const std::string cut = cut_text(one_line(words), limits::kMaxRefusalBytes - kCutNoteBytes);
  const bool posted = post(in::PodRefused{options.cluster, {uid, {}, 0, 0}, cause, cut},
                           [this, uid](const Reply& reply) {
                             if (reply.error && reply.error->field == "session")
                               end_session(reply.error->message());
                           });
  if (!posted) return false;
  log::warn(
      "the cluster does not do with a pod what is wanted",
      {{"cluster", options.cluster}, {"uid", uid}, {"cause", enum_name(cause)}, {"words", words}});
  return true;
}

// Reports a refused eviction or suspension. The job keeps its GPUs, and the write is retried. If an
// owner may not be suspended, one of its pods is reported for all.
void Edge::Impl::say_end_refused(const KubeWrite& write, const std::string& words) {
  const auto job = wanted.find(write.job);
  if (job == wanted.end()) return;
  const bool of_pod = write.kind == WriteKind::kEvict;
  std::string uid = of_pod ? write.uid : std::string();
  for (const EffectPod& pod : job->second.effect.pods) {
    if (uid.empty() && cache.find_gpu_pod(pod.uid) != nullptr) uid = pod.uid;
  }
  if (uid.empty() || !say_refused(uid, Cause::kEvictRefused, words)) return;
  const std::string note = "Subak ends job " + text::job_id_text(write.job) + " (" +
                           std::string(enum_name(write.cause)) +
                           "), and this is refused: " + words +
                           "; the job keeps its GPUs until its pods are gone, and Subak asks again";
  of_pod ? tell_pod(write.uid, "EvictRefused", "Evict", note, true)
         : tell_owner(write.uid, "EvictRefused", "Suspend", note, true);
}

// Gives up the release of a pod that is on its way.
void Edge::Impl::give_up(const std::string& uid, JobId job, Cause cause, const std::string& words) {
  if (!say_refused(uid, cause, words)) return;
  const bool scheduler = cause == Cause::kUnschedulable;
  tell_pod(
      uid, scheduler ? "Unschedulable" : "ReleaseRefused", "Release",
      (scheduler ? "the scheduler finds no way to its node: " : "its gate cannot be opened: ") +
          words + "; the hold is released",
      true);
  if (job) wanted.erase(job);
  planned.clear();
}

void Edge::Impl::write() {
  constexpr std::size_t kPlanned = 256;
  const std::int64_t now = ports.monotonic_ms();
  const bool due = plan_due_ms != 0 && now >= plan_due_ms;
  if (planned.empty() && (replan || due) && writer->under_way() < limits::kMaxEdgeWrites) {
    fence.prune(cache);
    Plan plan =
        plan_writes(wanted, fence, cache, writer->attempts(), ports.now_ms(), now, kPlanned);
    for (const JobId job : plan.settled) wanted.erase(job);
    planned.assign(std::make_move_iterator(plan.writes.begin()),
                   std::make_move_iterator(plan.writes.end()));
    plan_due_ms = plan.next_ms;
    replan = planned.size() == kPlanned;
  }
  while (!planned.empty() && writer->under_way() < limits::kMaxEdgeWrites) {
    writer->begin(planned.front());
    planned.pop_front();
    replan = replan || planned.empty();
  }
}

void Edge::Impl::mark_refused(const KubeWrite& write, const std::string& words) {
  fence.give_up(write.uid);
  log::warn("cannot mark a pod whose hold was released: an earlier patch may still open its gate",
            {{"cluster", options.cluster},
             {"uid", write.uid},
             {"job", text::job_id_text(write.job)},
             {"words", words}});
}

WriterHooks Edge::Impl::hooks() {
  WriterHooks hooks;
  hooks.see_pod = [this](json::Value pod) {
    replan = true;
    cache.see_answered_pod(pod, ports.monotonic_ms());
  };
  hooks.see_owner = [this](json::Value owner, const std::string& collection) {
    replan = true;
    cache.see_answered_owner(owner, collection);
  };
  hooks.give_up = [this](const KubeWrite& write, const CallAnswer& answer) {
    ++refused[answer.reason.empty() ? std::string(enum_name(answer.outcome)) : answer.reason];
    if (write.kind == WriteKind::kKeep) return mark_refused(write, answer.message);
    if (write.kind != WriteKind::kRelease) return say_end_refused(write, answer.message);
    give_up(write.uid, write.job, Cause::kReleaseRefused, answer.message);
  };
  hooks.done = [this](const KubeWrite& write) { write_done(write); };
  hooks.monotonic_ms = ports.monotonic_ms;
  return hooks;
}

// --- Events for users ----------------------------------------------------------------------------

void Edge::Impl::write_done(const KubeWrite& write) {
  ++writes[static_cast<std::size_t>(write.kind)];
  const std::string cause(enum_name(write.cause));
  const std::string job = write.job ? "job " + text::job_id_text(write.job) : "its job";
  switch (write.kind) {
    case WriteKind::kRelease: {
      if (!write.job) ++opened_outside;
      waiting->released(write.uid, ports.now_ms());
      if (!write.job || std::exchange(announced_starts[write.job], write.attempt) == write.attempt)
        return;
      if (announced_starts.size() > limits::kMaxWaitingEvents)
        announced_starts.erase(announced_starts.begin());
      const std::size_t count = write.pods;
      const std::string note =
          job + " starts: " + std::to_string(count) +
          (count == 1 ? " pod, on " : " pods, this one on ") +
          (write.node.empty() ? "whichever node the scheduler chooses" : "node " + write.node);
      return tell_pod(write.uid, "Released", "Release", note, false);
    }
    case WriteKind::kKeep:
      return;
    case WriteKind::kEvict:
      return tell_pod(write.uid, "TakenBack", "Evict",
                      "Subak ends " + job + " (" + cause + "): this pod was evicted, which its " +
                          "controller may count as a failure",
                      true);
    case WriteKind::kSuspend:
      return tell_owner(write.uid, "TakenBack", "Suspend",
                        !comes_back(write.cause)
                            ? job +
                                  (write.cause == Cause::kTimeLimit ? " has had its time limit"
                                                                    : " was cancelled") +
                                  ": suspended until spec.suspend is false again"
                            : "Subak ends " + job + " (" + cause +
                                  "): suspended until its pods are gone, which counts no failure",
                        true);
    case WriteKind::kResume:
      return tell_owner(write.uid, "Resumed", "Resume", "its pods are gone: they are created again",
                        false);
  }
}

// Events use connections that releases leave free.
bool Edge::Impl::may_tell() const {
  return writer->under_way() < limits::kMaxEdgeWrites || recorder->is_crowded();
}

// Records an Event on the pod and on its owner, if it has one.
void Edge::Impl::tell_pod(const std::string& uid, const char* reason, const char* action,
                          const std::string& note, bool warning) {
  const PodEntry* const pod = cache.find_gpu_pod(uid);
  if (pod == nullptr) return;
  recorder->tell({"v1", "Pod", pod->ns, pod->name, uid, reason, action, note, warning});
  const GpuPodEntry& gpu = *pod->gpu;
  if (gpu.owner_uid.empty()) return;
  recorder->tell({gpu.owner_api, gpu.owner_kind, pod->ns, gpu.owner_name, gpu.owner_uid, reason,
                  action, note + " (pod " + pod->name + ")", warning});
}

void Edge::Impl::tell_owner(const std::string& uid, const char* reason, const char* action,
                            const std::string& note, bool warning) {
  const OwnerEntry* const owner = cache.owners().find(uid);
  if (owner == nullptr) return;
  recorder->tell({owner->api_version(), std::string(owner->kind()), owner->ns, owner->name, uid,
                  reason, action, note, warning});
}

void Edge::Impl::look_at_waiting() {
  for (const std::string& uid : cache.marks().take_unsized())
    waiting->take_unsized(uid, ports.now_ms());
  const std::int64_t now = ports.monotonic_ms();
  if (looking || now < look_due_ms) return;
  look_due_ms = now + limits::kLookWaitingMs;
  looking =
      ports.read_starts([this, to = inbox, of = session, name = options.cluster,
                         part = waiting->part(), after = waiting->after(), time = ports.now_ms()](
                            const Engine& engine, const ForecastStarts& starts) {
        to->put([this, of, time, page = waiting_jobs(engine, starts, name, part, after, time)] {
          looking = false;
          if (of == session) waiting->take(page, time);
        });
      });
}

// --- gates where we do not manage pods -----------------------------------------------------------

namespace {

// Returns the uids of jobs that wait outside enforce, in the order of the queue.
std::vector<std::string> in_share_order(const Engine& engine, const std::string& name) {
  constexpr std::size_t kAhead = 10 * limits::kOpenedPerSecond;
  std::vector<std::string> uids;
  const std::shared_ptr<const View> view = engine.view();
  const ClusterView* const cluster = view->cluster(name);
  if (cluster == nullptr) return uids;
  for (const JobId id : engine.queue_order(SIZE_MAX)) {
    if (uids.size() >= kAhead) break;
    if (id.cluster() != cluster->id) continue;
    const std::optional<JobRow> job = engine.job(id, true);
    if (!job || job->pods.empty()) continue;
    const std::string& pod = job->pods.front().name;
    if (cluster->mode_of(pod.substr(0, pod.find('/'))) == Mode::kEnforce) continue;
    for (const PodRow& row : job->pods) uids.push_back(row.uid);
  }
  return uids;
}

}  // namespace

// True if Subak's gate must be opened without a node. A pod without GPUs was gated by mistake in
// any mode, unless it claims devices that Subak does not count.
bool Edge::Impl::is_stray(const std::string& uid, const ClusterView& cluster) const {
  const PodEntry* const pod = cache.find_gpu_pod(uid);
  if (pod == nullptr || !pod->gpu->gated || pod->gpu->foreign_gates) return false;
  if (!pod->gpu->asks_gpu) return !pod->gpu->claims;
  return cluster.mode_of(pod->ns) != Mode::kEnforce;
}

// Finds stray pods: first those without a job, then the others in share order.
void Edge::Impl::find_strays(const ClusterView& cluster) {
  std::vector<std::string> all;
  for (const std::string& uid : cache.marks().gated()) {
    if (is_stray(uid, cluster)) all.push_back(uid);
  }
  if (all.empty()) return;
  finding_strays = ports.read_expensive([this, to = inbox, of = session, name = options.cluster,
                                         all = std::move(all)](const Engine& engine) {
    to->put([this, of, all, order = in_share_order(engine, name)] {
      finding_strays = false;
      if (of != session) return;
      const std::set<std::string> queued(order.begin(), order.end());
      for (const std::string& uid : all) {
        if (!queued.contains(uid)) strays.push_back(uid);
      }
      strays.insert(strays.end(), order.begin(), order.end());
    });
  });
}

// Opens Subak's gate outside enforce without a node. That is the only write there.
void Edge::Impl::open_strays() {
  constexpr DurationMs kBetweenMs = kSecondMs / limits::kOpenedPerSecond;
  const std::int64_t now = ports.monotonic_ms();
  if (now < stray_due_ms || cache.marks().gated().empty()) return;
  stray_due_ms = now + kBetweenMs;
  const std::shared_ptr<const View> view = ports.view();
  const ClusterView* const cluster = view->cluster(options.cluster);
  if (cluster == nullptr) return;
  if (strays.empty() && !finding_strays) {
    find_strays(*cluster);
    if (!finding_strays) stray_due_ms = now + kSecondMs;
  }
  for (; !strays.empty(); strays.pop_front()) {
    const std::string uid = strays.front();
    const auto attempt = writer->attempts().find(uid);
    const bool waits = attempt != writer->attempts().end() &&
                       (attempt->second.under_way || attempt->second.next_ms > now);
    if (waits || !is_stray(uid, *cluster)) continue;
    if (writer->under_way() >= limits::kMaxEdgeWrites) return;
    writer->begin({WriteKind::kRelease, uid, {}, "", Cause::kNone, 0, 1});
    return strays.pop_front();
  }
}

}  // namespace subak
