#include "tests/oracle/random_moves.h"

#include <iterator>
#include <utility>

namespace subak::sim {
namespace {

constexpr std::size_t kMostUndos = 8;
// The first one is the half-life at the start.
constexpr DurationMs kHalfLives[] = {6 * kHourMs, kHourMs, 2 * kDayMs, 0};

}  // namespace

void RandomMoves::saw(const Fact& fact) {
  if (const auto* const set = std::get_if<fact::PolicySet>(&fact.body)) policy_ = set->policy;
  if (half_lives_) facts_.push_back(fact);
  if (const auto* const set = std::get_if<fact::AccountSet>(&fact.body)) {
    paths_[set->id] = set->spec.path;
  } else if (const auto* const deleted = std::get_if<fact::AccountDeleted>(&fact.body)) {
    paths_.erase(deleted->id);
  }
  const auto* const moved = std::get_if<fact::AccountMoved>(&fact.body);
  if (moved == nullptr) return;
  paths_[moved->id] = moved->spec.path;
  if (!moved->from) return;
  in::MoveAccount undo;
  undo.path = moved->spec.path;
  undo.to = moved->was;
  undo.expected_id = moved->id;
  undo.expected_parent = moved->from;
  undo.reason = "undo";
  if (undos_.size() == kMostUndos) undos_.erase(undos_.begin());
  undos_.push_back(std::move(undo));
}

in::Body RandomMoves::some_move(Rng& rng) const {
  if (paths_.empty()) return in::Pass{};
  if (!undos_.empty() && rng.percent(40)) return undos_[rng.below(undos_.size())];
  constexpr const char* kParents[] = {"chem.", "bio.", "ml.", ""};
  auto account = paths_.begin();
  std::advance(account, rng.below(paths_.size()));
  in::MoveAccount move;
  move.path = account->second;
  const std::size_t cut = move.path.find_last_of("./");
  const bool user = cut != std::string::npos && move.path[cut] == '/';
  move.to = user ? move.path.substr(0, cut + 1) : kParents[rng.below(std::size(kParents))];
  move.to += user ? "u" + std::to_string(rng.below(4)) : move.path.substr(cut + 1);
  move.reason = "random";
  move.validate_only = rng.percent(10);
  return move;
}

void RandomMoves::choose_half_life(Rng& rng, Policy& policy) const {
  policy.half_life_ms = kHalfLives[0];
  if (!half_lives_) return;
  policy.half_life_ms = policy_.half_life_ms;
  policy.fair_share = policy_.fair_share;
  if (rng.percent(60)) return;
  policy.half_life_ms = kHalfLives[rng.below(std::size(kHalfLives))];
  policy.fair_share.change = {};
}

in::Body RandomMoves::end_of_change(Rng& rng) {
  const HalfLifeChange& change = policy_.fair_share.change;
  auto& reader = readers_.of[change.half_life_ms];
  if (reader == nullptr) reader = std::make_unique<HalfLifeFold>(change.half_life_ms);
  while (reader->seq() < change.seq) reader->fold(facts_.at(reader->seq()));
  in::HalfLifeRead read{change.seq, reader->values()};
  if (rng.percent(10)) read.seq -= 1;  // of another change: refused
  if (rng.percent(10) && !read.meters.empty()) read.meters.push_back(read.meters.front());
  return read;
}

}  // namespace subak::sim
