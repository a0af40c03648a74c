// Facts of a random world in memory, and a reader of them, for tests of server/past.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "tests/oracle/random_world.h"
#include "tests/server/store/support/facts_reader.h"

namespace subak {

// Reads the facts with numbers from `first` on. `checkpoint`, if not empty, has the facts up to
// `checkpoint_seq`. `past` has the past checkpoints; one without facts counts as damaged.
class HistoryReader final : public FactsReader {
 public:
  explicit HistoryReader(const std::vector<Fact>& facts) : facts_(facts) {}
  Result<Recovered> recover(FactSink& sink) override {
    ++recoveries;
    for (const Fact& fact : checkpoint) sink.checkpoint_fact(fact);
    sink.checkpoint_end(checkpoint_seq);
    Recovered out{checkpoint_seq, checkpoint_seq, checkpoint.size(), 0};
    for (const Fact& fact : facts_) {
      if (fact.seq <= checkpoint_seq) continue;
      sink.fact(fact);
      out.seq = fact.seq;
      ++out.tail_facts;
    }
    return out;
  }
  Result<StoredCheckpoint> checkpoint_in_use() override {
    return StoredCheckpoint{checkpoint_seq, checkpoint.size(), 0};
  }
  Result<std::vector<StoredCheckpoint>> past_checkpoints() override {
    std::vector<StoredCheckpoint> out;
    for (const auto& [seq, facts] : past) out.push_back({seq, facts.size(), 1});
    return out;
  }
  std::optional<Error> read_past_checkpoint(std::uint64_t seq, FactSink& sink) override {
    past_read.push_back(seq);
    const std::vector<Fact>& facts = past.at(seq);
    if (facts.empty()) {
      sink.checkpoint_fact(facts_.front());
      return Error{ErrorCode::kPrecondition, "store.past", "damaged", "want it as it was"};
    }
    for (const Fact& fact : facts) sink.checkpoint_fact(fact);
    sink.checkpoint_end(seq);
    return std::nullopt;
  }
  Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
    std::vector<Fact> out;
    const auto from =
        std::lower_bound(facts_.begin(), facts_.end(), after + 1,
                         [](const Fact& f, std::uint64_t seq) { return f.seq < seq; });
    for (auto it = from; it != facts_.end() && out.size() < most; ++it) {
      if (it->seq >= first) out.push_back(*it);
    }
    facts_read += out.size();
    return out;
  }

  std::vector<Fact> checkpoint;
  std::uint64_t checkpoint_seq = 0;
  std::map<std::uint64_t, std::vector<Fact>> past;
  std::vector<std::uint64_t> past_read;
  std::uint64_t first = 1;  // earlier facts are gone
  std::size_t recoveries = 0, facts_read = 0;

 private:
  const std::vector<Fact>& facts_;
};

// Facts, and for each fact of a pass the index of the input that ran this pass.
struct History {
  std::vector<Fact> facts;
  std::map<std::uint64_t, int> of_pass;
};

inline History random_history(sim::RandomWorld::Options options, int inputs) {
  History out;
  sim::RandomWorld world(options);
  Engine engine;
  for (int i = 0; i < inputs; ++i) {
    const Input input = world.next(engine.next_deadline());
    const ApplyOutcome outcome = engine.apply(input);
    world.saw(input, outcome);
    if (std::holds_alternative<in::Pass>(input.body)) {
      for (const Fact& fact : outcome.facts) out.of_pass[fact.seq] = i;
    }
    out.facts.insert(out.facts.end(), outcome.facts.begin(), outcome.facts.end());
  }
  return out;
}

}  // namespace subak
