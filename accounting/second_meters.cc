#include "accounting/second_meters.h"

#include <algorithm>
#include <utility>

#include "accounting/tree.h"
#include "core/must.h"

namespace subak {

SecondMeters::SecondMeters(DurationMs half_life_ms, TimeMs now, std::span<const AccountNode> nodes)
    : clock_(half_life_ms), begun_ms_(now) {
  const DecayInstant instant = clock_.at(now);
  meters_.reserve(nodes.size());
  for (const AccountNode& node : nodes) meters_.push_back(node.meters.begun(clock_, instant));
  must(meters_.size() == nodes.size(), "each account has second meters");
}

AccountMeters& SecondMeters::meters(AccountId id) {
  if (id.value >= meters_.size()) meters_.resize(id.value + std::size_t{1});
  return meters_[id.value];
}

void SecondMeters::change(AccountId id, MilliGpu delta, MilliGpu surplus_rate, TimeMs now) {
  const DecayInstant at = clock_.at(now);
  meters(id).change_usage(clock_, delta, at);
  meters(id).set_surplus_rate(clock_, surplus_rate, at);
}

void SecondMeters::set_surplus_rate(AccountId id, MilliGpu rate, TimeMs now) {
  meters(id).set_surplus_rate(clock_, rate, clock_.at(now));
}

void SecondMeters::note_values(Edit& edit, AccountId id) {
  const AccountMeters& of = meters(id);
  const DecayInstant at = clock_.at(edit.at);
  const MeterValues values{id, of.usage(clock_, at), of.surplus(clock_, at), 0};
  if (values.usage != 0 || values.surplus != 0) edit.values.push_back(values);
}

void SecondMeters::record(Edit edit) {
  std::sort(edit.values.begin(), edit.values.end(),
            [](const MeterValues& a, const MeterValues& b) { return a.account < b.account; });
  edits_.push_back(std::move(edit));
}

void SecondMeters::adjust(AccountId id, double factor, TimeMs now) {
  Edit edit;
  edit.id = id;
  edit.at = now;
  edit.factor = factor;
  note_values(edit, id);
  record(std::move(edit));
}

void SecondMeters::begin_at_mean(std::span<const AccountNode> nodes, AccountId id, double factor,
                                 bool own_jobs, TimeMs now) {
  Edit edit;
  edit.kind = EditKind::kNew;
  edit.id = id;
  edit.at = now;
  edit.factor = factor;
  const AccountNode& parent = nodes[nodes[id.value].parent.value];
  if (own_jobs) {
    edit.parent = parent.id;
    note_values(edit, parent.id);
  }
  for (const AccountId sibling : parent.children) {
    if (sibling == id) continue;
    const bool has_shares = nodes[sibling.value].spec.shares != 0;
    if (own_jobs) edit.without.push_back(sibling);
    if (has_shares) edit.of.push_back(sibling);
    if (own_jobs || has_shares) note_values(edit, sibling);
  }
  record(std::move(edit));
}

void SecondMeters::move(std::span<const AccountNode> nodes, AccountId id,
                        std::vector<AccountId> left, std::vector<AccountId> joined, TimeMs now) {
  Edit edit;
  edit.kind = EditKind::kMove;
  edit.id = id;
  edit.at = now;
  note_values(edit, id);
  for (const auto* const list : {&left, &joined}) {
    for (const AccountId up : *list) note_values(edit, up);
  }
  meters(AccountId(static_cast<std::uint32_t>(nodes.size() - 1)));  // makes room
  const DecayInstant at = clock_.at(now);
  const AccountMeters& own = meters(id);
  for (const auto* const list : {&left, &joined}) {
    const int sign = list == &left ? -1 : 1;
    for (const AccountId up : *list) {
      meters(up).add(clock_, own, {sign, 0, beyond_quota(nodes[up.value])}, at);
    }
  }
  edit.left = std::move(left);
  edit.joined = std::move(joined);
  record(std::move(edit));
}

// The earlier values of all accounts with the amounts of edits, while the edits are applied in
// their order.
class SecondMeters::Replay {
 public:
  Replay(const SecondMeters& of, std::span<const MeterValues> earlier, std::size_t accounts)
      : clock_(of.clock_), earlier_(accounts), at_(clock_.at(of.begun_ms_)) {
    for (const MeterValues& values : earlier) {
      must(values.account.value < accounts, "earlier values are of accounts that exist");
      earlier_[values.account.value].add(clock_, values.usage, values.surplus, values.adjustment,
                                         of.begun_ms_);
    }
  }

  void apply(const Edit& edit) {
    edit_ = &edit;
    at_ = clock_.at(edit.at);
    if (edit.kind == EditKind::kShares) return adjust(edit.factor * sort_surplus(edit.id));
    if (edit.kind == EditKind::kMove) {
      for (const AccountId up : edit.left) add(up, -1);
      for (const AccountId up : edit.joined) add(up, 1);
      return;
    }
    double sum = 0, own = edit.parent ? usage(edit.parent) : 0;
    for (const AccountId id : edit.without) own -= usage(id);
    for (const AccountId id : edit.of) sum += sort_surplus(id);
    adjust(edit.factor * (sum + std::max(0.0, own)));
  }

  // Adds the values of the account to its meters.
  void add_to(AccountMeters& meters, std::size_t id) const {
    const AccountMeters& own = earlier_[id];
    meters.add(clock_, own.usage(clock_, at_), own.surplus(clock_, at_),
               own.adjustment(clock_, at_), at_.t);
  }

 private:
  // The values that the second meters had at the time of the edit.
  MeterValues later(AccountId id) const {
    const auto found = std::lower_bound(
        edit_->values.begin(), edit_->values.end(), id,
        [](const MeterValues& values, AccountId other) { return values.account < other; });
    return found != edit_->values.end() && found->account == id ? *found : MeterValues();
  }
  double usage(AccountId id) const {
    return earlier_[id.value].usage(clock_, at_) + later(id).usage;
  }
  double surplus(AccountId id) const {
    return earlier_[id.value].surplus(clock_, at_) + later(id).surplus;
  }
  double sort_surplus(AccountId id) const {
    return std::max(0.0, surplus(id) + earlier_[id.value].adjustment(clock_, at_));
  }
  void adjust(double amount) { earlier_[edit_->id.value].add(clock_, 0, 0, amount, at_.t); }
  // Adds the usage and the surplus of the account that moves, or subtracts them, as
  // AccountMove::make() does.
  void add(AccountId up, int sign) {
    const double before = surplus(up);
    const double after = std::max(0.0, before + sign * surplus(edit_->id));
    const double moved = earlier_[edit_->id.value].usage(clock_, at_);
    earlier_[up.value].add(clock_, sign * moved, after - before, 0, at_.t);
  }

  const DecayClock& clock_;
  std::vector<AccountMeters> earlier_;  // by account id, without rates
  DecayInstant at_;
  const Edit* edit_ = nullptr;
};

std::vector<AccountMeters::State> SecondMeters::finished(std::span<const MeterValues> earlier,
                                                         std::span<const AccountNode> nodes) const {
  Replay replay(*this, earlier, nodes.size());
  for (const Edit& edit : edits_) replay.apply(edit);
  std::vector<AccountMeters::State> out;
  out.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    AccountMeters meters = i < meters_.size() ? meters_[i] : AccountMeters();
    replay.add_to(meters, i);
    out.push_back(meters.state());
    must(!nodes[i].id || out.back().usage.rate == nodes[i].meters.usage_rate(),
         "second meters have the rates of the first ones");
  }
  return out;
}

}  // namespace subak
