#include "server/past/fold.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/past/past_limits.h"

namespace subak {
namespace {

// Takes the checkpoint, and the later facts up to `seq`.
class SinkUntil final : public FactSink {
 public:
  SinkUntil(Engine& engine, std::uint64_t seq) : engine_(engine), seq_(seq) {}
  void checkpoint_fact(const Fact& fact) override { engine_.evolve(fact); }
  void checkpoint_end(std::uint64_t seq) override { engine_.set_seq(seq); }
  void fact(const Fact& fact) override {
    if (fact.seq <= seq_) engine_.evolve(fact);
  }

 private:
  Engine& engine_;
  const std::uint64_t seq_;
};

}  // namespace

std::optional<Error> Fold::begin(std::uint64_t seq) {
  engine_ = std::make_unique<Engine>();
  if (seq >= checkpoint_seq_) {
    SinkUntil sink(*engine_, seq);
    const Result<Recovered> recovered = reader_.recover(sink);
    if (!recovered.ok()) {
      engine_ = std::make_unique<Engine>();
      return recovered.error();
    }
    checkpoint_seq_ = recovered->checkpoint_seq;
    if (checkpoint_seq_ <= seq) return std::nullopt;
    engine_ = std::make_unique<Engine>();
  }
  const Result<std::vector<Fact>> first = reader_.facts(0, 1);
  if (!first.ok()) return first.error();
  if (first->empty() || first->front().seq == 1) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "fact", std::to_string(seq),
               "want a fact from " + std::to_string(checkpoint_seq_) +
                   " on: the store no longer has all facts before that"};
}

Result<bool> Fold::to(std::uint64_t seq, const std::function<bool()>& go_on) {
  const std::uint64_t at = engine_->seq();
  // A checkpoint ahead of the present state is nearer.
  const bool is_behind = at > seq || (at < checkpoint_seq_ && checkpoint_seq_ <= seq) || at == 0;
  if (is_behind) {
    if (auto error = begin(seq)) return *error;
  }
  while (engine_->seq() < seq) {
    if (go_on && !go_on()) return false;
    const std::uint64_t left = seq - engine_->seq();
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(left, limits::kPastFactsAtOnce));
    const Result<std::vector<Fact>> facts = reader_.facts(engine_->seq(), most);
    if (!facts.ok()) return facts.error();
    if (facts->empty() || facts->front().seq != engine_->seq() + 1) {
      return Error{ErrorCode::kNotFound, "fact", std::to_string(engine_->seq() + 1),
                   "the store has no such fact"};
    }
    for (const Fact& fact : *facts) engine_->evolve(fact);
  }
  return true;
}

}  // namespace subak
