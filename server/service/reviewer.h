// The webhook of a process that has a store, and what it judges by: the runtime's View. A store that others have too may
// be away at the start: until it is open, reviews are judged by the copy that the last process left (LastCopy), or gated
// without denying where there is none (decide_without_view()). The listener and its connections are the same all the
// while. Private to server/service.
//
//   judge_by_copy(), if the store may be away -> start() -> judge_by() -> end_start()
//   judge_by() -> start() else
//
// Threads: one for these and stop(); the rest by any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "admission/certificates.h"
#include "admission/listener.h"
#include "admission/webhook.h"
#include "core/error.h"
#include "server/config/config.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/runtime/believed_time.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"
#include "server/service/last_copy.h"
#include "server/service/own_certificate.h"
#include "server/service/prober.h"

namespace subak {

class Reviewer {
 public:
  // What it is given outlives it, as the runtime does that it judges by.
  Reviewer(const Config& config, metrics::Events& events, const Clock& clock);
  ~Reviewer();  // stop()
  Reviewer(const Reviewer&) = delete;
  Reviewer& operator=(const Reviewer&) = delete;

  // Reads the copy; the log says where it cannot be used. `last_ms`: when the last fact was that this replica knows (0: it
  // knows none), as the wall clock alone is not believed where certificates are made. `dead`: see Prober.
  void judge_by_copy(std::unique_ptr<LastCopy> copy, TimeMs last_ms,
                     std::function<void(const Error&)> dead);
  // Listens. Without a certificate in the configuration it makes its own, or renews it.
  std::optional<Error> start(const DoorLimits& door);
  // From now on by the View of a runtime that has read the store; after judge_by_copy() the copy is kept up to date.
  void judge_by(const Runtime& runtime);
  // The process has started: from now on others ask the listener whether it serves.
  void end_start();
  void stop();

  // The store was seen to be away while the process starts.
  void note_away();
  // What is judged by until end_start(). nullopt: the process has started, or its store is its own.
  std::optional<metrics::StartState> start_state() const;
  // Until then, once it listens: the listener, and whether it serves.
  std::vector<metrics::ListenerState> start_listeners() const;

  // After start().
  std::uint16_t port() const { return listener_->port(); }
  ProbeResult probe(DurationMs patience_ms) { return listener_->probe(patience_ms); }
  ConnectionStats connections() const { return listener_->connections(); }
  TimeMs certificate_end_ms() const { return certificate_->expires_at_ms(); }
  TimeMs certificate_change_ms() const;
  // What `subak status` says of the certificate.
  std::vector<std::string> warnings() const;

 private:
  std::shared_ptr<const View> view() const;
  TimeMs now_ms();
  std::optional<Error> open_certificate();
  void start_prober();

  const Config& config_;
  metrics::Events& events_;
  const Clock& clock_;
  const std::shared_ptr<const AdmissionConfig> policy_;
  const std::int64_t begun_boot_ms_;
  std::atomic<const Runtime*> runtime_{nullptr};
  std::atomic<bool> by_copy_{false}, away_{false};
  std::unique_ptr<LastCopy> copy_;  // none where the store is this process's own
  std::function<void(const Error&)> dead_;
  mutable std::mutex mutex_;
  // Until judge_by(), under the mutex.
  std::optional<LastCopy::Kept> kept_;
  BelievedTime time_;
  std::unique_ptr<OwnCertificate> own_certificate_;  // none where a pair is configured
  std::shared_ptr<CertificateStore> certificate_;
  std::unique_ptr<Webhook> webhook_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Prober> prober_;      // of a start without the store
  std::atomic<bool> is_probed_{false};  // by that one, so all above may be asked
};

}  // namespace subak
