#include "server/past/fold.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/codec/past_checkpoint_limits.h"
#include "server/log/log.h"
#include "server/past/fact_times.h"
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

Result<std::vector<Fold::Start>> Fold::starts(std::uint64_t seq) {
  std::vector<Start> out;
  const auto add = [&](Start::Kind kind, std::uint64_t at, std::uint64_t facts) {
    if (at <= seq) out.push_back({kind, at, facts + seq - at});
  };
  if (engine_->seq() > 0) add(Start::Kind::kPresent, engine_->seq(), 0);
  const auto checkpoint = reader_.checkpoint_in_use();
  if (!checkpoint.ok()) return checkpoint.error();
  if (checkpoint->seq > 0) add(Start::Kind::kCheckpoint, checkpoint->seq, checkpoint->facts);
  const auto past = reader_.past_checkpoints();
  if (!past.ok()) return past.error();
  for (const StoredCheckpoint& one : *past) add(Start::Kind::kPast, one.seq, one.facts);
  add(Start::Kind::kEmpty, 0, 0);
  std::stable_sort(out.begin(), out.end(),
                   [](const Start& a, const Start& b) { return a.facts < b.facts; });
  return out;
}

std::optional<Error> Fold::begin(std::uint64_t seq) {
  const auto all = starts(seq);
  if (!all.ok()) return all.error();
  for (const Start& start : *all) {
    const Result<bool> there = begin_at(start, seq);
    if (!there.ok()) return there.error();
    if (*there) return std::nullopt;
  }
  const auto checkpoint = reader_.checkpoint_in_use();
  if (!checkpoint.ok()) return checkpoint.error();
  return Error{ErrorCode::kPrecondition, "fact", std::to_string(seq),
               "want a fact from " + std::to_string(checkpoint->seq) +
                   " on: the store no longer has all facts before that"};
}

Result<bool> Fold::begin_at(const Start& start, std::uint64_t seq) {
  if (start.kind == Start::Kind::kPresent) return engine_->seq() == start.seq;
  engine_ = std::make_unique<Engine>();
  if (start.kind == Start::Kind::kCheckpoint) return begin_at_checkpoint(seq);
  if (start.kind == Start::Kind::kEmpty) return begin_empty();
  SinkUntil sink(*engine_, seq);
  const auto error = reader_.read_past_checkpoint(start.seq, sink);
  if (!error) return true;
  log::warn("a past checkpoint cannot be used", {{"seq", start.seq}, {"error", error->message()}});
  engine_ = std::make_unique<Engine>();
  return false;
}

Result<bool> Fold::begin_at_checkpoint(std::uint64_t seq) {
  SinkUntil sink(*engine_, seq);
  const Result<Recovered> recovered = reader_.recover(sink);
  if (recovered.ok() && recovered->checkpoint_seq <= seq) return true;
  engine_ = std::make_unique<Engine>();
  if (!recovered.ok()) return recovered.error();
  return false;  // a newer checkpoint has taken its place
}

Result<bool> Fold::begin_empty() {
  const Result<std::vector<Fact>> first = reader_.facts(0, 1);
  if (!first.ok()) return first.error();
  return first->empty() || first->front().seq == 1;
}

Result<bool> Fold::to(std::uint64_t seq, const std::function<bool()>& go_on) {
  const std::uint64_t at = engine_->seq();
  const bool is_near = at > 0 && at <= seq && seq - at <= limits::kPastShortFold;
  if (!is_near) {
    if (auto error = begin(seq)) return *error;
  }
  std::uint64_t told_seq = engine_->seq();
  const auto take = [&](std::vector<Fact>&& facts) -> Result<bool> {
    for (const Fact& fact : facts) engine_->evolve(fact);
    if (on_way_ && engine_->seq() - told_seq >= limits::kPastCheckpointFacts) {
      on_way_(*engine_);
      told_seq = engine_->seq();
    }
    return engine_->seq() == seq || !go_on || go_on();
  };
  if (go_on && engine_->seq() < seq && !go_on()) return false;
  return read_facts(reader_, engine_->seq(), seq, take);
}

}  // namespace subak
