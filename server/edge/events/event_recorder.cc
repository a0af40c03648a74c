#include "server/edge/events/event_recorder.h"

#include <algorithm>
#include <utility>

#include "core/content_hash.h"
#include "core/limits.h"
#include "core/printable.h"
#include "kube/event.h"
#include "kube/pod.h"

namespace subak {
namespace {

constexpr std::size_t kEventNameBytes = 220;  // of the object's name in its Event's name

// A repeated Event has the same name.
std::string event_name(const PodEvent& pod_event) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::uint64_t digest =
      content_hash(pod_event.uid + " " + pod_event.reason + " " + pod_event.note);
  std::string name = shortened(pod_event.name, kEventNameBytes) + ".";
  for (int i = 0; i < 16; ++i, digest >>= 4U) name += kHex[digest & 15U];
  return name;
}

}  // namespace

EventRecorder::EventRecorder(KubeApi& api, std::function<TimeMs()> now_ms,
                             std::function<std::int64_t()> monotonic_ms)
    : api_(api), now_ms_(std::move(now_ms)), monotonic_ms_(std::move(monotonic_ms)) {}

void EventRecorder::tell(PodEvent pod_event) { add({std::move(pod_event), {}, false}); }

void EventRecorder::write(KubeCall call) { add({std::nullopt, std::move(call), false}); }

void EventRecorder::add(Line line) {
  if (waiting_.size() >= limits::kMaxWaitingEvents) {
    waiting_.pop_front();
    ++untold_;
  }
  waiting_.push_back(std::move(line));
}

void EventRecorder::turn() {
  constexpr DurationMs kBetweenMs = kSecondMs / limits::kEventsPerSecond;
  const std::int64_t now = monotonic_ms_();
  next_ms_ = std::max(next_ms_, now - kSecondMs);  // after a pause, those of one second at once
  for (; !waiting_.empty() && next_ms_ <= now; next_ms_ += kBetweenMs) {
    Line line = std::move(waiting_.front());
    waiting_.pop_front();
    if (line.pod_event) {
      send(*line.pod_event, line.second);
    } else if (api_.call(std::move(line.call), [](const CallAnswer&, std::string_view) {})) {
      ++sent_;
    }
  }
}

bool EventRecorder::is_crowded() const { return waiting_.size() >= limits::kMaxWaitingEvents / 2; }

DurationMs EventRecorder::due_in() const {
  if (waiting_.empty()) return limits::kLoopMaxWaitMs;
  return std::clamp<DurationMs>(next_ms_ - monotonic_ms_(), 0, limits::kLoopMaxWaitMs);
}

void EventRecorder::send(const PodEvent& pod_event, bool second) {
  const std::string name = event_name(pod_event);
  KubeEvent event;
  event.name = name;
  event.regarding = {pod_event.api_version, pod_event.kind, pod_event.ns, pod_event.name,
                     pod_event.uid};
  event.reason = pod_event.reason;
  event.action = pod_event.action;
  const std::string note = printable(pod_event.note);
  event.note = note;
  event.warning = pod_event.warning;
  event.instance = "subakd";
  event.at_ms = now_ms_();
  const std::string events = "/apis/events.k8s.io/v1/namespaces/" + pod_event.ns + "/events";
  if (times_.size() > limits::kMaxWaitingEvents) times_.clear();
  const std::string path = events + "/" + name;
  const std::uint32_t times = ++times_[path];
  KubeCall call;
  if (times > 1) {
    call = {"PATCH", path, event_again(times, event.at_ms), "application/merge-patch+json"};
  } else {
    call = {"POST", events, event_body(event)};
  }
  auto answered = [this, pod_event, path, times, second](const CallAnswer& answer,
                                                         std::string_view) {
    const bool is_there = times == 1 && answer.reason == "AlreadyExists";
    const bool is_gone = times > 1 && answer.reason == "NotFound";
    if (second || (!is_there && !is_gone)) return;
    if (is_gone) times_.erase(path);
    add({pod_event, {}, true});
  };
  if (api_.call(std::move(call), std::move(answered))) ++sent_;
}

}  // namespace subak
