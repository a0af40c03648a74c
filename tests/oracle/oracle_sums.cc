#include <algorithm>
#include <array>
#include <cmath>

#include "core/limits.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_budgets.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
namespace {

constexpr long double kLn2 = 0.693147180559945309417232121458176568L;

void add(ProductAmounts& list, const ProductAmount& more) {
  for (ProductAmount& a : list) {
    if (a.product == more.product) {
      a.milligpu += more.milligpu;
      return;
    }
  }
  list.push_back(more);
}

}  // namespace

bool Oracle::below(AccountId leaf, AccountId top) const {
  for (const Account* a = account(leaf); a; a = account(a->parent)) {
    if (a->id == top) return true;
  }
  return false;
}

MilliGpu Oracle::allocated(AccountId id, bool bound_only) const {
  MilliGpu sum = 0;
  for (const Slot& s : slots_) {
    if (below(s.leaf, id) && (s.bound || !bound_only)) sum += s.at.milligpu;
  }
  if (!bound_only) sum += claimed(id);
  return sum;
}

ProductAmounts Oracle::quota_list(const Account& a) const {
  if (!a.spec.quota.empty()) return a.spec.quota;
  ProductAmounts sum;
  for (const Account& child : accounts_) {
    if (!child.live || child.parent != a.id) continue;
    for (const ProductAmount& q : quota_list(child)) add(sum, q);
  }
  return sum;
}

MilliGpu Oracle::quota(AccountId id) const {
  MilliGpu sum = 0;
  for (const ProductAmount& a : quota_list(*account(id))) sum += a.milligpu;
  return sum;
}

// Returns held GPUs by product, with `more` on top.
ProductAmounts Oracle::held(AccountId id, const ProductAmount& more, bool claims) const {
  ProductAmounts held;
  for (const Slot& s : slots_) {
    if (!below(s.leaf, id)) continue;
    for (const Node& n : nodes_) {
      if (n.id == s.at.node) add(held, {n.spec.product, s.at.milligpu});
    }
  }
  for (const fact::Claimed& c : claims_) {
    const bool counts = claims && std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& j) {
                          return j.id == c.job && below(j.leaf, id);
                        });
    for (const PodSlot& slot : c.slots) {
      for (const Node& n : nodes_) {
        if (counts && n.id == slot.node) add(held, {n.spec.product, slot.milligpu});
      }
    }
  }
  if (more.milligpu != 0) add(held, more);
  return held;
}

MilliGpu Oracle::uncovered(AccountId id, const ProductAmounts& held) const {
  const ProductAmounts quotas = quota_list(*account(id));
  MilliGpu rest = 0;
  for (const ProductAmount& u : held) {
    rest += std::max<MilliGpu>(0, u.milligpu - amount(quotas, u.product));
  }
  return std::max<MilliGpu>(0, rest - amount(quotas, kAnyProduct));
}

// The allocation above quota from `at` on. A change that is reported late counts from the node's
// last change.
void Oracle::changed(AccountId leaf, TimeMs at) {
  for (Account* a = account(leaf); a; a = account(a->parent)) follow_level(*a, at);
}

void Oracle::follow_level(Account& a, TimeMs at) {
  a.last_change = std::max(a.last_change, at);
  const MilliGpu level = uncovered(a.id, held(a.id, {}, false));
  if (a.surplus.empty() || a.surplus.back().level != level) {
    a.surplus.push_back({a.last_change, level, calm_.meter_edits.size()});
  }
}

std::vector<std::map<std::string, MilliGpu>> Oracle::quotas_of_path(AccountId id) const {
  std::vector<std::map<std::string, MilliGpu>> out;
  for (const Account* a = account(id); a; a = account(a->parent)) {
    auto& quotas = out.emplace_back();
    for (const ProductAmount& q : quota_list(*a)) quotas[q.product] = q.milligpu;
  }
  return out;
}

// An edit that changes a node's quota is a change of the node; any other edit is not.
void Oracle::quotas_changed(AccountId id,
                            const std::vector<std::map<std::string, MilliGpu>>& before) {
  const auto now = quotas_of_path(id);
  std::size_t level = 0;
  for (Account* a = account(id); a; a = account(a->parent), ++level) {
    if (level >= before.size() || now[level] != before[level]) follow_level(*a, now_);
  }
}

long double Oracle::weight(TimeMs t) const {
  if (policy_.half_life_ms == 0) return 1;
  return std::exp2(-static_cast<long double>(now_ - t) /
                   static_cast<long double>(policy_.half_life_ms));
}

long double Oracle::decayed(MilliGpu rate, TimeMs from, TimeMs to) const {
  const auto r = static_cast<long double>(rate);
  if (policy_.half_life_ms == 0) return r * static_cast<long double>(to - from);
  const long double life = static_cast<long double>(policy_.half_life_ms) / kLn2;
  return r * life * (weight(to) - weight(from));
}

long double Oracle::usage(AccountId id) const {
  long double sum = 0;
  for (const Interval& u : uses_) {
    if (u.rate != 0 && below(u.leaf, id)) sum += decayed(u.rate, u.from, u.to < 0 ? now_ : u.to);
  }
  return sum;
}

