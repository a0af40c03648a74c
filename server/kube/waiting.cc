#include "server/kube/waiting.h"

#include "core/cut.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"

namespace subak {
namespace {

std::string pod_path(const PodCard& pod) {
  return "/api/v1/namespaces/" + pod.ns + "/pods/" + pod.name;
}

std::string sentence(const Reason& reason) {
  const std::string_view token = enum_name(reason.token);
  if (reason.detail.empty()) return std::string(token);
  return std::string(token) + ": " + reason.detail;
}

}  // namespace

WaitingPage waiting_jobs(const Engine& engine, const std::string& cluster, JobState state,
                         JobId after, TimeMs now_ms) {
  constexpr std::size_t kLook = 64;
  WaitingPage page;
  const std::vector<JobRow> rows = engine.jobs(after, kLook, state, {});
  page.more = rows.size() == kLook;
  for (const JobRow& row : rows) {
    page.last = row.id;
    const bool told = row.cluster == cluster && row.origin == JobOrigin::kPods &&
                      now_ms - row.submit_ms >= limits::kTellWaitingMs;
    if (!told) continue;
    const std::optional<Reason> reason = engine.first_reason(row.id, 0);
    const std::optional<JobRow> whole = engine.job(row.id, true);
    if (!reason || !whole) continue;
    for (const PodRow& pod : whole->pods) {
      if (pod.uid.empty()) continue;
      page.jobs.push_back({row.id, pod.uid, *reason});
      break;
    }
  }
  return page;
}

void Waiting::take(const WaitingPage& page, TimeMs now_ms) {
  for (const WaitingJob& job : page.jobs) {
    const auto [at, is_new] = told_.try_emplace(job.job);
    at->second.round = round_;
    if (!is_new && at->second.token == job.reason.token) continue;
    at->second.token = job.reason.token;
    tell(job.uid, job.reason, now_ms);
  }
  after_ = page.more ? page.last : JobId();
  if (page.more) return;
  if (state_ == JobState::kQueued) {
    state_ = JobState::kIncomplete;
    return;
  }
  state_ = JobState::kQueued;
  std::erase_if(told_, [this](const auto& entry) { return entry.second.round != round_; });
  std::erase_if(conditions_,
                [this](const auto& entry) { return cards_.find_gpu_pod(entry.first) == nullptr; });
  ++round_;
}

void Waiting::take_unsized(const std::string& uid, TimeMs now_ms) {
  const PodCard* const pod = cards_.find_gpu_pod(uid);
  if (pod == nullptr || conditions_.contains(uid)) return;
  Reason reason;
  reason.token = ReasonToken::kGangIncomplete;
  reason.detail = "nobody says how many pods of " + pod->gpu->owner_kind + " " +
                  pod->gpu->owner_name + " start together: write the annotation " +
                  std::string(names::kGangSize) + ": \"N\" on its pod templates";
  tell(uid, reason, now_ms);
}

void Waiting::tell(const std::string& uid, const Reason& reason, TimeMs now_ms) {
  const PodCard* const pod = cards_.find_gpu_pod(uid);
  if (pod == nullptr) return;
  std::string words = sentence(reason);
  const OwnerCard* const owner = cards_.find_owner(pod->gpu->owner_uid);
  if (owner != nullptr && owner->has_deadline) {
    words += ". Its Job has activeDeadlineSeconds, which counts while it waits";
  }
  teller_.tell({"v1", "Pod", pod->ns, pod->name, uid, "Waiting", "Queue", words, false});
  const GpuCard& gpu = *pod->gpu;
  if (!gpu.owner_uid.empty()) {
    teller_.tell({gpu.owner_api, gpu.owner_kind, pod->ns, gpu.owner_name, gpu.owner_uid, "Waiting",
                  "Queue", words, false});
  }
  KubeCall status{"PATCH", pod_path(*pod), R"({"metadata":{"uid":)",
                  "application/merge-patch+json"};
  append_json_string(status.body, uid);
  status.body += R"(,"annotations":{)";
  append_json_member(status.body, names::kStatus, words);
  status.body += "}}}";
  teller_.write(std::move(status));
  set_condition(*pod, true, enum_name(reason.token), reason.detail, now_ms);
  conditions_[uid] = true;
}

void Waiting::released(const std::string& uid, TimeMs now_ms) {
  const PodCard* const pod = cards_.find_gpu_pod(uid);
  if (conditions_.erase(uid) == 0 || pod == nullptr) return;
  set_condition(*pod, false, "Released", "its gate is open", now_ms);
}

void Waiting::set_condition(const PodCard& pod, bool queued, std::string_view reason,
                            std::string_view message, TimeMs now_ms) {
  KubeCall call{"PATCH", pod_path(pod) + "/status", R"({"status":{"conditions":[{)",
                "application/strategic-merge-patch+json"};
  append_json_member(call.body, "type", names::kQueuedCondition);
  append_json_member(call.body, "status", queued ? "True" : "False");
  append_json_member(call.body, "reason", reason);
  append_json_member(call.body, "message", cut_text(message, limits::kMaxMessageBytes));
  append_json_member(call.body, "lastTransitionTime", format_time(now_ms - now_ms % kSecondMs));
  call.body += "}]}}";
  teller_.write(std::move(call));
}

void Waiting::forget() {
  told_.clear();
  conditions_.clear();
  after_ = {};
}

}  // namespace subak
