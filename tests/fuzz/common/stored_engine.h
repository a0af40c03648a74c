// An engine whose facts are encoded as they are made. It checks that the engine accepts no input
// whose facts the store could not read again. The facts alone, and the checkpoint alone, must each
// rebuild the engine's state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/stored_size.h"
#include "engine/engine.h"
#include "model/bounds/bounds.h"
#include "server/codec/codec.h"
#include "tests/fuzz/common/fuzz.h"

namespace subak::fuzz {

inline Fact stored(const Fact& fact) {
  std::string bytes;
  const bool written = codec::encode(fact.body, bytes).has_value();
  assert(written && "what was accepted cannot be written");
  assert(bytes.size() <=
         std::visit([](const auto& record) { return stored_bytes(record); }, fact.body));
  auto body = codec::decode(codec::kind_of(fact.body), bytes);
  assert(body.ok() && "what was written cannot be read");
  return {fact.seq, fact.time_ms, *std::move(body)};
}

class StoredEngine {
 public:
  ApplyOutcome apply(Input input) {
    const std::uint64_t seq = engine.seq();
    const bool in_bounds = !bounds::check(input);
    ApplyOutcome outcome = engine.apply(input);
    if (outcome.reply.error) check_error(*outcome.reply.error);
    assert(in_bounds || outcome.reply.error);
    for (const Fact& fact : outcome.facts) {
      assert(fact.seq == seq + 1 + static_cast<std::uint64_t>(&fact - outcome.facts.data()));
      facts_.push_back(stored(fact));
      assert(fact_to_text(facts_.back()) == fact_to_text(fact));
    }
    return outcome;
  }

  // Call it after an input with a fact, because a time without a fact is not stored.
  void check_reopened() const {
    check_same_state(facts_);
    std::vector<Fact> facts;
    engine.checkpoint([&facts](const Fact& fact) { facts.push_back(stored(fact)); });
    check_same_state(facts);
  }

  Engine engine;

 private:
  void check_same_state(const std::vector<Fact>& facts) const {
    Engine other;
    for (const Fact& fact : facts) other.evolve(fact);
    other.set_seq(engine.seq());
    other.check_invariants();
    assert(other.digest() == engine.digest());
  }

  std::vector<Fact> facts_;
};

}  // namespace subak::fuzz
