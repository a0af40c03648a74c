// Ready means it serves: each listener is asked again and again over its own socket, in room that
// it keeps for that. One that does not answer makes the service not ready; one that lets nobody in
// for long ends the process, since a restart mends that and nothing else does. Full is neither.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "admission/probe.h"
#include "core/error.h"
#include "core/limits.h"
#include "server/runtime/ports.h"

namespace subak {

// The judgement on one listener, without a thread.
class ProbeJudge {
 public:
  explicit ProbeJudge(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Where nothing could be asked, the judgement stays as it was.
  void take(const ProbeResult& result, DurationMs now_ms);
  bool serves() const { return serves_; }
  // It has let nobody in for longer than the patience.
  bool dead() const { return dead_; }

 private:
  DurationMs patience_ms_;
  bool serves_ = false, dead_ = false;
  std::optional<DurationMs> shut_since_ms_;
};

// What is asked.
struct Probed {
  std::string name;
  std::function<ProbeResult(DurationMs patience_ms)> ask;
};

class Prober {
 public:
  // `dead` is called on the prober's thread when a listener is, with its name.
  // `clock` outlives the prober.
  Prober(std::vector<Probed> probed, const Clock& clock, std::function<void(const Error&)> dead,
         DurationMs every_ms = limits::kProbeEveryMs,
         DurationMs patience_ms = limits::kProbePatienceMs);
  ~Prober();  // stop()
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Asks all of them, for the first time, before the thread begins.
  void start();
  // Asks no more; waits for a question under way.
  void stop();
  // Of the last question. Threads: any.
  bool serves(std::size_t index) const { return asked_[index].serves; }

 private:
  struct Asked {
    Asked(Probed p, DurationMs patience_ms) : what(std::move(p)), judge(patience_ms) {}
    Probed what;
    ProbeJudge judge;
    std::atomic<bool> serves{false};
  };

  void run();
  void look(Asked& asked);

  std::deque<Asked> asked_;
  const Clock& clock_;
  std::function<void(const Error&)> dead_;
  DurationMs every_ms_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace subak
