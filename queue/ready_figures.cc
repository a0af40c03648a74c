#include "queue/ready_figures.h"

#include "accounting/quota/entitlement.h"
#include "core/must.h"

namespace subak::ready {

void Figures::begin(const Index& index, const PassSetup& setup) {
  must(setup.tree != nullptr && setup.rule != nullptr, "a pass has a tree and a rule");
  must(setup.policy != OrderPolicy::kUsageTick || setup.tick != nullptr, "usage-tick has ticks");
  index_ = &index;
  setup_ = setup;
  instant_ = setup.tree->clock().at(setup.now);
  taken_.clear();
}

double Figures::value(AccountId id) const {
  switch (setup_.policy) {
    case OrderPolicy::kTargetShare:
      return setup_.tree->sort_surplus(id, instant_);
    case OrderPolicy::kExact:
      return setup_.tree->usage(id, instant_);
    case OrderPolicy::kUsageTick:
      return setup_.tick->usage(id);
    case OrderPolicy::kDrf:
    case OrderPolicy::kFifo:
      return 0;
  }
  return 0;
}

// An account's own jobs have no quota: their surplus is their usage. It is a difference of sums. A
// rounding error counts as 0, or it would decide between accounts without past usage.
double Figures::own_value(AccountId id) const {
  if (setup_.policy == OrderPolicy::kDrf) return 0;
  const auto usage = [this](AccountId of) {
    return setup_.policy == OrderPolicy::kUsageTick ? setup_.tick->usage(of)
                                                    : setup_.tree->usage(of, instant_);
  };
  constexpr double kRounding = 1e-9;  // of the total; 53 bits and some thousand sums leave less
  const double all = usage(id);
  double value = all;
  for (const AccountId child : index_->children(id)) value -= usage(child);
  return value > kRounding * all ? value : 0;
}

MilliGpu Figures::own_alloc(AccountId id) const {
  MilliGpu own = alloc(id);
  for (const AccountId child : index_->children(id)) own -= alloc(child);
  must(own >= 0, "an account has what its children have");
  return own;
}

bool Figures::covers(AccountId id, std::uint32_t slot) const {
  const AccountNode& node = setup_.tree->node(id);
  const ShapeCost& cost = index_->cost(index_->jobs()[slot].kind);
  must(alloc(id) >= node.alloc(), "who is taken adds to the holds");
  const ProductDemand more{cost.product, alloc(id) - node.alloc() + cost.milligpu};
  return subak::covers(node, {&more, 1});
}

void Figures::take(std::uint32_t slot) {
  if (taken_.empty()) taken_.assign(setup_.tree->next_id().value, 0);
  const Slot& job = index_->jobs()[slot];
  must(job.live, "only a waiting job is taken");
  must(job.leaf.value < taken_.size(), "a job that is taken is of an account of the pass");
  const MilliGpu milligpu = index_->cost(job.kind).milligpu;
  for (AccountId id = job.leaf; id; id = index_->summary(id).parent) taken_[id.value] += milligpu;
}

}  // namespace subak::ready
