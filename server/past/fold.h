// Folds the facts of a store into an engine, up to any fact.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/error.h"
#include "engine/engine.h"
#include "server/runtime/ports.h"

namespace subak {

// An engine with the facts of a store up to some fact. Threads: one at a time.
class Fold {
 public:
  // `reader` must outlive the object.
  explicit Fold(StoreReader& reader) : reader_(reader), engine_(std::make_unique<Engine>()) {}

  // Folds to the state after the fact `seq`, which must be at least 1. It starts from the nearest
  // of these states: the present one, the store's checkpoint, and the empty one. It calls `go_on`
  // between reads of the store, and stops there if `go_on` returns false; then the result is
  // false. A later call continues from there.
  // kPrecondition: the store has no fact 1 and no checkpoint before `seq`, so this state is gone.
  // kNotFound: the store ends before `seq`. Other errors are those of the reader.
  Result<bool> to(std::uint64_t seq, const std::function<bool()>& go_on = {});

  // Returns the engine of the last call of to(). A call of to() makes the reference invalid.
  const Engine& engine() const { return *engine_; }

 private:
  // Starts again from the store's checkpoint, if that is at or before `seq`; else from nothing.
  std::optional<Error> begin(std::uint64_t seq);

  StoreReader& reader_;
  std::unique_ptr<Engine> engine_;
  // The last fact of the newest checkpoint seen. Checkpoints never get older.
  std::uint64_t checkpoint_seq_ = 0;
};

}  // namespace subak
