// The state of another's store, kept up with while that one leads, so that who takes over copies nothing.
#pragma once

#include <memory>
#include <optional>

#include "engine/engine.h"
#include "server/runtime/ports.h"

namespace subak {

// Threads: one at a time.
class Standby {
 public:
  // Reads what has come since the last look; all of it at the first. If the last fact that it knows is not there any
  // more, as after a failover to a copy that lacked it, it begins anew. An error is logged, and tried again at the
  // next look.
  void look(StoreReader& reader);
  bool is_warm() const { return engines_.loop != nullptr; }
  // Two engines in the same state, for the loop and for the follower; both nullptr: nothing was read, or the last look
  // failed, so that it is not known whether the store still has what they know. It has none after this.
  struct Engines {
    std::shared_ptr<Engine> loop, follower;
  };
  Engines take();

 private:
  std::optional<Error> read_all(StoreReader& reader);
  std::optional<Error> read_on(StoreReader& reader);
  void evolve(const Fact& fact);

  Engines engines_;
  std::optional<Fact>
      last_;             // that was read; none: the engines know a checkpoint alone, or nothing
  bool failed_ = false;  // the last look
};

}  // namespace subak
