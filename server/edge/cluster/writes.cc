#include "server/edge/cluster/writes.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/printable.h"
#include "core/text.h"
#include "server/log/log.h"

namespace subak {

Writes::Writes(EdgeContext& context, EdgeSession& session, WriteQueue& queue, Notices& notices)
    : context_(context),
      session_(session),
      queue_(queue),
      notices_(notices),
      writer_(*context.api, context.cache, hooks(), context.options.protects_gangs) {}

void Writes::report_unschedulable() {
  const std::int64_t now = context_.ports.monotonic_ms();
  std::vector<std::pair<std::string, std::string>> due;
  context_.cache.each_unschedulable([&](const std::string& uid, const PodEntry& pod) {
    const std::int64_t since = pod.gpu->unschedulable_since_ms;
    if (now - since >= limits::kUnschedulableMs) due.emplace_back(uid, pod.gpu->unschedulable);
  });
  for (const auto& [uid, words] : due) {
    give_up(uid, {}, Cause::kUnschedulable, words);
    context_.cache.put_off_unschedulable(uid, now);
  }
}

// The core decides whether the attempt has been under way for long enough. So a report that comes too
// early does no harm, but it must be repeated.
void Writes::report_not_ready() {
  const DurationMs within = context_.ports.view()->policy.gangs.ready_within_ms;
  const std::int64_t now = context_.ports.monotonic_ms();
  if (within == 0 || now < not_ready_due_ms_) return;
  not_ready_due_ms_ = now + kSecondMs;
  for (auto& [uid, pod] : context_.cache.marks().not_ready()) {
    const PodEntry* const entry = context_.cache.find_gpu_pod(uid);
    if (entry == nullptr) continue;
    const DurationMs behind = context_.cache.nodes().clocks().behind_ms(entry->node).value_or(0);
    if (context_.ports.now_ms() - (pod.since_ms + behind) < within) continue;
    if (pod.told_ms != 0 && now - pod.told_ms < kMinuteMs) continue;
    const bool first = pod.told_ms == 0;
    if (!say_refused(uid, {}, Cause::kNotReady, pod.words)) return;
    pod.told_ms = now;
    if (!first) continue;
    notices_.tell_pod(uid, "NotReady", "Release",
                      "the pod has not been Ready for " + format_duration(within) + ": " +
                          pod.words + "; its job waits again",
                      true);
  }
}

// Reports a refusal. The core ignores it as late unless it still wants the effect of this pod.
bool Writes::say_refused(const std::string& uid, JobId job, Cause cause, const std::string& words) {
  const std::string cut = cut_text(one_line(words), limits::kMaxRefusalBytes - kCutNoteBytes);
  const bool posted =
      session_.post(in::PodRefused{context_.options.cluster, {uid, {}, 0, 0}, cause, cut},
                    [this, job](const Reply& reply) {
                      queue_.answered_give_up(job);
                      if (reply.error && reply.error->field == "session")
                        session_.end(reply.error->message());
                    });
  if (!posted) return false;
  log::warn("the cluster refused what Subak wanted for a pod",
            {{"cluster", context_.options.cluster},
             {"uid", uid},
             {"cause", enum_name(cause)},
             {"words", words}});
  return true;
}

// Reports a refused eviction or suspension. The job keeps its GPUs, and the write is retried. If an
// owner may not be suspended, one of its pods is reported for all.
bool Writes::say_end_refused(const KubeWrite& write, const std::string& words) {
  const auto job = queue_.wanted().find(write.job);
  if (job == queue_.wanted().end()) return true;
  const bool of_pod = write.kind == WriteKind::kEvict;
  std::string uid = of_pod ? write.uid : std::string();
  for (const EffectPod& pod : job->second.effect.pods) {
    if (uid.empty() && context_.cache.find_gpu_pod(pod.uid) != nullptr) uid = pod.uid;
  }
  if (uid.empty()) return true;
  if (!say_refused(uid, {}, Cause::kEvictRefused, words)) return false;
  const std::string note = "Subak ends job " + text::job_id_text(write.job) + " (" +
                           std::string(enum_name(write.cause)) +
                           "), but the cluster refuses: " + words +
                           "; the job keeps its GPUs until its pods are gone, and Subak asks again";
  of_pod ? notices_.tell_pod(write.uid, "EvictRefused", "Evict", note, true)
         : notices_.tell_owner(write.uid, "EvictRefused", "Suspend", note, true);
  return true;
}

void Writes::report_withheld() {
  for (const KubeWrite& write : queue_.withheld()) {
    if (!say_end_refused(
            write, "an eviction counts as a failure, and its Job allows too few more failures"))
      return;
  }
  queue_.withheld_are_known();
}

// Gives up the release of a pod that is on its way.
void Writes::give_up(const std::string& uid, JobId job, Cause cause, const std::string& words) {
  if (!say_refused(uid, job, cause, words)) return;
  const bool scheduler = cause == Cause::kUnschedulable;
  notices_.tell_pod(uid, scheduler ? "Unschedulable" : "ReleaseRefused", "Release",
                    (scheduler ? "the scheduler cannot place the pod on its node: "
                               : "its gate cannot be opened: ") +
                        words + "; the hold is released",
                    true);
  queue_.give_up(job);
}

void Writes::look_at_parked() {
  ParkedOwners& parked = context_.cache.owners().parked();
  for (const std::string& uid : parked.take_given_up()) {
    notices_.tell_owner(uid, "NotParked", "Park",
                        "its suspension and Subak's mark came back more than " +
                            std::to_string(limits::kMaxParkings) +
                            " times, so Subak does not resume it any more; set suspend to false, "
                            "and its pods wait behind their gates",
                        true);
  }
  const std::int64_t now = context_.ports.monotonic_ms();
  if (now < parked_due_ms_) return;
  parked_due_ms_ = now + kSecondMs;
  bool any = parked.resume_ignored(
      now, [this](const std::string& uid) { return context_.cache.pods_of(uid).pods > 0; });
  const std::shared_ptr<const View> view = context_.ports.view();
  const ClusterView* const cluster = view->cluster(context_.options.cluster);
  std::size_t resumed = 0;
  for (const std::string& uid : context_.cache.owners().marked()) {
    if (resumed == limits::kOpenedPerSecond) break;
    const OwnerEntry& owner = *context_.cache.owners().find(uid);
    const bool outside = cluster != nullptr && cluster->mode_of(owner.ns) != Mode::kEnforce;
    if (!outside || !owner.has_parked_mark() || parked.must_resume(uid) != nullptr) continue;
    parked.resume(uid, "its namespace is not in mode enforce");
    ++resumed;
  }
  any = any || resumed > 0;
  if (any) queue_.outdate();
}

void Writes::turn() {
  if (is_full()) return;
  queue_.plan(writer_.attempts(), context_.ports.now_ms(), context_.ports.monotonic_ms());
  report_withheld();
  while (!queue_.is_empty() && !is_full()) writer_.begin(queue_.take());
}

void Writes::mark_refused(const KubeWrite& write, const std::string& words) {
  queue_.give_up_mark(write.uid);
  log::warn("cannot mark a pod whose hold was released: an earlier patch may still open its gate",
            {{"cluster", context_.options.cluster},
             {"uid", write.uid},
             {"job", text::job_id_text(write.job)},
             {"words", words}});
}

void Writes::drop_refused(const KubeWrite& write, const std::string& words) {
  log::warn("cannot delete the ComputeDomain of an attempt that has ended",
            {{"cluster", context_.options.cluster},
             {"job", text::job_id_text(write.job)},
             {"words", words}});
}

WriterHooks Writes::hooks() {
  WriterHooks hooks;
  hooks.see_pod = [this](json::Value pod) {
    queue_.outdate();
    context_.cache.see_answered_pod(pod, context_.ports.monotonic_ms());
  };
  hooks.see_owner = [this](json::Value owner, const std::string& collection) {
    queue_.outdate();
    context_.cache.see_answered_owner(owner, collection);
  };
  hooks.see_domain = [this](json::Value domain) {
    queue_.outdate();
    context_.cache.domains().see_answered_domain(domain, context_.ports.monotonic_ms());
  };
  hooks.forget_domain = [this](const std::string& key) {
    queue_.outdate();
    context_.cache.domains().forget_domain(key);
  };
  hooks.give_up = [this](const KubeWrite& write, const CallAnswer& answer) {
    ++refused_[answer.reason.empty() ? std::string(enum_name(answer.outcome)) : answer.reason];
    if (write.kind == WriteKind::kKeep) return mark_refused(write, answer.message);
    if (write.kind == WriteKind::kDropDomain) return drop_refused(write, answer.message);
    if (write.kind == WriteKind::kMakeDomain) {
      return give_up(write.pod, write.job, Cause::kReleaseRefused, answer.message);
    }
    if (write.kind != WriteKind::kRelease) {
      say_end_refused(write, answer.message);
      return;
    }
    give_up(write.uid, write.job, Cause::kReleaseRefused, answer.message);
  };
  hooks.done = [this](const KubeWrite& write) {
    ++done_[static_cast<std::size_t>(write.kind)];
    if (write.kind == WriteKind::kRelease && !write.job) ++opened_outside_;
    notices_.tell_written(write);
  };
  hooks.monotonic_ms = context_.ports.monotonic_ms;
  hooks.provisioned = [this](JobId job, const std::string& ns) {
    return context_.requests.provisioned(job, ns);
  };
  return hooks;
}

}  // namespace subak
