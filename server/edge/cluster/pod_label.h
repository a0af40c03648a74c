// Labels the pod of this process while it leads, so that a Service selects the leader. The label is
// a hint, not a proof: it is written after the lead changed. A pod whose process was killed keeps
// it until the process starts again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "server/edge/client/backoff.h"
#include "server/edge/client/client.h"

namespace subak {

// Keeps one call open at a time. It logs a failure and retries without end. Threads: any may call
// start(), want() and stop(), one after the other. turn() and is_settled() belong to the label's
// thread, or without start() to the caller.
// Failures never stop the service. They are logged at each attempt, and backoff spaces the
// attempts.
class PodLabel {
 public:
  // `pod`: NAMESPACE/NAME. Until want() says otherwise the label is removed, as after a crash.
  PodLabel(std::unique_ptr<KubeApi> api, const std::string& pod,
           std::function<std::int64_t()> monotonic_ms);
  ~PodLabel();  // stop()
  PodLabel(const PodLabel&) = delete;
  PodLabel& operator=(const PodLabel&) = delete;

  // Once. Without it the caller runs turn(), as tests do.
  void start();
  // Sets whether the pod shall have the label. Returns at once.
  void want(bool leads);
  // Waits until the label is as wanted, limits::kPodLabelStopMs at most. Idempotent.
  void stop();

  // One round of the thread.
  // Begins a call if one is due, and waits for answers, at most limits::kLoopMaxWaitMs.
  void turn();
  // True if the API server has accepted the wanted state.
  bool is_settled() const { return taken_ == wanted_; }

 private:
  // The thread, until the label is settled after stop(), or stop_ms_.
  void run();
  // Begins a patch if the label is not as wanted. A failed state waits for its pause.
  void write();
  // `leads`: the state that the patch asked for.
  void answered(bool leads, const CallAnswer& answer);

  const std::unique_ptr<KubeApi> api_;
  // NAMESPACE/NAME, and the path at the API server.
  const std::string pod_, path_;
  const std::function<std::int64_t()> monotonic_ms_;
  // As want() said last.
  std::atomic<bool> wanted_{false};
  // The thread's latest end, monotonic; INT64_MAX: stop() was not called.
  std::atomic<std::int64_t> stop_ms_{INT64_MAX};

  // Used by the thread only.
  // The state that the API server has accepted; nullopt: not known.
  std::optional<bool> taken_;
  // The state to retry at due_ms_; nullopt: the last patch succeeded.
  std::optional<bool> failed_;
  // Monotonic.
  std::int64_t due_ms_ = 0;
  Backoff backoff_;
  // A patch has no answer yet.
  bool is_under_way_ = false;
  std::thread thread_;
};

}  // namespace subak
