// Probes each listener again and again over its own socket, in room reserved for that. The service
// is ready only while all listeners answer. A listener that accepts no connection for long ends the
// process, since only a restart repairs that. A full listener counts as neither.
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

// The judgement on one listener, without a thread.
// Threads: one.
class ProbeJudge {
 public:
  explicit ProbeJudge(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Takes a probe's result. If no probe was possible, the judgement stays unchanged.
  // `now_ms`: a monotonic clock. Only kShut counts as not accepting: a listener that is silent
  // accepts.
  void take(const ProbeResult& result, DurationMs now_ms);
  // True if the last probe was answered. False before the first.
  bool serves() const { return serves_; }
  // True if it has accepted no connection for longer than the patience.
  // A listener that accepts again stays dead until it is shut again: the patience then begins
  // again.
  bool dead() const { return dead_; }

 private:
  DurationMs patience_ms_;
  bool serves_ = false, dead_ = false;
  // When a probe first found it shut; nullopt: the last one did not.
  std::optional<DurationMs> shut_since_ms_;
};

// A listener with its probe.
// `ask` blocks at most patience_ms and is called by one thread at a time.
struct Probed {
  // "webhook", "grpc" or "http": for the log.
  std::string name;
  // Returns what the listener's own probe() found.
  std::function<ProbeResult(DurationMs patience_ms)> ask;
};

class Prober {
 public:
  // `dead` is called on the prober's thread with the name of a dead listener. `clock` outlives the
  // prober.
  // `dead` may be empty: death is then only logged. It is called after each probe of a dead
  // listener, so it must bear repetition. A probe may take limits::kProbeAnswerMs.
  Prober(std::vector<Probed> probed, const Clock& clock, std::function<void(const Error&)> dead,
         DurationMs every_ms = limits::kProbeEveryMs,
         DurationMs patience_ms = limits::kProbePatienceMs);
  ~Prober();  // stop()
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Probes all listeners once before the thread begins.
  // Returns after these first probes. Call it once.
  void start();
  // Stops probing; waits for a probe in progress.
  void stop();
  // Returns the result of the last probe. Threads: any.
  // `index`: in the list that the constructor got. False before start().
  bool serves(std::size_t index) const { return asked_[index].serves; }

 private:
  // A listener with its judgement.
  struct Asked {
    Asked(Probed p, DurationMs patience_ms) : what(std::move(p)), judge(patience_ms) {}
    Probed what;
    ProbeJudge judge;
    // judge.serves(), for other threads.
    std::atomic<bool> serves{false};
  };

  // The prober's thread, until stop().
  void run();
  // Probes one listener. A change goes to the log.
  void look(Asked& asked);

  // In the order of the constructor's list.
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
