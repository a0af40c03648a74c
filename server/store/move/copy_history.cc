#include "server/store/move/copy_history.h"

#include <algorithm>

#include "core/limits.h"
#include "server/codec/packed_facts.h"

namespace subak {
namespace {

struct OnlyCheckpoint final : FactSink {
  PackedFacts facts;
  std::uint64_t seq = 0;
  bool whole = true;
  void checkpoint_fact(const Fact& fact) override { whole = facts.add(fact) && whole; }
  void checkpoint_end(std::uint64_t at) override { seq = at; }
  void fact(const Fact&) override {}
};

}  // namespace

Result<std::uint64_t> copy_history(StoreReader& from, Store& to,
                                   const std::function<bool()>& wanted, std::uint64_t until) {
  std::uint64_t last = 0;
  const auto copy_facts = [&]() -> std::optional<Error> {
    while (last < until) {
      if (!wanted())
        return Error{ErrorCode::kPrecondition, "store", "the copy is no longer wanted", ""};
      const auto most = std::min<std::uint64_t>(limits::kCopiedFactsAtOnce, until - last);
      const auto facts = from.facts(last, most);
      if (!facts.ok()) return facts.error();
      if (facts->empty()) return std::nullopt;
      if (auto error = to.commit(*facts)) return error;
      last = facts->back().seq;
    }
    return std::nullopt;
  };
  if (auto error = copy_facts()) return *error;
  OnlyCheckpoint checkpoint;
  const auto recovered = from.recover(checkpoint);
  if (!recovered.ok()) return recovered.error();
  if (auto error = copy_facts()) return *error;  // the checkpoint may be later
  if (checkpoint.seq > 0 && checkpoint.seq <= last && checkpoint.whole) {
    if (auto error = to.write_checkpoint(checkpoint.seq, checkpoint.facts)) return *error;
  }
  return last;
}

}  // namespace subak
