#include "server/edge/events/waiting.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/printable.h"

namespace subak {
namespace {

// Returns the time that users plan by; 0: there is none.
TimeMs told_time(const std::optional<StartEstimate>& start) {
  if (!start) return 0;
  switch (start->by) {
    case EstimateBasis::kPromise:
      return start->at.latest_ms;
    case EstimateBasis::kGuess:
    case EstimateBasis::kForecast:
      return start->at.expected_ms;
    case EstimateBasis::kBeyond:
      return start->at.earliest_ms;
    case EstimateBasis::kTooFewStarts:
    case EstimateBasis::kNoForecast:
    case EstimateBasis::kNewNodes:
      break;
  }
  return 0;
}

bool has_moved(TimeMs told_ms, TimeMs start_ms, TimeMs now_ms) {
  if (told_ms == 0 || start_ms == 0) return told_ms != start_ms;
  const DurationMs by_ms = std::abs(start_ms - told_ms);
  return by_ms > limits::kStartMovedMs &&
         by_ms > std::max<DurationMs>(0, start_ms - now_ms) / limits::kStartMovedPart;
}

// True if a job that was not recorded before must give GPUs back.
bool has_new_givers(const std::vector<std::string>& told, const Reason& reason) {
  if (reason.token != ReasonToken::kWaitingForPreemptedWorkloads) return false;
  return std::any_of(reason.blockers.begin(), reason.blockers.end(), [&](const std::string& job) {
    return std::find(told.begin(), told.end(), job) == told.end();
  });
}

// Writes times one after the other, to the minute, with the day if it differs.
class Times {
 public:
  explicit Times(TimeMs now_ms) : day_(now_ms / kDayMs) {}

  std::string before(TimeMs t) { return of(t - t % kMinuteMs); }
  // Writes a time rounded up, not earlier than `t`.
  std::string by(TimeMs t) {
    return of(std::min(t + (kMinuteMs - t % kMinuteMs) % kMinuteMs, limits::kMaxTimeMs));
  }

 private:
  std::string of(TimeMs t) {
    const std::string text = format_time(t);  // "2026-03-01T14:20:00.000Z"
    const std::string clock = text.substr(11, 5);
    const bool same_day = std::exchange(day_, t / kDayMs) == t / kDayMs;
    return same_day ? clock : text.substr(0, 10) + " " + clock;
  }