GpuTime Oracle::undecayed(AccountId id) const {
  GpuTime sum;
  for (const Interval& u : uses_) {
    if (below(u.leaf, id)) sum += GpuTime::of(u.rate, (u.to < 0 ? now_ : u.to) - u.from);
  }
  return sum;
}

long double Oracle::surplus(AccountId id) const {
  const std::vector<Step>& steps = account(id)->surplus;
  long double sum = 0;
  const auto is_known = [&](std::size_t i) {
    return i < steps.size() && steps[i].edits <= calm_.known;
  };
  for (std::size_t i = 0; is_known(i); ++i) {
    const TimeMs to = is_known(i + 1) ? steps[i + 1].t : now_;
    if (steps[i].level != 0) sum += decayed(steps[i].level, steps[i].t, to);
  }
  for (const auto& [t, amount] : account(id)->moved_surplus) sum += amount * weight(t);
  return sum;
}

long double Oracle::sort_surplus(AccountId id) const {
  long double sum = surplus(id);
  for (const auto& [t, amount] : account(id)->adjustments) sum += amount * weight(t);
  return std::max(0.0L, sum);
}

void Oracle::judge_days(const Engine& engine) {
  if (engine.next_deadline().value_or(now_ + 1) <= now_) return;  // a tick is still to come
  for (const Slot& s : slots_) {
    const bool synced = is_synced(s.job.cluster());
    const TimeMs midnight = (s.charged_to / kDayMs + 1) * kDayMs;
    if (s.bound && synced && s.at.milligpu > 0 && midnight + limits::kDayOpenMs <= now_) {
      wrong(text::job_id_text(s.job) + " lacks the row of a closed day");
    }
  }
}

void Oracle::compare(const Engine& engine) {
  judge_days(engine);
  compare_accounts(engine);
  OracleBudgets::compare(*this, engine);
  compare_fleet(engine);
  compare_jobs(engine);
}

void Oracle::compare_accounts(const Engine& engine) {
  const AccountTree& tree = engine.accounts();
  // Errors are in terms of a fleet's usage for one mean life:
  // doubles carry about 16 digits of that.
  const long double scale =
      1e-9L * 1000 * kMilliPerGpu *
      static_cast<long double>(std::max<DurationMs>(policy_.half_life_ms, kDayMs));
  for (const Account& a : accounts_) {
    if (!a.live) continue;
    const AccountNode& n = tree.node(a.id);
    const std::string who = "account \"" + a.spec.path + "\" ";
    const MilliGpu all = allocated(a.id, false), running = allocated(a.id, true);
    if (n.holdings.running() != running || n.holdings.held() != all - running)
      wrong(who + "holds another amount");
    if (n.quota_total != quota(a.id)) wrong(who + "has another quota");
    if (tree.usage_undecayed(a.id, now_) != undecayed(a.id)) wrong(who + "used another amount");
    if (std::abs(tree.usage(a.id, now_) - usage(a.id)) > scale) wrong(who + "decayed usage is off");
    if (!options_.judge_surplus) continue;
    if (std::abs(surplus_of(tree, a.id, now_) - surplus(a.id)) > scale)
      wrong(who + "surplus is off");
    if (std::abs(tree.sort_surplus(a.id, now_) - sort_surplus(a.id)) > 2 * scale) {
      wrong(who + "surplus with adjustments is off");
    }
  }
}

void Oracle::compare_fleet(const Engine& engine) {
  GpuTime total;
  for (const LedgerRow& r : rows_) total += r.amount();
  if (engine.ledger().total() != total) wrong("the ledger's total is off");
  if (engine.ledger().rows() != rows_.size()) wrong("the ledger has another number of rows");
  for (const Node& n : nodes_) {
    if (!n.there) continue;
    MilliGpu allocated_here = 0;
    for (const Slot& s : slots_) allocated_here += s.at.node == n.id ? s.at.milligpu : 0;
    const NodeLevels levels = engine.fleet().levels(n.id);
    if (levels.installed != n.spec.gpus * kMilliPerGpu) wrong(n.spec.name + " has other GPUs");
    if (levels.allocated != allocated_here) wrong(n.spec.name + " has another allocation");
  }
  if (!residual_of(engine.bill(now_)).is_zero()) wrong("the bill does not close");
}

void Oracle::compare_jobs(const Engine& engine) {
  std::array<std::size_t, EnumText<JobState>::names.size()> counts{};
  for (const Job& j : jobs_) {
    const auto row = engine.job(j.id, false);
    if (!row) {
      wrong(text::job_id_text(j.id) + " is unknown to the engine");
      continue;
    }
    ++counts[static_cast<std::size_t>(row->state)];
    compare_end(j, *row);
    // That a starting job runs follows from its pods.
    const bool settled = j.state != JobState::kStarting;
    if (settled && row->state != j.state) wrong(text::job_id_text(j.id) + " is in another state");
    if (row->owners.parking != j.last.parking)
      wrong(text::job_id_text(j.id) + " is parked otherwise");
  }
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const auto state = static_cast<JobState>(s);
    if (state != JobState::kDone && engine.count(state) != counts[s]) {
      wrong("another number of jobs is " + std::string(enum_name(state)));
    }
  }
}

}  // namespace subak::sim
