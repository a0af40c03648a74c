// The webhook of a process that has a store. It judges by the runtime's View. A shared store may be
// away at the start. Until it is open, reviews are judged by the copy that the last process left
// (LastCopy). Without a copy they are gated and not denied (decide_without_view()). The listener
// and its connections stay the same throughout. Private to server/service.
//
//  judge_by_copy(), if the store may be away -> start() -> judge_by() -> end_start()
//  judge_by() -> start() else
//
// Threads: one for these and stop(); the rest by any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/webhook.h"
#include "core/error.h"
#include "net/certificates.h"
#include "net/listener.h"
#include "server/config/config.h"
#include "server/leader/last_copy.h"
#include "server/metrics/events.h"
#include "server/metrics/page.h"
#include "server/runtime/clock/believed_time.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"
#include "server/service/own_certificate.h"
#include "server/service/prober.h"
#include "threads/mutex.h"

namespace subak {

class Reviewer {
 public:
  // The arguments outlive it, as does the runtime that it judges by.
  Reviewer(const Config& config, metrics::Events& events, const Clock& clock);
  ~Reviewer();  // stop()
  Reviewer(const Reviewer&) = delete;
  Reviewer& operator=(const Reviewer&) = delete;

  // Reads the copy; the log says if it is unusable. `last_ms`: time of the last fact that this
  // replica knows, 0 for none. The wall clock alone is not believed when certificates are made.
  // `dead`: see Prober.
  // A copy that cannot be read counts as none.
  void judge_by_copy(std::unique_ptr<LastCopy> copy, TimeMs last_ms,
                     std::function<void(const Error&)> dead);
  // Listens. Without a certificate in the configuration it makes its own, or renews it.
  // Errors: a certificate that cannot be read or made, an address that cannot be bound. By a copy
  // it also starts its own prober.
  std::optional<Error> start(const ListenerLimits& limiter);
  // Judges by the View of a runtime that has read the store from now on. After judge_by_copy() the
  // copy is also kept up to date.
  // `runtime` has a View.
  void judge_by(const Runtime& runtime);
  // Ends the start: from now on the service's own prober checks the listener.
  void end_start();
  // Idempotent. Reviews in flight are answered.
  void stop();

  // Records that the store was away during the start.
  // Logs it once.
  void note_away();
  // Returns the basis until end_start(). nullopt: the process has started, or the store is not
  // shared.
  std::optional<metrics::StartState> start_state() const;
  // Returns the listener and its health until then, once it listens.
  std::vector<metrics::ListenerState> start_listeners() const;

  // After start().
  std::uint16_t port() const { return listening_.listener->port(); }
  ProbeResult probe(DurationMs patience_ms) { return listening_.listener->probe(patience_ms); }
  ConnectionStats connections() const { return listening_.listener->connections(); }
  TimeMs certificate_end_ms() const { return listening_.certificate->expires_at_ms(); }
  // 0 for a configured pair.
  TimeMs certificate_change_ms() const;
  // Returns the certificate's warnings for `subak status`.
  std::vector<std::string> warnings() const;

 private:
  // Returns the basis of reviews: the runtime's View, else that of the copy; nullptr: there is
  // neither.
  std::shared_ptr<const View> view() const;
  // Returns the service's time; before judge_by() by what is believed of the wall clock.
  TimeMs now_ms();
  // Opens the configured pair, or makes an own one.
  std::optional<Error> open_certificate();
  // Starts a prober of this listener alone, until end_start().
  void start_prober();

  const Config& config_;
  metrics::Events& events_;
  const Clock& clock_;
  const std::shared_ptr<const AdmissionConfig> policy_;
  // When this object was made, by the boot clock.
  const std::int64_t begun_boot_ms_;
  // nullptr before judge_by().
  std::atomic<const Runtime*> runtime_{nullptr};
  // `by_copy_`: from judge_by_copy() to end_start(). `away_`: note_away() was called.
  std::atomic<bool> by_copy_{false}, away_{false};
  // nullptr: the store is not shared.
  std::unique_ptr<LastCopy> copy_;
  // For the prober of this listener.
  std::function<void(const Error&)> dead_;
  // Until judge_by().
  struct BeforeRuntime {
    mutable Mutex mutex;
    // The copy that the last process left; nullopt: there is none, or no longer.
    std::optional<LastCopy::Kept> kept SUBAK_GUARDED_BY(mutex);
    // The time without a store.
    BelievedTime time SUBAK_GUARDED_BY(mutex);
  };
  BeforeRuntime before_runtime_;
  // What listens. Made by start(), and not changed after it.
  struct Listening {
    // nullptr: a pair is configured.
    std::unique_ptr<OwnCertificate> own_certificate;
    std::shared_ptr<CertificateStore> certificate;
    // Outlives `listener`.
    std::unique_ptr<Webhook> webhook;
    std::unique_ptr<Listener> listener;
  };
  Listening listening_;
  // Of a start without the store; else nullptr.
  std::unique_ptr<Prober> prober_;
  // `prober_` has probed the listener once, so all above may be used.
  std::atomic<bool> is_probed_{false};
};

}  // namespace subak
