// The label of the pod that we run in, by which a Service finds who leads. A hint, never proof: it is written after the
// lead has changed, and a pod whose process was killed keeps it until that starts again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "server/kube/backoff.h"
#include "server/kube/client.h"

namespace subak {

// Threads: start(), want() and stop() any, one after the other; turn() and is_settled() that of the label, or without
// start() the caller's. One call at a time; what fails is logged and tried again, for ever.
class PodLabel {
 public:
  // `pod`: NAMESPACE/NAME. The pod is to be without the label, as after a crash, until want() says otherwise.
  PodLabel(std::unique_ptr<KubeApi> api, const std::string& pod,
           std::function<std::int64_t()> monotonic_ms);
  ~PodLabel();  // stop()
  PodLabel(const PodLabel&) = delete;
  PodLabel& operator=(const PodLabel&) = delete;

  void start();
  // Returns at once.
  void want(bool leads);
  // Waits for what is wanted to be there, for limits::kPodLabelStopMs at most. Idempotent.
  void stop();

  // What the thread does each time.
  void turn();
  // The API server has taken what is wanted.
  bool is_settled() const { return taken_ == wanted_; }

 private:
  void run();
  void write();
  void answered(bool leads, const CallAnswer& answer);

  const std::unique_ptr<KubeApi> api_;
  const std::string pod_, path_;
  const std::function<std::int64_t()> monotonic_ms_;
  std::atomic<bool> wanted_{false};
  std::atomic<std::int64_t> stop_ms_{INT64_MAX};  // monotonic: when the thread ends at the latest

  // Of the thread.
  std::optional<bool> taken_;   // by the API server
  std::optional<bool> failed_;  // what is tried again at due_ms_
  std::int64_t due_ms_ = 0;
  Backoff backoff_;
  bool is_under_way_ = false;
  std::thread thread_;
};

}  // namespace subak
