// Moves of accounts in a random world.
#include <utility>

#include "tests/oracle/random_world.h"

namespace subak::sim {

in::Body RandomWorld::move_account() {
  in::MoveAccount move;
  move.path = some_account();
  const std::string::size_type cut = move.path.rfind('.');
  move.to = "chem." + move.path.substr(cut == std::string::npos ? 0 : cut + 1);
  if (rng_.percent(60)) std::swap(move.path, move.to);
  move.reason = "random";
  move.validate_only = rng_.percent(10);
  return move;
}

}  // namespace subak::sim
