#include "server/edge/cluster/notices.h"

#include <utility>

#include "core/decimal.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/text.h"

namespace subak {
namespace {

std::string gpus_text(MilliGpu amount) {
  return format_milligpu(amount) + (amount == 1000 ? " GPU" : " GPUs");
}

// Why a job ends that does not come back.
std::string_view why_for_good(Cause cause) {
  if (cause == Cause::kTimeLimit) return " reached its time limit";
  if (cause == Cause::kBudget) return " has no more GPU-hours in a budget of its account";
  return " was cancelled";
}

// "preempts job 1-1 for job 1-3 of ml.audio (0 of 16 GPUs of its quota are in use). The job ran
// for 10m, ..."
std::string preemption_text(const std::string& job, const Preemption& p) {
  std::string out = "Subak preempts " + job;
  if (p.claimant) out += " for job " + text::job_id_text(p.claimant);
  if (p.right == ClaimRight::kClass) {
    out += " of the same account, which has a higher priority";
    if (!p.priority_class.empty()) out += " (class " + p.priority_class + ")";
  } else if (!p.account.empty()) {
    out += " of " + p.account + ", which is within its quota (" + format_milligpu(p.used) + " of " +
           gpus_text(p.quota) + " in use)";
  }
  if (p.started_ms != 0) {
    out += "; it ran for " + format_duration((p.asked_ms - p.started_ms) / kSecondMs * kSecondMs);
  }
  out += "; it waits again with its first submit time, " + format_time(p.submit_ms);
  out += "; preempted " + std::to_string(p.times) + (p.times == 1 ? " time" : " times");
  return out;
}

// What an Event about a start says of GPUs that no quota covers; empty: quota covers all.
std::string loan_text(const Loan& loan) {
  if (loan.milligpu == 0) return "";
  return "; " + gpus_text(loan.milligpu) + " beyond quota" +
         (loan.from_ms == 0 ? std::string()
                            : ": jobs within quota may preempt the job from " +
                                  format_time(loan.from_ms) + " on");
}

}  // namespace

Notices::Notices(EdgeContext& context, const EdgeSession& session)
    : context_(context),
      session_(session),
      recorder_(*context.api, context.ports.now_ms, context.ports.monotonic_ms),
      waiting_(context.cache, recorder_),
      domains_(context.cache, recorder_),
      budgets_(context.options.cluster, recorder_, context.ports.read_expensive,
               [to = context.inbox](std::function<void()> task) { to->put(std::move(task)); }) {}

// Events use connections that releases leave free.
void Notices::turn(bool writes_full) {
  if (may_send(writes_full)) recorder_.turn();
}

DurationMs Notices::due_in(bool writes_full) const {
  return may_send(writes_full) ? recorder_.due_in() : limits::kLoopMaxWaitMs;
}

void Notices::tell_put_off(const std::string& uid, const std::string& words) {
  waiting_.put_off(uid, words, context_.ports.now_ms());
}

void Notices::tell_written(const KubeWrite& write) {
  const std::string cause(enum_name(write.cause));
  const std::string job = write.job ? "job " + text::job_id_text(write.job) : "its job";
  switch (write.kind) {
    case WriteKind::kRelease: {
      waiting_.released(write.uid, context_.ports.now_ms());
      if (!write.job || std::exchange(announced_starts_[write.job], write.attempt) == write.attempt)
        return;
      if (announced_starts_.size() > limits::kMaxWaitingEvents)
        announced_starts_.erase(announced_starts_.begin());
      const std::size_t count = write.pods;
      const std::string note =
          job + " starts: " + std::to_string(count) +
          (count == 1 ? " pod, on " : " pods, this one on ") +
          (write.node.empty() ? "a node that the scheduler chooses" : "node " + write.node) +
          loan_text(write.loan);
      return tell_pod(write.uid, "Released", "Release", note, false);
    }
    case WriteKind::kKeep:
      return;
    case WriteKind::kEvict:
      if (write.preemption.times != 0) {
        return tell_pod(write.uid, "Preempted", "Evict",
                        preemption_text(job, write.preemption) +
                            "; this pod was evicted, which its controller may count as a failure",
                        true);
      }
      return tell_pod(write.uid, "TakenBack", "Evict",
                      "Subak ends " + job + " (" + cause + "): this pod was evicted, which its " +
                          "controller may count as a failure",
                      true);
    case WriteKind::kSuspend:
      if (write.preemption.times != 0) {
        return tell_suspended(write, preemption_text(job, write.preemption) +
                                         "; suspended until its pods are gone, which counts no "
                                         "failure");
      }
      return tell_owner(write.uid, "TakenBack", "Suspend",
                        !comes_back(write.cause)
                            ? job + std::string(why_for_good(write.cause)) +
                                  ": suspended until spec.suspend is false again"
                            : "Subak ends " + job + " (" + cause +
                                  "): suspended until its pods are gone, which counts no failure",
                        true);
    case WriteKind::kMakeDomain:
      return tell_pod(write.pod, "ComputeDomainMade", "MakeComputeDomain",
                      job + " starts in a ComputeDomain of its own; its gates open when the " +
                          "ComputeDomain has its ResourceClaimTemplate",
                      false);
    case WriteKind::kDropDomain:
      return;
    case WriteKind::kResume:
      return tell_resumed(write);
  }
}

void Notices::tell_pod(const std::string& uid, const char* reason, const char* action,
                       const std::string& note, bool warning) {
  const PodEntry* const pod = context_.cache.find_gpu_pod(uid);
  if (pod == nullptr) return;
  recorder_.tell({"v1", "Pod", pod->ns, pod->name, uid, reason, action, note, warning});
  const GpuPodEntry& gpu = *pod->gpu;
  if (gpu.owner_uid.empty()) return;
  recorder_.tell({gpu.owner_api, gpu.owner_kind, pod->ns, gpu.owner_name, gpu.owner_uid, reason,
                  action, note + " (pod " + pod->name + ")", warning});
}

void Notices::tell_idle(const std::string& uid, const std::string& note) {
  const PodEntry* const pod = context_.cache.find_gpu_pod(uid);
  const std::shared_ptr<const View> view = context_.ports.view();
  const ClusterView* const cluster = view->cluster(context_.options.cluster);
  if (pod == nullptr || cluster == nullptr) return;
  if (cluster->mode_of(pod->ns) == Mode::kEnforce) tell_pod(uid, "Idle", "Observe", note, true);
}

void Notices::tell_owner(const std::string& uid, const char* reason, const char* action,
                         const std::string& note, bool warning) {
  const OwnerEntry* const owner = context_.cache.owners().find(uid);
  if (owner == nullptr) return;
  recorder_.tell({owner->api_version(), std::string(owner->kind()), owner->ns, owner->name, uid,
                  reason, action, note, warning});
}

void Notices::tell_suspended(const KubeWrite& write, const std::string& note) {
  tell_owner(write.uid, "Preempted", "Suspend", note, true);
  const PodEntry* const pod = context_.cache.find_gpu_pod(write.pod);
  if (pod == nullptr) return;
  recorder_.tell({"v1", "Pod", pod->ns, pod->name, write.pod, "Preempted", "Suspend", note, true});
}

void Notices::tell_resumed(const KubeWrite& write) {
  if (write.job) {
    return tell_owner(write.uid, "Resumed", "Resume",
                      "job " + text::job_id_text(write.job) +
                          " starts: it is resumed, and its pods go to the nodes held for them",
                      false);
  }
  if (write.why.empty()) {
    return tell_owner(write.uid, "Resumed", "Resume",
                      "its pods are gone, so it is resumed and creates new pods", false);
  }
  tell_owner(write.uid, "NotParked", "Resume",
             "it no longer waits suspended: " + write.why + "; its pods wait behind their gates",
             true);
}

void Notices::look_at_waiting() {
  for (const std::string& uid : context_.cache.marks().take_unsized())
    waiting_.take_unsized(uid, context_.ports.now_ms());
  for (const std::string& uid : context_.cache.marks().take_early())
    waiting_.take_early(uid, context_.ports.now_ms());
  const std::int64_t now = context_.ports.monotonic_ms();
  if (looking_ || now < look_due_ms_) return;
  look_due_ms_ = now + limits::kLookWaitingMs;
  looking_ = context_.ports.read_starts(
      [this, to = context_.inbox, of = session_.number(), name = context_.options.cluster,
       part = waiting_.part(), after = waiting_.after(),
       time = context_.ports.now_ms()](const Engine& engine, const ForecastStarts& starts) {
        to->put([this, of, time, page = waiting_jobs(engine, starts, name, part, after, time)] {
          looking_ = false;
          if (of == session_.number()) waiting_.take(page, time);
        });
      });
}

}  // namespace subak
