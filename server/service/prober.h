// Probes each listener again and again over its own socket, in slots reserved for probes. The
// service is ready only while all listeners answer. If a listener accepts no connection for long,
// the process ends, since only a restart repairs that. A listener that is only full of other
// connections still answers probes.
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

// Derives the state of one listener from probe results, without a thread.
// Threads: one.
class ProbeJudge {
 public:
  explicit ProbeJudge(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Takes a probe's result. If no probe was possible, the state stays unchanged.
  // `now_ms`: a monotonic clock. Only kShut means that the listener does not accept: a silent
  // listener accepts.
  void take(const ProbeResult& result, DurationMs now_ms);
  // True if the last probe was answered. False before the first.
  bool serves() const { return serves_; }
  // True if the listener has accepted no connection for longer than the patience.
  // The result stays true if the listener accepts again. It becomes false when the listener is shut
  // again, and the patience then begins again.
  bool dead() const { return dead_; }

 private:
  DurationMs patience_ms_;
  bool serves_ = false, dead_ = false;
  // When a probe first found the listener shut; nullopt: the last probe did not find it shut.
  std::optional<DurationMs> shut_since_ms_;
};

// A listener with the function that probes it.
struct Probed {
  // "webhook", "grpc" or "http": for the log.
  std::string name;
  // Returns the result of the listener's probe(). It blocks for at most patience_ms. One thread
  // calls it at a time.
  std::function<ProbeResult(DurationMs patience_ms)> ask;
};

class Prober {
 public:
  // The prober's thread calls `dead` after each probe of a dead listener, so it may be called
  // several times. The error names the listener. If `dead` is empty, a dead
  // listener is only logged.
  // `clock` outlives the prober. A probe may take limits::kProbeAnswerMs.
  Prober(std::vector<Probed> probed, const Clock& clock, std::function<void(const Error&)> dead,
         DurationMs every_ms = limits::kProbeEveryMs,
         DurationMs patience_ms = limits::kProbePatienceMs);
  ~Prober();  // stop()
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Probes all listeners once, then starts the thread and returns.
  // Call it once.
  void start();
  // Stops the thread. It waits for a probe in progress.
  void stop();
  // Returns true if the last probe of a listener was answered; false before start(). Threads: any.
  // `index`: the listener's position in the constructor's list.
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

  // The work of the prober's thread, until stop().
  void run();
  // Probes one listener, and logs a change.
  void look(Asked& asked);

  // The listeners, in the order of the constructor's list.
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
