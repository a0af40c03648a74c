#include "server/edge/cluster/teller.h"

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
std::string event_name(const Told& told) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::uint64_t digest = content_hash(told.uid + " " + told.reason + " " + told.note);
  std::string name = shortened(told.name, kEventNameBytes) + ".";
  for (int i = 0; i < 16; ++i, digest >>= 4U) name += kHex[digest & 15U];
  return name;
}

}  // namespace

Teller::Teller(KubeApi& api, std::function<TimeMs()> now_ms,
               std::function<std::int64_t()> monotonic_ms)
    : api_(api), now_ms_(std::move(now_ms)), monotonic_ms_(std::move(monotonic_ms)) {}

void Teller::tell(Told told) { add({std::move(told), {}, false}); }

void Teller::write(KubeCall call) { add({std::nullopt, std::move(call), false}); }

void Teller::add(Line line) {
  if (waiting_.size() >= limits::kMaxTold) {
    waiting_.pop_front();
    ++untold_;
  }
  waiting_.push_back(std::move(line));
}

void Teller::turn() {
  constexpr DurationMs kBetweenMs = kSecondMs / limits::kToldPerSecond;
  const std::int64_t now = monotonic_ms_();
  next_ms_ = std::max(next_ms_, now - kSecondMs);  // after a pause, those of one second at once
  for (; !waiting_.empty() && next_ms_ <= now; next_ms_ += kBetweenMs) {
    Line line = std::move(waiting_.front());
    waiting_.pop_front();
    if (line.told) {
      send(*line.told, line.second);
    } else if (api_.call(std::move(line.call), [](const CallAnswer&, std::string_view) {})) {
      ++sent_;
    }
  }
}

bool Teller::is_crowded() const { return waiting_.size() >= limits::kMaxTold / 2; }

DurationMs Teller::due_in() const {
  if (waiting_.empty()) return limits::kLoopMaxWaitMs;
  return std::clamp<DurationMs>(next_ms_ - monotonic_ms_(), 0, limits::kLoopMaxWaitMs);
}

void Teller::send(const Told& told, bool second) {
  const std::string name = event_name(told);
  KubeEvent event;
  event.name = name;
  event.regarding = {told.api_version, told.kind, told.ns, told.name, told.uid};
  event.reason = told.reason;
  event.action = told.action;
  const std::string note = printable(told.note);
  event.note = note;
  event.warning = told.warning;
  event.instance = "subakd";
  event.at_ms = now_ms_();
  const std::string events = "/apis/events.k8s.io/v1/namespaces/" + told.ns + "/events";
  if (times_.size() > limits::kMaxTold) times_.clear();
  const std::string path = events + "/" + name;
  const std::uint32_t times = ++times_[path];
  KubeCall call;
  if (times > 1) {
    call = {"PATCH", path, event_again(times, event.at_ms), "application/merge-patch+json"};
  } else {
    call = {"POST", events, event_body(event)};
  }
  auto answered = [this, told, path, times, second](const CallAnswer& answer, std::string_view) {
    const bool is_there = times == 1 && answer.reason == "AlreadyExists";
    const bool is_gone = times > 1 && answer.reason == "NotFound";
    if (second || (!is_there && !is_gone)) return;
    if (is_gone) times_.erase(path);
    add({told, {}, true});
  };
  if (api_.call(std::move(call), std::move(answered))) ++sent_;
}

}  // namespace subak
