// Makes the start estimates of all waiting jobs for the follower, and compares them with actual
// starts. For a large state it makes them on a separate thread, from a copy of the state. It copies
// one slice of the state in each turn of the follower. Between slices, the follower answers reads.
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

class Forecaster {
 public:
  struct Options {
    // True: there are no threads, and a read makes the forecast.
    bool stepped = false;
    // A monotonic clock in ms; must be set.
    std::function<DurationMs()> monotonic_ms;
    // The time at which forecasts begin. Unset: the time of the last fact.
    std::function<TimeMs()> now_ms;
    // Called on the forecasting thread when a forecast is ready. Then turn() should be called soon.
    std::function<void()> wake;
    // Called when a job with a start estimate starts. `error_ms`: the difference to the expected
    // start.
    std::function<void(DurationMs error_ms)> on_start;
  };
  explicit Forecaster(Options options);
  ~Forecaster();  // ends the forecast in progress
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // Takes a fact. Call it when the engine has the fact.
  void saw(const Fact& fact);

  // Returns the calibration data up to fact `seq`, to be stored beside a checkpoint
  // (server/codec/calibration.h).
  std::string record(std::uint64_t seq) const;
  // Restores the calibration data as read from the store. Call it first after a restart. If the
  // data are missing or unreadable, intervals are only wider. Returns the number of the last fact
  // in the data; 0: there was none. Then call recovered() for each later fact, and at last go_on().
  std::uint64_t restore(const Result<std::string>& record);
  // As saw(), for a fact from before the restart. It does not call on_start again.
  void recovered(const Fact& fact) { follow(fact); }
  // Ends the recovery. Call it after the recovered facts. `whole`: there was no gap between the
  // data and the facts, so the old estimates of waiting jobs stay valid.
  void go_on(const Engine& engine, bool whole);

  // Puts a finished forecast in use, and begins the next one if it is due. If a copy is in
  // progress, it copies one slice of the engine's state.
  // It begins a copy only if `may_copy` is set.
  void turn(Engine& engine, bool may_copy = true);
  // True while a copy is in progress: call turn() again at once.
  bool is_copying() const { return copying_; }
  // True if a finished forecast waits.
  bool is_ready() const { return ready_; }
  // Returns the time until the next forecast is due; nullopt: no job waits, or a forecast is in
  // progress.
  std::optional<DurationMs> due_in(const Engine& engine) const;
  // Returns the estimates for a read. For a small state, it first makes a new forecast if the state
  // has changed.
  const ForecastStarts& starts(const Engine& engine);
  // Returns the newest estimates, however old. In stepped mode, it does the same as starts().
  const ForecastStarts& newest(const Engine& engine) {
    return options_.stepped ? starts(engine) : starts_;
  }
  // The number of forecasts made so far.
  std::uint64_t made() const { return made_count_; }

 private:
  // Returns the estimate of the job that starts by this fact. nullopt: the job had no estimate, or
  // the fact is no start.
  std::optional<ExpectedStart> follow(const Fact& fact);
  // Puts the forecast in use. A job that is in it for the first time gets its first estimate.
  void take(Forecast forecast);
  // Begins a copy of the engine's state.
  void begin(Engine& engine);
  // Copies the next slice; after the last one the thread starts.
  void copy_slice(Engine& engine);
  // Makes the forecast on a thread, from the copy.
  void make_beside();
  // Makes the forecast now, from the engine.
  void make_at_once(const Engine& engine);
  // Returns the time at which the forecast begins.
  TimeMs now(const Engine& engine) const;
  // True if the newest forecast is of the engine's present state.
  bool is_of(const Engine& engine) const { return starts_.forecast->seq() == engine.seq(); }

  Options options_;
  ForecastStarts starts_{std::make_shared<const Forecast>(), {}};
  StartCalibration calibration_;
  std::uint64_t made_count_ = 0;
  // `made_ms_`: when the newest forecast was ready, monotonic. `took_ms_`: how long it took.
  DurationMs made_ms_ = 0, took_ms_ = 0;
  // When the last forecast was begun, monotonic.
  DurationMs begun_ms_ = 0;
  // True from the first slice of the copy until the forecast is in use.
  bool making_ = false;
  // True: the copy is not complete yet.
  bool copying_ = false;
  struct Copy {
    // All data of the copy except the facts.
    ForecastBasis basis;
    // The facts of the slices so far.
    PackedFacts facts;
    // True: a fact could not be packed, so there is no forecast of this copy.
    bool lost = false;
  };
  Copy copy_;
  // `ready_`: a forecast waits in `result_`. `stop_`: the destructor ends the forecast in progress.
  std::atomic<bool> ready_ = false, stop_ = false;
  // The forecast that the thread makes. Only the thread uses it until `ready_` is set.
  Forecast result_;
  std::thread thread_;
};

}  // namespace subak
