#include "placement/gpus/node_claim.h"

#include <algorithm>
#include <utility>

#include "core/must.h"
#include "placement/gpus/load.h"

namespace subak {
namespace {

// Adds to `sum` the part of `amount` that exceeds `there`.
template <class T>
void add_rest(T& sum, T amount, T there) {
  sum += std::max<T>(0, amount - there);
}

std::int64_t count_of(const std::vector<ResourceCount>& counts, const std::string& name) {
  const auto it = std::find_if(counts.begin(), counts.end(),
                               [&](const ResourceCount& r) { return r.name == name; });
  return it == counts.end() ? 0 : it->count;
}

std::int64_t slices_of(const std::vector<MigUse>& uses, const std::string& profile) {
  const auto it =
      std::find_if(uses.begin(), uses.end(), [&](const MigUse& u) { return u.profile == profile; });
  return it == uses.end() ? 0 : it->slices;
}

// Adds what the claim wants on this node beyond what its victims still hold there.
void add_set_aside(Load& sum, const Load& wanted, const Load& held) {
  if (sum.gpu_used.size() < wanted.gpu_used.size()) sum.gpu_used.resize(wanted.gpu_used.size());
  for (std::size_t gpu = 0; gpu < wanted.gpu_used.size(); ++gpu) {
    const std::int32_t there = gpu < held.gpu_used.size() ? held.gpu_used[gpu] : 0;
    add_rest(sum.gpu_used[gpu], wanted.gpu_used[gpu], there);
  }
  for (const MigUse& use : wanted.mig_used) {
    auto it = std::find_if(sum.mig_used.begin(), sum.mig_used.end(),
                           [&](const MigUse& u) { return u.profile == use.profile; });
    if (it == sum.mig_used.end()) it = sum.mig_used.insert(it, {use.profile, 0});
    add_rest(it->slices, use.slices, slices_of(held.mig_used, use.profile));
  }
  add_rest(sum.cpu_used, wanted.cpu_used, held.cpu_used);
  add_rest(sum.memory_used, wanted.memory_used, held.memory_used);
  add_rest(sum.pods_used, wanted.pods_used, held.pods_used);
  for (const ResourceCount& r : wanted.extended_used) {
    auto it = std::find_if(sum.extended_used.begin(), sum.extended_used.end(),
                           [&](const ResourceCount& u) { return u.name == r.name; });
    if (it == sum.extended_used.end()) it = sum.extended_used.insert(it, {r.name, 0});
    add_rest(it->count, r.count, count_of(held.extended_used, r.name));
  }
  for (const HostPort& port : wanted.ports) {
    if (std::find(held.ports.begin(), held.ports.end(), port) == held.ports.end())
      sum.ports.push_back(port);
  }
}

}  // namespace

Load without_jobs(const Load& load, std::span<const JobId> jobs, const PodShapeOf& shape_of) {
  Load rest = load;
  for (std::size_t i = rest.holds.size(); i-- > 0;) {
    const Hold& hold = rest.holds[i];
    if (!std::binary_search(jobs.begin(), jobs.end(), hold.owner)) continue;
    rest.remove(&hold, shape_of(hold.shape, hold.rank));
  }
  must(rest.allocated <= load.allocated, "without some jobs a node holds no more");
  return rest;
}

Load with_claims(const Load& load, std::span<const NodeClaim> claims, JobId leave_out,
                 const PodShapeOf& shape_of) {
  Load sum = load;
  for (const NodeClaim& claim : claims) {
    if (claim.claimant == leave_out) continue;
    Load wanted, held;
    for (const NodeClaim::Slot& s : claim.slots) {
      wanted.add({claim.claimant, claim.shape, s.rank, s.slot, 0, kNoArea},
                 shape_of(claim.shape, s.rank));
    }
    for (const Hold& hold : load.holds) {
      if (std::binary_search(claim.victims.begin(), claim.victims.end(), hold.owner))
        held.add(hold, shape_of(hold.shape, hold.rank));
    }
    add_set_aside(sum, wanted, held);
  }
  must(sum.allocated == load.allocated, "what is set aside is not held");
  return sum;
}

}  // namespace subak
