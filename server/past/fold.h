// Rebuilds an earlier state of a store: applies its facts to an engine, up to any given fact.
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
  // Called on the way to a fact, each time that limits::kPastCheckpointFacts more facts were
  // applied. Past uses it to add past checkpoints.
  using OnWay = std::function<void(const Engine&)>;
  // `reader` must outlive the object. `on_way` may be null.
  explicit Fold(StoreReader& reader, OnWay on_way = {})
      : reader_(reader), on_way_(std::move(on_way)), engine_(std::make_unique<Engine>()) {}

  // Goes to the state after the fact `seq`, which must be at least 1. It can start from the present
  // state, the store's checkpoint, a past checkpoint or the empty state. It takes the one from
  // which it has to read the fewest facts. But it goes on from the present state if at most
  // limits::kPastShortFold facts are left. It logs a past checkpoint that cannot be read, and takes
  // the next best state. It calls `go_on` between reads of the store. If `go_on` returns false,
  // to() stops and returns false, and a later call continues. kPrecondition: the store has no fact
  // 1 and no checkpoint before `seq`, so this state is gone. kNotFound: the store ends before
  // `seq`. Other errors are those of the reader.
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
