#include "accounting/entitlement.h"

#include <algorithm>

namespace subak {
namespace {

constexpr ProductId kAny{};

MilliGpu amount_of(std::span<const ProductDemand> amounts, ProductId product) {
  const auto it = std::find_if(amounts.begin(), amounts.end(),
                               [&](const ProductDemand& d) { return d.first == product; });
  return it == amounts.end() ? 0 : it->second;
}

MilliGpu held_of(const AccountNode& node, ProductId product) {
  if (product == kAny) return node.alloc();
  const auto it = std::find_if(node.levels.begin(), node.levels.end(),
                               [&](const ProductLevel& l) { return l.product == product; });
  return it == node.levels.end() ? 0 : it->total();
}

// Of what the node holds (if `with_held`) and the demand, how much no quota covers.
MilliGpu uncovered(const AccountNode& node, std::span<const ProductDemand> demand, bool with_held) {
  MilliGpu rest = 0;
  const auto count = [&](ProductId product, MilliGpu amount) {
    const MilliGpu own = product == kAny ? 0 : amount_of(node.quota, product);
    rest += std::max<MilliGpu>(0, amount - own);
  };
  if (with_held) {
    for (const ProductLevel& level : node.levels) {
      count(level.product, level.total() + amount_of(demand, level.product));
    }
  }
  for (const auto& [product, amount] : demand) {
    const bool counted = with_held && std::any_of(node.levels.begin(), node.levels.end(),
                                                  [&, p = product](const ProductLevel& l) {
                                                    return l.product == p;
                                                  });
    if (!counted) count(product, amount);
  }
  return std::max<MilliGpu>(0, rest - amount_of(node.quota, kAny));
}

// Calls fn(Binding) for all that bind at one node until it returns true; true if it did.
template <class F>
class Judge {
 public:
  Judge(const Demand& demand, Asking asking, F& fn) : demand_(demand), asking_(asking), fn_(fn) {}

  bool operator()(const AccountNode& node) {
    if (asking_ == Asking::kStart && node.spec.held && stop(BindingKind::kHold, node)) return true;
    if (asking_ == Asking::kSubmit && node.spec.draining && stop(BindingKind::kDrain, node)) {
      return true;
    }
    for (const auto& [product, most] : node.limit) {
      if (limit(node, product, most)) return true;
    }
    return node.borrow && borrow(node, *node.borrow);
  }

 private:
  bool tell(const Binding& binding) { return fn_(binding); }
  bool stop(BindingKind kind, const AccountNode& node) {
    return tell({kind, node.id, kAny, demand_.total(), 0, 0, 0, false, true});
  }

  bool limit(const AccountNode& node, ProductId product, MilliGpu most) {
    const MilliGpu need = product == kAny ? demand_.total() : amount_of(demand_.amounts, product);
    if (need == 0) return false;
    const MilliGpu used = held_of(node, product);
    const bool never = need > most;
    if (asking_ == Asking::kSubmit ? !never : used + need <= most) return false;
    return tell({BindingKind::kLimit, node.id, product, need, std::max<MilliGpu>(0, most - used),
                 used, most, never, product == kAny});
  }

  // Of a demand without a product only what all quotas together leave is sure to bind.
  bool borrow(const AccountNode& node, MilliGpu most) {
    const MilliGpu need = demand_.total();
    if (need == 0) return false;
    if (amount_of(demand_.amounts, kAny) > 0) {
      const MilliGpu all = node.quota_total + most;
      const bool never = need > all;
      if (asking_ == Asking::kSubmit ? !never : node.alloc() + need <= all) return false;
      return tell({BindingKind::kBorrow, node.id, kAny, need,
                   std::max<MilliGpu>(0, all - node.alloc()),
                   std::max<MilliGpu>(0, node.alloc() - node.quota_total), most, never, true});
    }
    const MilliGpu now = uncovered(node, {}, true);
    const MilliGpu then = uncovered(node, demand_.amounts, true);
    const MilliGpu alone = uncovered(node, demand_.amounts, false);
    const MilliGpu beyond = (asking_ == Asking::kSubmit ? alone : then) - most;
    // What was borrowed before the rule came does not stop what quota covers.
    if (beyond <= 0 || then == now) return false;
    const ProductId product = demand_.amounts.size() == 1 ? demand_.amounts.front().first : kAny;
    return tell({BindingKind::kBorrow, node.id, product, need, std::max<MilliGpu>(0, need - beyond),
                 now, most, alone > most, false});
  }

  const Demand& demand_;
  const Asking asking_;
  F& fn_;
};

template <class F>
void each_binding(const AccountTree& tree, const Demand& demand, Asking asking, F fn) {
  Judge<F> judge(demand, asking, fn);
  for (AccountId id = demand.leaf; id; id = tree.node(id).parent) {
    if (judge(tree.node(id))) return;
  }
}

}  // namespace

MilliGpu Demand::total() const {
  MilliGpu sum = 0;
  for (const auto& [product, amount] : amounts) sum += amount;
  return sum;
}

std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking) {
  std::vector<Binding> out;
  each_binding(tree, demand, asking, [&](const Binding& binding) {
    out.push_back(binding);
    return false;
  });
  return out;
}

std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking) {
  std::optional<Binding> first;
  each_binding(tree, demand, asking, [&](const Binding& binding) {
    first = binding;
    return true;
  });
  return first;
}

}  // namespace subak
