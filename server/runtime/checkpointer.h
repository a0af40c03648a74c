// Makes checkpoints for the follower: it copies the facts of the engine's state in slices, and a
// thread of its own writes them to the store (docs/design/0071). Threads: the follower's, except
// on_written().
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

// Memory: one copy of the state in its durable form, until it is written.
class Checkpointer {
 public:
  struct Options {
    // No threads: begin() makes and writes all of it.
    bool stepped = false;
    // Facts from one checkpoint to the next, at least; 0: none is due.
    std::uint64_t every = 0;
    // Called after each attempt to write one, on the writing thread; an error: it was not written.
    std::function<void(std::uint64_t seq, const std::optional<Error>& error)> on_written;
  };
  // `store` outlives it. on_written must be set.
  Checkpointer(Options options, Store& store);
  ~Checkpointer() { wait(); }
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // The newest checkpoint in the store at a start: its last fact, and how many facts it has.
  void found(std::uint64_t seq, std::uint64_t size);
  // The last fact of the newest checkpoint, written or in progress.
  // 0: none yet. A checkpoint whose write failed counts too, so the next comes after `every` more
  // facts.
  std::uint64_t seq() const { return seq_; }
  // True if enough facts have come since the newest one: `every`, and half as many as that has.
  // False while one is copied or written.
  bool is_due(const Engine& engine) const;
  // Begins to copy the state. `told`: the calibration of start estimates as of now, which is stored
  // beside the checkpoint. Requires that no copy of the engine is in progress.
  void begin(Engine& engine, std::string told);
  // True from begin() until the last slice was copied.
  bool is_copying() const { return copy_.has_value(); }
  // Copies the next slice. After the last one, a thread writes the checkpoint. Requires
  // is_copying().
  void copy_slice(Engine& engine);
  // Copies all slices that are left, if any.
  // As copy_slice(), it waits for an older write first.
  void finish_copy(Engine& engine);
  // Waits until the checkpoint in progress is written.
  // Threads: that of begin().
  void wait();

 private:
  // A checkpoint on its way to the store.
  struct Copy {
    // The last fact of the state that is copied.
    std::uint64_t seq = 0;
    PackedFacts facts;
    // The calibration of start estimates as of begin().
    std::string told;
    // A fact that cannot be stored: the checkpoint is then not written.
    std::optional<Error> error;
  };
  // Writes checkpoint and calibration, then calls on_written. A failed calibration is only logged.
  void write(const Copy& copy);

  Options options_;
  Store& store_;
  // The last fact of the newest checkpoint, and how many facts it has.
  std::uint64_t seq_ = 0, size_ = 0;
  // nullopt: no copy is in progress.
  std::optional<Copy> copy_;
  // The writing thread has not finished.
  std::atomic<bool> writing_ = false;
  std::thread thread_;
};

}  // namespace subak
