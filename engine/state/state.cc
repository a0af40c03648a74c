#include "engine/state/state.h"

#include <variant>

#include "core/must.h"
#include "core/stored_size.h"

namespace subak {

State::State(Books books) {
  tree_.set(kRootAccount, AccountSpec(), 0, 0, {}, {});
  if (books == Books::kLeftOut) allocations_.leave_out_books();
  must(tree_.exists(kRootAccount), "a tree has its root");
}

void State::apply(const Fact& fact) {
  log_.begin(fact);
  leap_.advance(fact_ms());
  std::visit([this](const auto& body) { on(body); }, fact.body);
  log_.end(fact);
}

ShapeUse State::use_single_pod(const state::Job& job, const PodShape& shape) {
  const GangRequest alone = state::single_pod(shape, state::uses_compute_domain(fleet_, job));
  ShapeUse use = fleet_.use(job.id.cluster(), alone);
  const ShapeId id = use.id();
  if (bytes_of_shape_.size() <= id.value) bytes_of_shape_.resize(id.value + 1);
  SinglePodBytes& known = bytes_of_shape_[id.value];
  if (known.serial != fleet_.shapes().serial(id)) {
    known = {fleet_.shapes().serial(id), static_cast<std::uint32_t>(stored_bytes(shape))};
  }
  must(known.serial == fleet_.shapes().serial(id),
       "a size is of the shape that has the number now");
  return use;
}

void State::check() const {
  tree_.check_invariants();
  fleet_.check_invariants();
  clusters_.check();
  nodes_.check();
  jobs_.check();
  allocations_.check(jobs_);
  claims_.check();
  node_backoff_.check();
  must(fleet_.gpu_headroom() == policy_.gpu_headroom,
       "the fleet keeps beside GPUs what the policy says");
  for (const auto& [name, id] : nodes_.all()) {
    must(fleet_.node(id) != nullptr && fleet_.node(id)->name == name.second,
         "a node has the name under which it is found");
  }
}

}  // namespace subak
