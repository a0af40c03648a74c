// Runs the admission webhook of a process that has a store. The webhook decides reviews by the
// runtime's View, a read-only copy of the state. A shared store may be unreachable at the start, so
// there is no View yet. Until the store is open, the webhook decides by the copy that an earlier
// process has left on this replica's disk (LastCopy). Without such a copy, it gates all GPU pods
// (it adds Subak's scheduling gate) and denies none (decide_without_view()). The change from the
// copy to the View does not close the listener or its connections. Private to server/service.
//
// The order of the calls is
//
//  if the store is shared:  judge_by_copy() -> start() -> judge_by() -> end_start()
//  if the store is a file:  judge_by() -> start() -> end_start()
//
// Threads: one thread calls the members in this diagram and stop(). Any thread may call the other
// members.
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

// The webhook of one process, with its listener and certificate.
class Reviewer {
 public:
  // The arguments must outlive this object, and so must the runtime that judge_by() gets.
  Reviewer(const Config& config, metrics::Events& events, const Clock& clock);
  ~Reviewer();  // stop()
  Reviewer(const Reviewer&) = delete;
  Reviewer& operator=(const Reviewer&) = delete;

  // Reads the copy. If the copy cannot be used, it logs that, and the webhook has no copy.
  // `last_ms`: the time of the last fact that this replica knows; 0: this replica knows no fact.
  // The wall clock is compared with this time before certificates are made. `dead`: see Prober.
  void judge_by_copy(std::unique_ptr<LastCopy> copy, TimeMs last_ms,
                     std::function<void(const Error&)> dead);
  // Begins to listen. If the configuration names no certificate, the service uses its own
  // certificate, which start() makes or renews. After judge_by_copy(), it also starts a prober for
  // this listener. It fails if a certificate cannot be read or made, or if the address cannot be
  // bound.
  std::optional<Error> start(const ListenerLimits& limiter);
  // From now on, the webhook decides by the View of `runtime`. The runtime must have read the
  // store, so that it has a View. After judge_by_copy(), the copy on disk is updated from now on.
  void judge_by(const Runtime& runtime);
  // Ends the start, and the prober that start() began. The service's own prober checks the listener
  // from now on.
  void end_start();
  // Stops the listener, after it has answered the reviews in progress. A second call does nothing.
  void stop();

  // Records that the store is unreachable during the start, and logs that once.
  void note_away();
  // Returns the state of the start: whether the webhook has a copy, and how old the copy is.
  // nullopt: end_start() was called, or the store is not shared.
  std::optional<metrics::StartState> start_state() const;
  // Returns the listener and its health during the start. The result is empty before the listener
  // listens, and after end_start().
  std::vector<metrics::ListenerState> start_listeners() const;

  // Call port() and the next three functions only after start().
  std::uint16_t port() const { return listening_.listener->port(); }
  ProbeResult probe(DurationMs patience_ms) { return listening_.listener->probe(patience_ms); }
  ConnectionStats connections() const { return listening_.listener->connections(); }
  TimeMs certificate_end_ms() const { return listening_.certificate->expires_at_ms(); }
  // Returns when the certificate pair changes to the next CA; 0: the configuration names the pair,
  // or there is no next CA.
  TimeMs certificate_change_ms() const;
  // Returns the warnings about the certificate for `subak status`.
  std::vector<std::string> warnings() const;

 private:
  // Returns the View by which reviews are decided: that of the runtime, or else that of the copy.
  // nullptr: there is neither.
  std::shared_ptr<const View> view() const;
  // Returns the service's time. Before judge_by(), a BelievedTime of this object gives that time.
  TimeMs now_ms();
  // Opens the configured certificate pair, or the pair that the service makes itself.
  std::optional<Error> open_certificate();
  // Starts a prober of only this listener, until end_start().
  void start_prober();

  const Config& config_;
  metrics::Events& events_;
  const Clock& clock_;
  const std::shared_ptr<const AdmissionConfig> policy_;
  // When this object was made, by the boot clock.
  const std::int64_t begun_boot_ms_;
  // nullptr before judge_by().
  std::atomic<const Runtime*> runtime_{nullptr};
  // `by_copy_` is true from judge_by_copy() to end_start(). `away_` is true after note_away().
  std::atomic<bool> by_copy_{false}, away_{false};
  // nullptr: the store is not shared.
  std::unique_ptr<LastCopy> copy_;
  // The argument `dead` for the prober of this listener.
  std::function<void(const Error&)> dead_;
  // The data that are used only until judge_by() is called.
  struct BeforeRuntime {
    mutable Mutex mutex;
    // The copy that the last process left; nullopt: there is none, or it is no longer used.
    std::optional<LastCopy::Kept> kept SUBAK_GUARDED_BY(mutex);
    // The service's time while there is no store.
    BelievedTime time SUBAK_GUARDED_BY(mutex);
  };
  BeforeRuntime before_runtime_;
  // The listener and its parts. start() makes them, and they do not change after that.
  struct Listening {
    // nullptr: a pair is configured.
    std::unique_ptr<OwnCertificate> own_certificate;
    std::shared_ptr<CertificateStore> certificate;
    // Outlives `listener`.
    std::unique_ptr<Webhook> webhook;
    std::unique_ptr<Listener> listener;
  };
  Listening listening_;
  // The prober of this listener. It exists only from start() to end_start(), if judge_by_copy() was
  // called; else nullptr.
  std::unique_ptr<Prober> prober_;
  // True: `prober_` has probed the listener once, so other threads may use all members above.
  std::atomic<bool> is_probed_{false};
};

}  // namespace subak
