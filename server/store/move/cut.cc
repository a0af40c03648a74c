#include "server/store/move/cut.h"

#include <string>

#include "core/duration.h"
#include "core/limits.h"
#include "engine/engine.h"

namespace subak {
namespace {

// Folds the facts that stay, and examines the others.
class Cutter {
 public:
  explicit Cutter(const Until& until) : until_(until) {}

  void add(const Fact& fact) {
    if (last_seq_ == 0) first_ms_ = fact.time_ms;
    if (stays(fact)) {
      engine_.evolve(fact);
      cut_.time_ms = fact.time_ms;
      cut_.ledger_rows += std::holds_alternative<fact::Charged>(fact.body) ? 1 : 0;
    } else if (cut_.left_out++ == 0) {
      cut_.within_a_moment = fact.time_ms == cut_.time_ms;
    }
    last_seq_ = fact.seq;
    cut_.last_ms = fact.time_ms;
  }

  Result<Cut> take() {
    if (auto error = beyond()) return *error;
    cut_.state = {engine_.seq(), engine_.digest()};
    cut_.fact_version = engine_.view()->fact_version;
    return cut_;
  }

 private:
  bool stays(const Fact& fact) const {
    if (const auto* seq = std::get_if<std::uint64_t>(&until_)) return fact.seq <= *seq;
    return fact.time_ms <= std::get<UntilTime>(until_).time_ms;
  }

  static Error refused(std::string got, std::string want) {
    return {ErrorCode::kInvalid, "until", std::move(got), std::move(want)};
  }

  std::optional<Error> beyond() const {
    if (last_seq_ == 0) return refused("", "want a store that has facts: this one is empty");
    if (const auto* seq = std::get_if<std::uint64_t>(&until_)) {
      if (*seq >= 1 && *seq <= last_seq_) return std::nullopt;
      return refused(std::to_string(*seq),
                     "want the number of a fact that is there: 1 to " + std::to_string(last_seq_));
    }
    const TimeMs time_ms = std::get<UntilTime>(until_).time_ms;
    if (time_ms >= first_ms_ && time_ms <= cut_.last_ms) return std::nullopt;
    return refused(format_time(time_ms), "want a time from " + format_time(first_ms_) +
                                             " (fact 1) to " + format_time(cut_.last_ms) +
                                             " (fact " + std::to_string(last_seq_) + ", the last)");
  }

  const Until until_;
  Engine engine_;
  Cut cut_;
  std::uint64_t last_seq_ = 0;
  TimeMs first_ms_ = 0;
};

}  // namespace

Result<Cut> find_cut(StoreReader& reader, const Until& until) {
  Cutter cutter(until);
  std::uint64_t last = 0;
  while (true) {
    const auto facts = reader.facts(last, limits::kCopiedFactsAtOnce);
    if (!facts.ok()) return facts.error();
    if (facts->empty()) return cutter.take();
    for (const Fact& fact : *facts) cutter.add(fact);
    last = facts->back().seq;
  }
}

}  // namespace subak
