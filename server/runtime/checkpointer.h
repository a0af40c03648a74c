// Makes checkpoints for the follower, the engine that serves reads (server/runtime/follower.h). A
// checkpoint is a list of facts that rebuild the state, so a start need not read all older facts.
// The Checkpointer copies the state of the follower's engine in slices, so that reads can run
// between two slices. When the copy is complete, a separate thread writes it to the store
// (docs/design/0071). Threads: the follower's thread makes all calls. The writing thread calls
// `on_written`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "engine/engine.h"
#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"

namespace subak {

// The past checkpoints of the store, as they were at the start or after the last checkpoint, and
// the attempts of this process to write one that failed.
struct PastCheckpointStats {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t failures = 0;
};

// The follower owns one Checkpointer. Memory: one copy of the state in its durable form, until it
// is written.
class Checkpointer {
 public:
  struct Options {
    // True (in tests): there is no writing thread, and begin() makes and writes the complete
    // checkpoint.
    bool stepped = false;
    // The least number of facts from one checkpoint to the next. 0: no checkpoint becomes due.
    std::uint64_t every = 0;
    // Called on the writing thread after each attempt to write a checkpoint. `seq`: the number of
    // the checkpoint's last fact. If `error` is set, the checkpoint was not written.
    std::function<void(std::uint64_t seq, const std::optional<Error>& error)> on_written;
  };
  // `store` must outlive this object. Options::on_written must be set.
  Checkpointer(Options options, Store& store);
  ~Checkpointer() { wait(); }
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Says which checkpoint is the newest in the store. The follower calls this at its start. `seq`:
  // the last fact of that checkpoint. `size`: how many facts it has.
  void found(std::uint64_t seq, std::uint64_t size);
  // Counts the past checkpoints of the store. The follower calls this at its start. A failure is
  // logged.
  void count_past(StoreReader& reader);
  // Threads: any.
  PastCheckpointStats past() const { return {past_.count, past_.bytes, past_.failures}; }
  // Returns the number of the last fact in the newest checkpoint; 0: there is none. A checkpoint in
  // progress counts. A checkpoint whose write failed counts too, so the next one is due only after
  // `every` more facts.
  std::uint64_t seq() const { return seq_; }
  // True if enough facts have come since the newest checkpoint: at least `every`, and at least half
  // the number of facts in that checkpoint. False while a checkpoint is copied or written.
  bool is_due(const Engine& engine) const;
  // Begins to copy the state. `told`: the present calibration of start estimates
  // (Forecaster::record()), which is stored beside the checkpoint. Do not call it while another
  // copy of the engine is in progress.
  void begin(Engine& engine, std::string told);
  // True from begin() until the last slice is copied.
  bool is_copying() const { return copy_.has_value(); }
  // Copies the next slice. is_copying() must be true. After the last slice it waits until an older
  // checkpoint is written, and then starts the thread that writes this one.
  void copy_slice(Engine& engine);
  // Copies all slices that are left, by calls of copy_slice(). It does nothing if no copy is in
  // progress.
  void finish_copy(Engine& engine);
  // Waits until the writing thread has written its checkpoint. Call it on the thread that calls
  // begin().
  void wait();
  // True if a UTC day was closed since the last call of add_day_sums(), or if there was no call.
  // False while a checkpoint is copied or written, and after stop_day_sums().
  bool are_days_due(const Engine& engine) const;
  // Starts the writing thread, which adds rows to the sums of days (Store::add_day_sums()). Each
  // checkpoint that is written adds them too.
  void add_day_sums(const Engine& engine);
  // Stops the work on the sums of days early, for good. The next start of the service continues it.
  // Also, no further past checkpoint is written, so that a stop takes no longer.
  void stop_day_sums() { stopping_ = true; }

 private:
  // A checkpoint on its way to the store.
  struct Copy {
    // The last fact of the state that is copied.
    std::uint64_t seq = 0;
    PackedFacts facts;
    // The calibration of start estimates that begin() got.
    std::string told;
    // Set if a fact cannot be stored. Then the checkpoint is not written.
    std::optional<Error> error;
  };
  // Writes the checkpoint and the calibration, then calls on_written. If only the write of the
  // calibration fails, it logs that failure, and on_written gets no error.
  void write(const Copy& copy);
  // Keeps the checkpoint as a past checkpoint too, if the store lacks one there. A failure is
  // logged.
  void write_past(const Copy& copy);
  // Adds rows to the sums of days. A failure is logged.
  void write_day_sums();

  Options options_;
  Store& store_;
  // `seq_`: the last fact of the newest checkpoint. `size_`: how many facts it has.
  std::uint64_t seq_ = 0, size_ = 0;
  // nullopt: no copy is in progress.
  std::optional<Copy> copy_;
  // True: a thread has begun to write a checkpoint and has not finished.
  std::atomic<bool> writing_ = false;
  // The last day that was closed at the last add_day_sums().
  std::int64_t summed_day_ = -1;
  std::atomic<bool> stopping_ = false;
  // The values of PastCheckpointStats.
  struct Past {
    std::atomic<std::uint64_t> count = 0, bytes = 0, failures = 0;
  };
  Past past_;
  std::thread thread_;
};

}  // namespace subak
