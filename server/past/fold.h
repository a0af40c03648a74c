// Folds the facts of a store into an engine, up to any fact.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "server/runtime/ports.h"

namespace subak {

// An engine with the facts of a store up to some fact. Threads: one at a time.
class Fold {
 public:
  // Called on the way to a fact, each time when limits::kPastCheckpointFacts facts were folded
  // since the start of the fold or the last call.
  using OnWay = std::function<void(const Engine&)>;
  // `reader` must outlive the object. `on_way` may be null.
  explicit Fold(StoreReader& reader, OnWay on_way = {})
      : reader_(reader), on_way_(std::move(on_way)), engine_(std::make_unique<Engine>()) {}

  // Folds to the state after the fact `seq`, which must be at least 1. It starts from one of these
  // states: the present one, the store's checkpoint, a past checkpoint, and the empty one. It takes
  // the one from which it has to read the fewest facts. A past checkpoint that cannot be read is
  // logged, and the next best state is taken. A fold of at most limits::kPastShortFold facts goes
  // on from the present state. It calls `go_on` between reads of the store, and stops there if
  // `go_on` returns false; then the result is false. A later call continues from there.
  // kPrecondition: the store has no fact 1 and no checkpoint before `seq`, so this state is gone.
  // kNotFound: the store ends before `seq`. Other errors are those of the reader.
  Result<bool> to(std::uint64_t seq, const std::function<bool()>& go_on = {});

  // Returns the engine of the last call of to(). A call of to() makes the reference invalid.
  const Engine& engine() const { return *engine_; }

 private:
  // A state from which a fold can start.
  struct Start {
    enum class Kind : std::uint8_t { kPresent, kEmpty, kPast, kCheckpoint };
    Kind kind = Kind::kEmpty;
    // The last fact of the state.
    std::uint64_t seq = 0;
    // How many facts have to be read to get to the fact in question.
    std::uint64_t facts = 0;
  };
  // Goes to the best state at or before `seq`.
  std::optional<Error> begin(std::uint64_t seq);
  // Returns the states at or before `seq`, the best one first.
  Result<std::vector<Start>> starts(std::uint64_t seq);
  // Goes to this state. False: it is not there any more, or cannot be used, and the engine is
  // empty.
  Result<bool> begin_at(const Start& start, std::uint64_t seq);
  // As begin_at(), for the checkpoint in use and for the empty state.
  Result<bool> begin_at_checkpoint(std::uint64_t seq);
  Result<bool> begin_empty();

  StoreReader& reader_;
  const OnWay on_way_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace subak
