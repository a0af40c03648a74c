// Moves of accounts in a random world.
#include <utility>

#include "tests/oracle/random_world.h"

namespace subak::sim {

in::Body some_move(Rng& rng, std::string path) {
  in::MoveAccount move;
  move.path = std::move(path);
  const std::string::size_type cut = move.path.rfind('.');
  move.to = "chem." + move.path.substr(cut == std::string::npos ? 0 : cut + 1);
  if (rng.percent(60)) std::swap(move.path, move.to);
  move.reason = "random";
  move.validate_only = rng.percent(10);
  return move;
}

}  // namespace subak::sim
