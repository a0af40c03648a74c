#include "server/edge/cluster/pod_label.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/names.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {
namespace {

// A JSON merge patch (RFC 7386): null removes the label, without effect if there is none.
std::string patch_of(bool leads) {
  return R"({"metadata":{"labels":{")" + std::string(names::kLeader) + R"(":)" +
         (leads ? R"("true")" : "null") + "}}}";
}

std::string path_of(const std::string& pod) {
  const std::size_t slash = pod.find('/');
  return pod_path(pod.substr(0, slash), pod.substr(slash + 1));
}

}  // namespace

PodLabel::PodLabel(std::unique_ptr<KubeApi> api, const std::string& pod,
                   std::function<std::int64_t()> monotonic_ms)
    : api_(std::move(api)),
      pod_(pod),
      path_(path_of(pod)),
      monotonic_ms_(std::move(monotonic_ms)) {}

PodLabel::~PodLabel() { stop(); }

void PodLabel::start() {
  thread_ = std::thread([this] { run(); });
}

void PodLabel::want(bool leads) {
  wanted_ = leads;
  api_->wake();
}

void PodLabel::stop() {
  if (!thread_.joinable()) return;
  stop_ms_ = monotonic_ms_() + limits::kPodLabelStopMs;
  api_->wake();
  thread_.join();
}

void PodLabel::run() {
  name_thread("pod-label");
  while (monotonic_ms_() < stop_ms_ && !(stop_ms_ != INT64_MAX && is_settled())) turn();
}

void PodLabel::turn() {
  write();
  const std::int64_t end_ms = std::min<std::int64_t>(stop_ms_, failed_ ? due_ms_ : INT64_MAX);
  const std::int64_t left_ms = end_ms - monotonic_ms_();
  api_->turn(std::clamp<std::int64_t>(left_ms, 0, limits::kLoopMaxWaitMs));
}

// A new state is tried at once; only the failed one waits.
void PodLabel::write() {
  const bool leads = wanted_;
  if (is_under_way_ || taken_ == leads) return;
  if (failed_ == leads && monotonic_ms_() < due_ms_) return;
  is_under_way_ = api_->call({"PATCH", path_, patch_of(leads), "application/merge-patch+json"},
                             [this, leads](const CallAnswer& answer, std::string_view) {
                               is_under_way_ = false;
                               answered(leads, answer);
                             });
}

void PodLabel::answered(bool leads, const CallAnswer& answer) {
  if (answer.outcome == Outcome::kDone) {
    taken_ = leads;
    failed_ = std::nullopt;
    return backoff_.reset();
  }
  taken_ = std::nullopt;  // it may have been done
  failed_ = leads;
  due_ms_ = monotonic_ms_() + std::max(backoff_.next(), answer.delay_ms);
  log::warn("the pod is not labelled",
            {{"pod", pod_}, {"outcome", enum_name(answer.outcome)}, {"error", answer.message}});
}

}  // namespace subak
