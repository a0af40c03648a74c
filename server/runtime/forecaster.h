// Keeps a forecast of every start beside the follower, tells it to readers, and follows how starts come.
// Of a large state it is made on a thread of its own, from a copy. The copy is made in slices, one a turn of
// the follower, which answers reads in between.
//
// Threads: all calls on the follower's; `wake` is called by the other one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "engine/engine.h"
#include "engine/told_starts.h"

namespace subak {

class Forecaster {
 public:
  struct Options {
    bool stepped = false;  // no threads: a read makes it
    std::function<DurationMs()> monotonic_ms;
    std::function<TimeMs()> now_ms;  // unset: that of the last fact
    std::function<void()> wake;      // a forecast is ready: call turn() soon
    // A job that was told a start has started, so far from what was expected.
    std::function<void(DurationMs error_ms)> on_start;
  };
  explicit Forecaster(Options options);
  ~Forecaster();  // ends what is under way
  Forecaster(const Forecaster&) = delete;
  Forecaster& operator=(const Forecaster&) = delete;

  // The engine has seen the fact.
  void saw(const Fact& fact);

  // What it has learned up to the fact `seq`, to be kept beside a checkpoint (server/codec/told.h).
  std::string kept(std::uint64_t seq) const;
  // After a restart, first: what was kept, as it was read. What is not there or cannot be read only widens
  // intervals. The last fact that is in it; 0: nothing was kept. Then recovered() of each fact after that
  // one, and last go_on().
  std::uint64_t restore(const Result<std::string>& kept);
  // As saw(), of a fact from before the restart: nobody is told of it again.
  void recovered(const Fact& fact) { follow(fact); }
  // `whole`: there was no gap between what was kept and the facts, so who waits is followed further.
  void go_on(const Engine& engine, bool whole);

  // Takes a forecast that is ready, begins the next one if it is due, and copies one slice of the engine's
  // state if a copy is under way.
  void turn(Engine& engine);
  // A copy is under way: turn() has more to do at once.
  bool is_copying() const { return copying_; }
  // There is a forecast to be taken.
  bool is_ready() const { return ready_; }
  // How long until the next one is due; nullopt: nothing waits, or one is under way.
  std::optional<DurationMs> due_in(const Engine& engine) const;
  // For a read: of a small state it is made now, if something has changed.
  const ForecastStarts& starts(const Engine& engine);
  // The newest, however old; stepped: as starts().
  const ForecastStarts& newest(const Engine& engine) {
    return options_.stepped ? starts(engine) : starts_;
  }
  std::uint64_t made() const { return made_count_; }

 private:
  // What the job that starts was told; nullopt: nothing, or the fact is no start.
  std::optional<ExpectedStart> follow(const Fact& fact);
  void take(Forecast forecast);
  void begin(Engine& engine);
  void copy_slice(Engine& engine);
  void make_beside(ForecastBasis basis);
  void make_at_once(const Engine& engine);
  TimeMs now(const Engine& engine) const;
  bool is_of(const Engine& engine) const { return starts_.forecast->seq() == engine.seq(); }

  Options options_;
  ForecastStarts starts_{std::make_shared<const Forecast>(), {}};
  ToldStarts told_;
  std::uint64_t made_count_ = 0;
  DurationMs made_ms_ = 0, took_ms_ = 0;  // the newest
  DurationMs begun_ms_ = 0;
  bool making_ = false;   // from the first slice of the copy on
  bool copying_ = false;  // and the copy is not complete yet
  std::atomic<bool> ready_ = false, stop_ = false;
  Forecast result_;  // the thread's, until it is ready
  std::thread thread_;
};

}  // namespace subak