  std::int64_t day_;
};

}  // namespace

std::string start_sentence(const StartEstimate& start, TimeMs now_ms) {
  Times times(now_ms);
  const ExpectedStart& at = start.at;
  if (!is_estimate(start.by)) return std::string("No estimate yet: ").append(assumption(start));
  if (start.by == EstimateBasis::kPromise) return "It starts by " + times.by(at.latest_ms) + " UTC";
  if (start.by == EstimateBasis::kBeyond) {
    return "It does not start before " + times.before(at.earliest_ms) + " UTC";
  }
  const bool is_guess = start.by == EstimateBasis::kGuess;
  std::string words = "It starts about " + times.before(at.expected_ms);
  if (at.learned || is_guess) {
    words += " (" + times.before(at.earliest_ms);
    words += " to " + times.by(at.latest_ms) + ")";
  }
  words += " UTC";
  if (is_guess) return words.append(", if ").append(assumption(start));
  if (!at.learned) words += "; too few starts have come to say how far off this is";
  if (at.assumed) words += "; no time limit given: assuming 24 h";
  return words;
}

namespace {

constexpr std::size_t kLook = 64;

JobState state_of(WaitingPart part) {
  if (part == WaitingPart::kQueued) return JobState::kQueued;
  return part == WaitingPart::kPaused ? JobState::kPaused : JobState::kIncomplete;
}

WaitingPage pods_beyond(const Engine& engine, const std::string& cluster, JobId after) {
  WaitingPage page;
  page.part = WaitingPart::kBeyond;
  const std::vector<CrowdedJob> jobs = engine.crowded(after, kLook);
  page.more = jobs.size() == kLook;
  for (const auto& [row, reason] : jobs) {
    page.last = row.id;
    if (row.cluster != cluster) continue;
    for (const PodRow& pod : row.pods) {
      if (pod.rank < row.gang_size || pod.uid.empty()) continue;
      page.jobs.push_back({row.id, pod.uid, reason});
    }
  }
  return page;
}

}  // namespace

WaitingPage waiting_jobs(const Engine& engine, const ForecastStarts& starts,
                         const std::string& cluster, WaitingPart part, JobId after, TimeMs now_ms) {
  if (part == WaitingPart::kBeyond) return pods_beyond(engine, cluster, after);
  WaitingPage page;
  page.part = part;
  const std::vector<JobRow> rows = engine.jobs(after, kLook, state_of(part), {});
  page.more = rows.size() == kLook;
  for (const JobRow& row : rows) {
    page.last = row.id;
    // The user who paused a job knows why.
    const bool by_us = row.state != JobState::kPaused || row.refused;
    const bool told = by_us && row.cluster == cluster && row.origin == JobOrigin::kPods &&
                      (row.reclaim.claims || now_ms - row.submit_ms >= limits::kTellWaitingMs);
    if (!told) continue;
    const std::optional<Reason> reason = engine.first_reason(row.id, 0, starts.growth.get());
    const std::optional<JobRow> whole = engine.job(row.id, true);
    if (!reason || !whole) continue;
    for (const PodRow& pod : whole->pods) {
      if (pod.uid.empty()) continue;
      page.jobs.push_back({row.id, pod.uid, *reason, start_estimate(row, starts, now_ms)});
      break;
    }
  }
  return page;
}

void Waiting::take(const WaitingPage& page, TimeMs now_ms) {
  for (const WaitingJob& job : page.jobs) {
    const bool by_pod = page.part == WaitingPart::kBeyond;
    const auto [at, is_new] = told_.try_emplace(by_pod ? job.uid : text::job_id_text(job.job));
    at->second.round = round_;
    Last& last = at->second;
    const TimeMs start_ms = told_time(job.start);
    const bool same = last.token == job.reason.token &&
                      !has_moved(last.start_ms, start_ms, now_ms) &&
                      !has_new_givers(last.givers, job.reason);
    const bool fades = now_ms - last.told_ms >= limits::kTellAgainMs && !recorder_.is_crowded();
    if (!is_new && same && !fades) continue;
    const bool anew = is_new || !same;
    if (anew) {
      last.token = job.reason.token;
      last.start_ms = start_ms;
      last.givers.clear();
      if (job.reason.token == ReasonToken::kWaitingForPreemptedWorkloads)
        last.givers = job.reason.blockers;
    }
    last.told_ms = now_ms;
    tell(job, now_ms, anew);
  }
  after_ = page.more ? page.last : JobId();
  if (page.more) return;
  if (part_ != WaitingPart::kBeyond) {
    part_ = static_cast<WaitingPart>(static_cast<unsigned>(part_) + 1);
    return;
  }
  part_ = WaitingPart::kQueued;
  std::erase_if(told_, [this](const auto& entry) { return entry.second.round != round_; });
  std::erase_if(conditions_,
                [this](const auto& entry) { return cache_.find_gpu_pod(entry.first) == nullptr; });
  ++round_;
}

void Waiting::take_unsized(const std::string& uid, TimeMs now_ms) {
  const PodEntry* const pod = cache_.find_gpu_pod(uid);
  if (pod == nullptr || conditions_.contains(uid)) return;
  Reason reason;
  reason.token = ReasonToken::kGangIncomplete;
  reason.detail = "the number of pods of " + pod->gpu->owner_kind + " " + pod->gpu->owner_name +
                  " that start together is unknown: write the annotation " +
                  std::string(names::kGangSize) + ": \"N\" on its pod templates";
  tell({{}, uid, reason}, now_ms, true);
}

void Waiting::take_early(const std::string& uid, TimeMs now_ms) {
  const PodEntry* const pod = cache_.find_gpu_pod(uid);
  if (pod == nullptr) return;
  const PodWait& waits = pod->gpu->claims.waits;
  Reason reason;
  if (!waits.claim.empty()) {
    reason.token = ReasonToken::kUnknownDeviceClass;
    reason.detail = waits.claim;
  } else if (!waits.volume.empty()) {
    reason.token = ReasonToken::kWaitingForVolumes;
    reason.detail = waits.volume;
  } else {
    reason.token = ReasonToken::kWaitingForPods;
    reason.detail = waits.near;
  }
  tell({{}, uid, reason}, now_ms, true);
}

void Waiting::put_off(const std::string& uid, const std::string& words, TimeMs now_ms) {
  if (cache_.find_gpu_pod(uid) == nullptr || conditions_.contains(uid)) return;
  Reason reason;
  reason.token = ReasonToken::kWaitingForQuota;
  reason.detail = words;
  tell({{}, uid, reason}, now_ms, true);
}

void Waiting::tell(const WaitingJob& job, TimeMs now_ms, bool anew) {
  const PodEntry* const pod = cache_.find_gpu_pod(job.uid);
  if (pod == nullptr) return;
  // The detail is cut, so that the text after it is complete.
  std::string message = cut_text(printable(job.reason.detail), limits::kMaxMessageBytes / 2);
  const auto add = [&message](std::string_view sentence) {
    if (!message.empty()) message += ". ";
    message += sentence;
  };
  if (job.start) add(start_sentence(*job.start, now_ms));
  const OwnerEntry* const owner = cache_.owners().find(pod->gpu->owner_uid);
  if (owner != nullptr && owner->has_deadline) {
    add("Its Job has activeDeadlineSeconds, which counts while it waits");
  }
  const std::string reason(enum_name(job.reason.token));
  const std::string words = message.empty() ? reason : reason + ": " + message;
  recorder_.tell({"v1", "Pod", pod->ns, pod->name, job.uid, "Waiting", "Queue", words, false});
  const GpuPodEntry& gpu = *pod->gpu;
  if (!gpu.owner_uid.empty()) {
    recorder_.tell({gpu.owner_api, gpu.owner_kind, pod->ns, gpu.owner_name, gpu.owner_uid,
                    "Waiting", "Queue", words, false});
  }
  if (!anew) return;
  KubeCall status{"PATCH", pod_path(pod->ns, pod->name), R"({"metadata":{"uid":)",
                  "application/merge-patch+json"};
  append_json_string(status.body, job.uid);
  status.body += R"(,"annotations":{)";
  append_json_member(status.body, names::kStatus, words);
  status.body += "}}}";
  recorder_.write(std::move(status));
  const TimeMs since_ms = conditions_.try_emplace(job.uid, now_ms).first->second;
  set_condition(*pod, true, reason, message, since_ms);
}

void Waiting::released(const std::string& uid, TimeMs now_ms) {
  const PodEntry* const pod = cache_.find_gpu_pod(uid);
  if (conditions_.erase(uid) == 0 || pod == nullptr) return;
  set_condition(*pod, false, "Released", "its gate is open", now_ms);
}

void Waiting::set_condition(const PodEntry& pod, bool queued, std::string_view reason,
                            std::string_view message, TimeMs since_ms) {
  KubeCall call{"PATCH", pod_path(pod.ns, pod.name) + "/status", R"({"status":{"conditions":[{)",
                "application/strategic-merge-patch+json"};
  append_json_member(call.body, "type", names::kQueuedCondition);
  append_json_member(call.body, "status", queued ? "True" : "False");
  append_json_member(call.body, "reason", reason);
  append_json_member(call.body, "message", cut_text(message, limits::kMaxMessageBytes));
  append_json_member(call.body, "lastTransitionTime", format_time(since_ms - since_ms % kSecondMs));
  call.body += "}]}}";
  recorder_.write(std::move(call));
}

void Waiting::forget() {
  told_.clear();
  conditions_.clear();
  after_ = {};
}

}  // namespace subak
