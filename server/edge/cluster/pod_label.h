// Labels the pod of this process while it leads, so that a Service selects the leader. The label
// does not prove who leads, since it is written after the lead has changed. If a process is killed,
// its pod has the label until the process starts again.
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

// Writes the label. PodLabel has at most one open call, and retries a failed call without end. A
// failure never stops the service: it is logged, and the pauses between attempts grow. Threads: any
// may call start(), want() and stop(), one after the other. Only the object's own thread calls
// turn() and is_settled(); a test that does not call start() calls them itself.
class PodLabel {
 public:
  // `pod`: NAMESPACE/NAME. Until the first want(), it removes the label, which an earlier process
  // may have left.
  PodLabel(std::unique_ptr<KubeApi> api, const std::string& pod,
           std::function<std::int64_t()> monotonic_ms);
  ~PodLabel();  // stop()
  PodLabel(const PodLabel&) = delete;
  PodLabel& operator=(const PodLabel&) = delete;

  // Starts the thread. Call it once. Tests do not call it, and run turn() themselves.
  void start();
  // Sets whether the pod shall have the label. Returns at once.
  void want(bool leads);
  // Waits until the label is as wanted, at most limits::kPodLabelStopMs, then ends the thread. A
  // second call does nothing.
  void stop();

  // Does one round of the thread: begins a call if one is due, and waits for answers, at most
  // limits::kLoopMaxWaitMs.
  void turn();
  // True if the API server has accepted the wanted state.
  bool is_settled() const { return taken_ == wanted_; }

 private:
  // The thread's work. After stop() it ends when the label is settled, or at stop_ms_.
  void run();
  // Begins a patch if the label is not as wanted. After a failure it first waits for the end of the
  // pause.
  void write();
  // Takes the answer to a patch. `leads`: the state that the patch asked for.
  void answered(bool leads, const CallAnswer& answer);

  const std::unique_ptr<KubeApi> api_;
  // NAMESPACE/NAME, and the path at the API server.
  const std::string pod_, path_;
  const std::function<std::int64_t()> monotonic_ms_;
  // The value of the last want().
  std::atomic<bool> wanted_{false};
  // The time by which the thread must end, by the monotonic clock; INT64_MAX: stop() was not
  // called.
  std::atomic<std::int64_t> stop_ms_{INT64_MAX};

  // The state that the API server has accepted; nullopt: not known. Only the thread uses this and
  // the following members.
  std::optional<bool> taken_;
  // The state to retry at due_ms_; nullopt: the last patch succeeded.
  std::optional<bool> failed_;
  // When the next attempt is due, by the monotonic clock.
  std::int64_t due_ms_ = 0;
  Backoff backoff_;
  // True: a patch has no answer yet.
  bool is_under_way_ = false;
  std::thread thread_;
};

}  // namespace subak
