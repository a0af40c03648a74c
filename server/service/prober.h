// Probes each listener at intervals, over the listener's own socket. The service is ready only
// while all listeners answer. If a listener accepts no connection for a long time, the process
// ends, since only a restart repairs that. Slots for connections are reserved for probes, so a
// listener that is full of other connections still answers probes.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "net/probe.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak {

// Derives the state of one listener from the results of its probes.
// Threads: one at a time.
class ProbeJudge {
 public:
  explicit ProbeJudge(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Takes the result of a probe. If no probe was possible, the state does not change. Only kShut
  // means that the listener accepts no connections. With kSilent, the listener has accepted the
  // connection. `now_ms`: the time by a monotonic clock.
  void take(const ProbeResult& result, DurationMs now_ms);
  // True if the listener answered the last probe. False before the first probe.
  bool serves() const { return serves_; }
  // True if the listener has accepted no connection for longer than the patience, at its last probe
  // that found it shut. A probe that finds the listener open leaves the result as it is, and begins
  // the patience again.
  bool dead() const { return dead_; }

 private:
  DurationMs patience_ms_;
  bool serves_ = false, dead_ = false;
  // When a probe first found the listener shut; nullopt: the last probe did not find it shut.
  std::optional<DurationMs> shut_since_ms_;
};

// A listener, with the function that probes it.
struct Probed {
  // The name for the log: "webhook", "grpc" or "http".
  std::string name;
  // Probes the listener and returns the result. `ask` blocks for at most `patience_ms`. One thread
  // at a time calls `ask`.
  std::function<ProbeResult(DurationMs patience_ms)> ask;
};

// The thread that probes the listeners.
class Prober {
 public:
  // A listener is dead if it has accepted no connection for longer than `patience_ms` ms. The
  // prober's thread calls `dead` after each probe of a dead listener, so it may call `dead` several
  // times. The error names the listener. If `dead` is empty, a dead listener is only logged. A
  // probe may take limits::kProbeAnswerMs. `clock` must outlive the prober.
  Prober(std::vector<Probed> probed, const Clock& clock, std::function<void(const Error&)> dead,
         DurationMs every_ms = limits::kProbeEveryMs,
         DurationMs patience_ms = limits::kProbePatienceMs);
  ~Prober();  // stop()
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Probes all listeners once, starts the thread and returns. Call it once.
  void start();
  // Stops the thread, after the probe in progress has ended.
  void stop();
  // Returns true if the listener answered its last probe; false before start(). `index`: the
  // position of the listener in the list that the constructor got.
  // Threads: any.
  bool serves(std::size_t index) const { return asked_[index].serves; }

 private:
  // A listener with its state.
  struct Asked {
    Asked(Probed p, DurationMs patience_ms) : what(std::move(p)), judge(patience_ms) {}
    Probed what;
    ProbeJudge judge;
    // A copy of judge.serves(), for other threads.
    std::atomic<bool> serves{false};
  };

  // The main function of the prober's thread, until stop().
  void run();
  // Probes one listener. It logs when the listener stops or begins again to answer.
  void look(Asked& asked);

  // The listeners, in the order of the list that the constructor got.
  std::deque<Asked> asked_;
  const Clock& clock_;
  std::function<void(const Error&)> dead_;
  DurationMs every_ms_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
