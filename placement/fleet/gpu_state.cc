#include "placement/fleet/gpu_state.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

void put(std::string& out, std::int64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Sorts the GPUs of each domain, those with the most free milli-GPU first. Then sorts the domains
// of full size by these lists.
void put_in_order(const NodeSpec& spec, std::vector<std::int32_t>& free) {
  const auto most_first = std::greater<std::int32_t>();
  const auto domains = static_cast<std::size_t>(inner_domains(spec));
  if (domains <= 1) {
    std::sort(free.begin(), free.end(), most_first);
    return;
  }
  const auto size = static_cast<std::size_t>(spec.gpus_per_domain);
  std::vector<std::vector<std::int32_t>> parts;
  for (std::size_t from = 0; from < free.size(); from += size) {
    const auto begin = free.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end = free.begin() + static_cast<std::ptrdiff_t>(std::min(from + size, free.size()));
    parts.emplace_back(begin, end);
    std::sort(parts.back().begin(), parts.back().end(), most_first);
  }
  const bool short_one = parts.back().size() < size;  // this domain stays the last
  std::sort(parts.begin(), parts.end() - (short_one ? 1 : 0), std::greater<>());
  free.clear();
  for (const auto& part : parts) free.insert(free.end(), part.begin(), part.end());
}

void write_content(const NodeState& n, const std::vector<std::int32_t>& free, std::string& out) {
  out.clear();
  for (const std::int64_t number :
       {std::int64_t{n.product.value}, n.spec.gpus, n.spec.mig_gpus, n.spec.gpus_per_domain,
        n.spec.replicas, std::int64_t{n.load.allocated > 0}, std::int64_t{n.split},
        n.spec.numa_gpus, std::int64_t{n.spec.one_replica}, std::ssize(n.spec.fabric)}) {
    put(out, number);
  }
  out += n.spec.fabric;
  put(out, std::ssize(free));
  out.append(reinterpret_cast<const char*>(free.data()), free.size() * sizeof free[0]);
  for (std::size_t i = 0; i < n.spec.mig.size(); ++i) {
    put(out, n.spec.mig[i].count);
    put(out, n.room.mig_free[i]);
    put(out, std::ssize(n.spec.mig[i].profile));
    out += n.spec.mig[i].profile;
  }
}

GpuState state_of(const NodeState& n, std::vector<std::int32_t> free) {
  must(free.size() <= limits::kMaxGpusPerNode, "each GPU of a node has a bit");
  GpuState s;
  s.spec.product = n.spec.product;
  s.spec.gpus = n.spec.gpus;
  s.spec.mig_gpus = n.spec.mig_gpus;
  s.spec.mig = n.spec.mig;
  s.spec.replicas = n.spec.replicas;
  s.spec.gpus_per_domain = n.spec.gpus_per_domain;
  s.spec.numa_gpus = n.spec.numa_gpus;
  s.spec.one_replica = n.spec.one_replica;
  s.spec.fabric = n.spec.fabric;
  s.product = n.product;
  s.linked = n.linked;
  s.split = n.split;
  s.used = n.load.allocated > 0;
  s.free = std::accumulate(free.begin(), free.end(), MilliGpu{0});
  for (std::size_t gpu = 0; gpu < free.size(); ++gpu) {
    const GpuMask bit = GpuMask{1} << gpu;
    if (free[gpu] > 0) s.room.usable |= bit;
    if (n.spec.replicas <= 1 && free[gpu] == kMilliPerGpu) s.room.whole |= bit;
  }
  s.room.gpu_free = std::move(free);
  s.room.mig_free = n.room.mig_free;
  return s;
}

}  // namespace

StateIndex GpuStates::use(const NodeState& n) {
  free_ = n.room.gpu_free;
  put_in_order(n.spec, free_);
  must(free_.size() == n.room.gpu_free.size(), "sorting loses no GPU");
  write_content(n, free_, scratch_);
  const auto found = by_content_.find(scratch_);
  if (found != by_content_.end()) {
    ++entries_[found->second].uses;
    return found->second;
  }
  StateIndex i = static_cast<StateIndex>(entries_.size());
  if (unused_.empty()) {
    entries_.emplace_back();
  } else {
    i = unused_.back();
    unused_.pop_back();
    must(entries_[i].uses == 0, "an unused state has no nodes");
  }
  entries_[i] = {state_of(n, free_), scratch_, 1, ++last_serial_};
  by_content_.emplace(scratch_, i);
  with_fabric_ += n.spec.fabric.empty() ? 0 : 1;
  must(i != 0, "number 0 is of no state");
  must(by_content_.size() + unused_.size() + 1 == entries_.size(), "a state is known or unused");
  return i;
}

void GpuStates::drop(StateIndex i) {
  if (i == 0) return;
  Entry& e = entries_[i];
  must(e.uses > 0, "a state that is left was entered");
  if (--e.uses > 0) return;
  by_content_.erase(e.content);
  with_fabric_ -= e.state.spec.fabric.empty() ? 0 : 1;
  e = Entry();
  unused_.push_back(i);
  must(by_content_.size() + unused_.size() + 1 == entries_.size(), "a state is known or unused");
}

}  // namespace subak
