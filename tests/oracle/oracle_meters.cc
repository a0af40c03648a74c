#include "tests/oracle/oracle_meters.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace subak::sim {

void OracleMeters::record(Edit edit) {
  edit.t = o_.now_;
  add(edit);
  o_.calm_.meter_edits.push_back(std::move(edit));
}

void OracleMeters::change_shares(AccountId id, long double factor) {
  Edit edit;
  edit.id = id;
  edit.factor = factor;
  record(std::move(edit));
}

void OracleMeters::begin_at_mean(const Oracle::Account& fresh, bool user) {
  Edit edit;
  edit.kind = Edit::Kind::kNew;
  edit.id = fresh.id;
  std::int64_t shares = 0;
  GpuTime own = o_.undecayed(fresh.parent);
  const auto is_sibling = [&](const Oracle::Account& a) {
    return a.live && a.parent == fresh.parent && a.id != fresh.id;
  };
  for (const Oracle::Account& a : o_.accounts_) {
    if (!is_sibling(a)) continue;
    own -= o_.undecayed(a.id);
    if (a.spec.shares == 0) continue;
    shares += a.spec.shares;
    edit.siblings.push_back(a.id);
  }
  // Jobs without a user wait beside the users.
  if (user && own > GpuTime()) {
    ++shares;
    std::set<AccountId> leaves;
    for (const Oracle::Interval& use : o_.uses_) leaves.insert(use.leaf);
    for (const AccountId leaf : leaves) {
      const bool of_sibling = std::any_of(
          o_.accounts_.begin(), o_.accounts_.end(),
          [&](const Oracle::Account& a) { return is_sibling(a) && o_.below(leaf, a.id); });
      if (o_.below(leaf, fresh.parent) && !of_sibling) edit.own.push_back(leaf);
    }
  }
  if (shares == 0) return;
  edit.factor = static_cast<long double>(fresh.spec.shares) / static_cast<long double>(shares);
  record(std::move(edit));
}

void OracleMeters::move(Oracle::Account& account, AccountId parent) {
  Edit edit;
  edit.kind = Edit::Kind::kMove;
  edit.id = account.id;
  const AccountId from = account.parent;
  for (auto* up = o_.account(from); up && !o_.below(parent, up->id); up = o_.account(up->parent))
    edit.left.push_back(up->id);
  for (auto* up = o_.account(parent); up && !o_.below(from, up->id); up = o_.account(up->parent))
    edit.joined.push_back(up->id);
  account.parent = parent;
  account.parents.emplace_back(o_.now_, parent);
  record(std::move(edit));
}

long double OracleMeters::usage_of(AccountId leaf) const {
  long double sum = 0;
  for (const Oracle::Interval& use : o_.uses_) {
    if (use.leaf != leaf || use.edits > o_.calm_.known) continue;
    const bool has_ended = use.to >= 0 && use.edits_to <= o_.calm_.known;
    sum += o_.decayed(use.rate, use.from, has_ended ? use.to : o_.now_);
  }
  return sum;
}

// Adds the amounts of an edit at the present time.
void OracleMeters::add(const Edit& edit) {
  Oracle::Account& account = *o_.account(edit.id);
  if (edit.kind == Edit::Kind::kShares) {
    account.adjustments.emplace_back(o_.now_, o_.sort_surplus(edit.id) * edit.factor);
    return;
  }
  if (edit.kind == Edit::Kind::kNew) {
    long double sum = 0, own = 0;
    for (const AccountId sibling : edit.siblings) sum += o_.sort_surplus(sibling);
    for (const AccountId leaf : edit.own) own += usage_of(leaf);
    account.adjustments.emplace_back(o_.now_, (sum + own) * edit.factor);
    return;
  }
  const long double moves = o_.surplus(edit.id);
  for (const AccountId up : edit.left) {
    const long double less = std::min(moves, o_.surplus(up));
    o_.account(up)->moved_surplus.emplace_back(o_.now_, -less);
  }
  for (const AccountId up : edit.joined) o_.account(up)->moved_surplus.emplace_back(o_.now_, moves);
}

void OracleMeters::compute_anew() {
  const TimeMs now = o_.now_;
  for (Oracle::Account& a : o_.accounts_) {
    a.adjustments.clear();
    a.moved_surplus.clear();
  }
  for (std::size_t i = 0; i < o_.calm_.meter_edits.size(); ++i) {
    o_.now_ = o_.calm_.meter_edits[i].t;
    o_.calm_.known = i;
    add(o_.calm_.meter_edits[i]);
  }
  o_.calm_.known = SIZE_MAX;
  o_.now_ = now;
}

DurationMs OracleMeters::within(const Oracle& oracle, AccountId leaf, AccountId top, TimeMs from,
                                TimeMs to) {
  if (from > to) return -within(oracle, leaf, top, to, from);
  if (leaf == top) return to - from;
  const Oracle::Account* const account = oracle.account(leaf);
  if (account == nullptr) return 0;
  DurationMs sum = 0;
  for (std::size_t i = 0; i < account->parents.size(); ++i) {
    const auto& [since, parent] = account->parents[i];
    const bool is_last = i + 1 == account->parents.size();
    const TimeMs begin = std::max(from, since);
    const TimeMs end = is_last ? to : std::min(to, account->parents[i + 1].first);
    if (begin < end) sum += within(oracle, parent, top, begin, end);
  }
  return sum;
}

// Takes a move of an account with all accounts below it.
void Oracle::on(const fact::AccountMoved& f) {
  Account& a = *account(f.id);
  if (!a.live || f.revision != a.revision + 1) wrong(f.spec.path + " moves in another revision");
  a.revision = f.revision;
  if (f.from) {
    const std::string old = a.spec.path, to = f.spec.path;
    const std::size_t cut = to.find_last_of("./");
    const std::string parent_path = cut == std::string::npos ? "" : to.substr(0, cut);
    AccountId parent;
    for (const Account& other : accounts_) {
      if (other.spec.path == to) wrong(to + " is another account");
      if (other.live && other.spec.path == parent_path) parent = other.id;
    }
    if (!parent || below(parent, f.id) || a.parent != f.from) wrong(to + " has no place");
    for (Account& other : accounts_) {
      if (below(other.id, f.id)) other.spec.path = to + other.spec.path.substr(old.size());
    }
    if (parent != f.from) {
      const auto above_from = quotas_of_path(f.from), above_to = quotas_of_path(parent);
      OracleMeters(*this).move(a, parent);
      const MeterEdit edit = calm_.meter_edits.back();
      for (const auto* const list : {&edit.left, &edit.joined}) {
        for (const AccountId up : *list) follow_level(*account(up), now_);
      }
      quotas_changed(f.from, above_from);
      quotas_changed(parent, above_to);
    }
  }
  if (!(a.spec == f.spec)) wrong(f.spec.path + " moves with other settings");
}

}  // namespace subak::sim
