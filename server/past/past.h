// Serves reads of an earlier moment (`--at`) for the API. A `Past` has a thread of its own. While
// it is used, it also has a read connection to the store. It applies the facts to an engine of its
// own, so the loop and the follower never wait for it. The state of the last moment stays in memory
// for some minutes, so further reads of this moment or a later one are fast. On a long way to a
// moment, it adds past checkpoints to the store where these are far apart.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "engine/answers/queue_snapshot.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/past/fold.h"
#include "server/past/moment.h"
#include "server/past/past_limits.h"
#include "server/runtime/fair_queue.h"
#include "server/runtime/forecaster.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak {

// The state of one moment. Threads: only the thread of Past.
class PastState {
 public:
  // `time_ms`: the time that reads show as the present. It must not be before engine.now().
  PastState(const Engine& engine, TimeMs time_ms) : engine_(engine), time_ms_(time_ms) {}

  const Engine& engine() const { return engine_; }
  // Returns the moment: the time that was asked for, or the time of the fact that was asked for.
  TimeMs time_ms() const { return time_ms_; }
  // Returns the order of the queue. The first call costs O(n log n) for n waiting jobs.
  const QueueSnapshot& order();
  // Returns start estimates from a forecast of this state. Their intervals are the wide defaults,
  // since the calibration of that time is not stored. The first call costs a forecast.
  const ForecastStarts& starts();

 private:
  const Engine& engine_;
  const TimeMs time_ms_;
  std::optional<QueueSnapshot> order_;
  std::unique_ptr<Forecaster> forecaster_;
};

// A read of a moment. Past calls exactly one of `then` and `failed`, once, on its own thread.
struct PastRead {
  Moment moment;
  std::function<void(PastState&)> then;
  // nullopt: the process stops, or `wanted` returned false. An error with the field "at": the store
  // has no such moment. Any other error: the store cannot be read.
  std::function<void(const std::optional<Error>&)> failed;
  // Returns false if the caller no longer waits for the answer; `failed` is then called early. May
  // be null.
  std::function<bool()> wanted;
};

class Past {
 public:
  struct Options {
    // Returns the last fact that a read may show. Must be set. Called on the thread of Past.
    std::function<std::uint64_t()> last_seq;
    // How long the last state stays in memory after its last read.
    DurationMs keep_ms = limits::kPastKeptMs;
  };
  explicit Past(Options options) : options_(std::move(options)) {}
  ~Past() { stop(); }
  Past(const Past&) = delete;
  Past& operator=(const Past&) = delete;

  // Starts the thread. The first read opens a connection to the store. `store` must outlive this
  // object. Call it once.
  void start(Store& store);
  // Ends the present fold, fails all waiting reads, and joins the thread. Not from a read.
  void stop();
  // Queues a read. Callers take turns (FairQueue). kFull and kCallerFull: limits::kMaxPastReads or
  // limits::kMaxPastReadsPerCaller is reached. kStopped: the thread does not run. After any result
  // but kYes, Past calls no function of `read`. Threads: any.
  Queued ask(const std::string& caller, PastRead read);
  // True while a state is in memory. Threads: any.
  bool keeps_state() const { return keeps_; }

 private:
  // The connection, and the state of the last moment.
  struct Kept {
    std::unique_ptr<StoreReader> reader;
    std::unique_ptr<Fold> fold;
    std::optional<Moment> moment;
    std::unique_ptr<PastState> state;
  };

  void work();
  // Waits for the next read, and drops the kept state meanwhile if no read comes in time. nullopt:
  // the end.
  std::optional<std::pair<std::string, PastRead>> next();
  void serve(const PastRead& read);
  std::optional<Error> open();
  void drop();
  // Keeps a past checkpoint of this state, if the store lacks one.
  void keep(const Engine& engine);

  const Options options_;
  Store* store_ = nullptr;
  Kept kept_;  // only the thread uses it
  std::atomic<bool> keeps_ = false, stopping_ = false;
  Mutex mutex_;
  CondVar wake_;
  FairQueue<PastRead> reads_ SUBAK_GUARDED_BY(mutex_){limits::kMaxPastReads,
                                                      limits::kMaxPastReadsPerCaller};
  bool running_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
