#include "engine/forecast/half_life_fold.h"

#include <utility>

#include "core/must.h"
#include "engine/state/state.h"

namespace subak {

HalfLifeFold::HalfLifeFold(DurationMs half_life_ms)
    : half_life_ms_(half_life_ms), state_(std::make_unique<State>()) {
  Policy policy;
  policy.half_life_ms = half_life_ms;
  state_->apply(Fact{0, 0, fact::PolicySet{policy, {}}});
}

HalfLifeFold::~HalfLifeFold() = default;

void HalfLifeFold::fold(Fact fact) {
  if (auto* const set = std::get_if<fact::PolicySet>(&fact.body)) {
    set->policy.half_life_ms = half_life_ms_;
    set->policy.fair_share.change = {};
  } else if (std::holds_alternative<fact::MetersSnapshot>(fact.body)) {
    fact.body = fact::EditRefused();  // a fact that changes nothing
  }
  state_->apply(fact);
  must(state_->tree().clock().half_life_ms() == half_life_ms_, "no fact changes the half-life");
}

std::uint64_t HalfLifeFold::seq() const { return state_->seq(); }

std::vector<MeterValues> HalfLifeFold::values() const {
  const AccountTree& tree = state_->tree();
  const DecayInstant at = tree.clock().at(state_->fact_ms());
  std::vector<MeterValues> out;
  for (const AccountNode& node : tree.nodes()) {
    if (!node.id) continue;
    const MeterValues values{node.id, node.meters.usage(tree.clock(), at),
                             node.meters.surplus(tree.clock(), at),
                             node.meters.adjustment(tree.clock(), at)};
    if (values.usage != 0 || values.surplus != 0 || values.adjustment != 0) out.push_back(values);
  }
  return out;
}

}  // namespace subak
