// Makes the start estimates of all waiting jobs for the follower, the engine that serves reads
// (server/runtime/follower.h). It also compares the estimates with the actual starts (the
// calibration), which sets the width of later estimates' intervals. For a large state, a separate
// thread makes the estimates from a copy of the state. Each turn of the follower copies one slice
// of the state, so the follower answers reads between slices.
//
// Threads: the follower's thread makes all calls. The forecasting thread calls `wake`.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/codec/packed_facts.h"

namespace subak {

// Makes estimates for one engine, which its owner passes to each call that needs it.
class Forecaster {
 public:
  struct Options {
    // True (in tests): there is no forecasting thread, and a read makes a new forecast itself.
    bool stepped = false;
    // A monotonic clock in ms; must be set.
    std::function<DurationMs()> monotonic_ms;
    // Returns the present time, at which a new forecast begins. Unset: the time of the last fact.
    std::function<TimeMs()> now_ms;
    // Called on the forecasting thread when a forecast is ready. `wake` must make the follower call
    // turn() soon.
    std::function<void()> wake;
    // Called when a job with a start estimate starts. `error_ms`: how far the actual start is from
    // the expected one, in either direction.
    std::function<void(DurationMs error_ms)> on_start;
  };
  explicit Forecaster(Options options);
  ~Forecaster();  // ends the forecast in progress
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // Compares the start in this fact, if there is one, with the estimate for that job. Call it for
  // each fact, once the engine has the fact.
  void saw(const Fact& fact);

  // Returns the calibration data up to fact `seq`, to be stored beside a checkpoint
  // (server/codec/calibration.h).
  std::string record(std::uint64_t seq) const;
  // Restores the calibration data that was read from the store. If the data are missing or
  // unreadable, the intervals of estimates are wider, which is the only effect. Returns the number
  // of the last fact in the data; 0: there was no data. After a restart, call restore() first, then
  // recovered() for each later fact, and then go_on().
  std::uint64_t restore(const Result<std::string>& record);
  // Works as saw(), for a fact that was made before the restart. It does not call on_start, which
  // was called for this fact before the restart.
  void recovered(const Fact& fact) { follow(fact); }
  // Ends the recovery. Call it after recovered() for the last fact. `whole`: no fact is missing
  // between the calibration data and the recovered facts. Then the old estimates of waiting jobs
  // stay valid; otherwise they are dropped.
  void go_on(const Engine& engine, bool whole);

  // Does one step of the work:
  // - It puts a finished forecast in use.
  // - If a copy is in progress, it copies one slice of the engine's state.
  // - Otherwise, if the next forecast is due, it makes the forecast of a small state at once. For a
  //   large state it begins a copy, but only if `may_copy` is set.
  void turn(Engine& engine, bool may_copy = true);
  // True while a copy is in progress. The follower then calls turn() again without waiting.
  bool is_copying() const { return copying_; }
  // True if a finished forecast waits.
  bool is_ready() const { return ready_; }
  // Returns the time until the next forecast is due. nullopt: no forecast becomes due, because no
  // job waits and there are no node pools of an autoscaler, a forecast is in progress, or the mode
  // is stepped.
  std::optional<DurationMs> due_in(const Engine& engine) const;
  // Returns the estimates for a read. If a small state has changed since the newest forecast, it
  // first makes a new forecast, unless the last one took long and was made too recently
  // (limits::kForecastRest).
  const ForecastStarts& starts(const Engine& engine);
  // Returns the newest estimates, however old they are. In stepped mode, it does the same as
  // starts().
  const ForecastStarts& newest(const Engine& engine) {
    return options_.stepped ? starts(engine) : starts_;
  }
  // The number of forecasts made so far.
  std::uint64_t made() const { return made_count_; }

 private:
  // Updates the calibration by this fact. If the fact is a job's start, returns the estimate for
  // that start. nullopt: the fact is no start, or the job had no estimate.
  std::optional<ExpectedStart> follow(const Fact& fact);
  // Puts the forecast and the growth of pools in use. A job that the previous forecast did not have
  // gets its first estimate now.
  void take(Forecast forecast, Growth growth);
  // Begins a copy of the engine's state.
  void begin(Engine& engine);
  // Copies the next slice. After the last slice it starts the forecasting thread.
  void copy_slice(Engine& engine);
  // Starts the thread that makes the forecast from the copy.
  void make_beside();
  // Makes the forecast on the calling thread, from the engine, and puts it in use.
  void make_at_once(const Engine& engine);
  // Returns the time at which a new forecast begins.
  TimeMs now(const Engine& engine) const;
  // True if the newest forecast was made from the engine's present state.
  bool is_of(const Engine& engine) const { return starts_.forecast->seq() == engine.seq(); }

  Options options_;
  ForecastStarts starts_{std::make_shared<const Forecast>(), {}};
  StartCalibration calibration_;
  std::uint64_t made_count_ = 0;
  // `made_ms_`: when the newest forecast was ready, by the monotonic clock. `took_ms_`: how long
  // that forecast took.
  DurationMs made_ms_ = 0, took_ms_ = 0;
  // When the last forecast was begun, by the monotonic clock.
  DurationMs begun_ms_ = 0;
  // True from the first slice of the copy until the forecast is in use.
  bool making_ = false;
  // True: a copy was begun and is not complete yet.
  bool copying_ = false;
  struct Copy {
    // All data of the copy, except the facts.
    ForecastBasis basis;
    // The facts of the slices that were copied so far.
    PackedFacts facts;
    // True: a fact could not be encoded (PackedFacts::add()), so there is no forecast of this copy.
    bool lost = false;
  };
  Copy copy_;
  // `ready_`: a finished forecast is in `result_` and not in use yet. `stop_`: the destructor has
  // asked the thread to end its forecast.
  std::atomic<bool> ready_ = false, stop_ = false;
  // The results of the thread. Only the thread uses them until `ready_` is set.
  Forecast result_;
  Growth growth_;
  std::thread thread_;
};

}  // namespace subak
