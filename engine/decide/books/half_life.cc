// Changes of the half-life while there is usage (docs/design/0108).
#include <cmath>

#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/state/snapshot.h"
#include "model/fact.h"
#include "model/policy.h"

namespace subak::decide {
namespace {

EditStamp stamp_of(const Decision& d, const char* reason) {
  EditStamp stamp = d.stamp(reason);
  if (stamp.actor.empty()) stamp.actor = "service";
  return stamp;
}

std::optional<Error> check_values(const AccountTree& tree, const std::vector<MeterValues>& meters) {
  AccountId last;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    const MeterValues& one = meters[i];
    const std::string path = "meters[" + std::to_string(i) + "]";
    if (!tree.exists(one.account) || one.account <= last) {
      return Error{ErrorCode::kInvalid, path + ".account", std::to_string(one.account.value),
                   "want accounts that exist, in ascending order"};
    }
    last = one.account;
    if (!std::isfinite(one.usage) || !std::isfinite(one.surplus) || !std::isfinite(one.adjustment))
      return Error{ErrorCode::kInvalid, path, "a value that is not finite", "want finite values"};
  }
  return std::nullopt;
}

// True if the account has no decayed usage: its meters are then empty after a restart too.
bool is_empty(const AccountMeters::State& meters) {
  const auto empty = [](const DecayedMeter::State& s) {
    return s.a == 0 && s.rate == 0 && s.whole_gpu_s == 0 && s.whole_rest == 0;
  };
  return empty(meters.usage) && empty(meters.surplus) && empty(meters.adjustment);
}

}  // namespace

bool has_usage(const State& s) {
  return s.tree().node(kRootAccount).alloc() != 0 ||
         s.tree().usage_undecayed(kRootAccount, s.now()) != GpuTime();
}

Policy policy_of_edit(const Decision& d, const Policy& wanted) {
  const Policy& now = d.s.policy();
  Policy out = wanted;
  out.books.months = with_open_days(now.books.months, wanted.books.months.open_days, d.s.now());
  HalfLifeChange& change = out.fair_share.change;
  if (wanted.half_life_ms == now.half_life_ms) {
    if (change.seq != 0) change = now.fair_share.change;  // else the edit cancels it
    return out;
  }
  change = {};
  if (!has_usage(d.s)) return out;
  out.half_life_ms = now.half_life_ms;
  change = {wanted.half_life_ms, d.s.seq() + 1};
  return out;
}

void begin_half_life_again(Decision& d) {
  if (d.s.policy().fair_share.change.seq == 0 || d.s.tree().second()) return;
  Policy policy = d.s.policy();
  policy.fair_share.change.seq = d.s.seq() + 1;
  d.emit(fact::PolicySet{policy, stamp_of(d, "the change of the half-life begins again")});
  must(d.s.tree().second().has_value(), "a change that begins has second meters");
}

void decide(Decision& d, const in::HalfLifeRead& i) {
  const HalfLifeChange change = d.s.policy().fair_share.change;
  const AccountTree& tree = d.s.tree();
  if (change.seq == 0 || change.seq != i.seq || !tree.second()) {
    return d.refuse({ErrorCode::kConflict, "seq", std::to_string(i.seq),
                     "want the fact that began the change of the half-life, " +
                         std::to_string(change.seq) + " (0: none is under way)"},
                    "policy");
  }
  if (auto error = check_values(tree, i.meters)) return d.refuse(*std::move(error), "policy");
  const std::vector<AccountMeters::State> meters = tree.second()->finished(i.meters, tree.nodes());
  Policy policy = d.s.policy();
  policy.half_life_ms = change.half_life_ms;
  policy.fair_share.change = {};
  d.emit(fact::PolicySet{policy, stamp_of(d, "the new half-life is in force")});
  for (std::size_t id = 1; id < meters.size(); ++id) {
    const AccountNode& node = tree.nodes()[id];
    if (node.id && !is_empty(meters[id])) d.emit(state::meters_snapshot(node.id, meters[id]));
  }
  must(tree.clock().half_life_ms() == change.half_life_ms, "the new half-life is in force");
}

}  // namespace subak::decide
