// Tries all placements of a gang on a small fleet by loops, to compare the search with.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "placement/gpus/eligibility.h"
#include "tests/placement/oracle/naive_fleet.h"

namespace subak {

inline const ClusterId kHere(1);

// Tries every assignment of the gang's pods to nodes and GPUs. Threads: one at a time.
class EveryWay {
 public:
  EveryWay(const naive::Fleet& fleet, const GangRequest& request)
      : fleet_(fleet), request_(request) {
    for (const auto& [id, node] : fleet.nodes) rooms_[id] = fleet.left(id);
    one_product_ = !request.terms.mixed_products && agree_on_products();
  }

  bool possible() { return granted() || (request_.terms.prefer && possible_anywhere()); }
  // Does the same as possible(), with GPUs of one product, whatever products the pods name.
  bool possible_of_one() {
    one_product_ = true;
    return possible();
  }
  bool possible_anywhere() {
    spares_ = Spares::kNone;
    return possible(Topology::kAny, request_.pods());
  }
  // True if a placement has the topology, even if only preferred, and leaves the spare nodes.
  bool granted() {
    return granted_with_spares() || (request_.terms.spare > 0 && granted_with_spent());
  }
  bool granted_with_spares() {
    spares_ = request_.terms.spare > 0 ? Spares::kWorking : Spares::kNone;
    return granted_so();
  }
  bool granted_with_spent() {
    spares_ = Spares::kAny;
    return granted_so();
  }
  // True if these slots leave enough spare nodes. `spent`: broken nodes count as spares too.
  bool leaves_spares(const std::vector<PodSlot>& slots, bool spent) {
    slots_.clear();
    for (const PodSlot& s : slots) slots_.push_back({s.node.value, s.gpu_mask});
    spares_ = spent ? Spares::kAny : Spares::kWorking;
    return leaves_spares();
  }
  bool granted_so() {
    if (request_.terms.balanced) return fewest_parts() > 0;
    const bool segments = request_.terms.segment > 0;
    const Topology topology = segments && request_.terms.topology == Topology::kAny
                                  ? Topology::kNvlink
                                  : request_.terms.topology;
    return possible(topology, segments ? request_.terms.segment : request_.pods());
  }
  // For a balanced gang: returns the fewest domains that hold it; 0: no domains do.
  std::uint32_t fewest_parts() {
    const std::uint32_t unit = std::max(request_.terms.segment, 1u), units = request_.pods() / unit;
    for (std::uint32_t parts = 1; parts <= units; ++parts) {
      if (possible(Topology::kNvlink, unit, parts)) return parts;
    }
    return 0;
  }

 private:
  struct Slot {
    std::uint32_t node = 0;
    std::uint64_t mask = 0;
    auto operator<=>(const Slot&) const = default;
  };

  // False if the pods name products that exclude each other: each pod then gets what it names.
  bool agree_on_products() const {
    std::vector<std::string> all;
    bool any = true;
    for (const PodGroup& g : request_.groups) {
      if (g.shape.kind == GpuKind::kNone || g.shape.products.empty()) continue;
      if (any) {
        all = g.shape.products;
      } else {
        std::erase_if(all, [&](const std::string& p) {
          return std::find(g.shape.products.begin(), g.shape.products.end(), p) ==
                 g.shape.products.end();
        });
      }
      any = false;
    }
    return any || !all.empty();
  }

  // Calls fn(GPU mask, domain) for each way to put a pod on a node.
  void each_slot(std::uint32_t id, const PodShape& pod,
                 const std::function<void(std::uint64_t, const std::string&)>& fn) const {
    const std::size_t gpus = rooms_.at(id).gpu.size();
    const bool part = pod.kind == GpuKind::kFraction || pod.kind == GpuKind::kShared;
    const int bits = pod.kind == GpuKind::kWhole ? static_cast<int>(pod.gpus) : part ? 1 : 0;
    for (std::uint64_t mask = 0; mask < std::uint64_t{1} << gpus; ++mask) {
      if (std::popcount(mask) != bits) continue;
      std::string area = area_of(id, pod, mask);
      if (area != "none") fn(bits == 0 ? naive::kAll : mask, area);
    }
  }
  std::string area_of(std::uint32_t id, const PodShape& pod, std::uint64_t mask) const {
    const bool gpu = pod.kind != GpuKind::kNone;
    if (topology_ == Topology::kNode) return std::to_string(id);
    if (!gpu || topology_ == Topology::kAny) return "";
    if (topology_ == Topology::kRack) return fleet_.group(id, 0);
    const NodeSpec& spec = fleet_.nodes.at(id).spec;
    if (!naive::joined(spec)) return "none";
    if (pod.kind == GpuKind::kMig || !spec.clique.empty()) return fleet_.clique(id);
    for (const std::uint64_t half : naive::Fleet::inner(spec)) {
      if ((mask & ~half) == 0) return fleet_.clique(id) + "/" + std::to_string(half);
      if ((mask & half) != 0) return "none";
    }
    return fleet_.clique(id);
  }

  // Each set of `size` pods is in one domain. `parts`: that many groups of sets, each in its own.
  bool possible(Topology topology, std::uint32_t size, std::uint32_t parts = 0) {
    topology_ = topology;
    starts_.clear();
    const std::uint32_t sets = request_.pods() / size;
    apart_ = parts > 0;
    if (parts == 0) parts = sets;
    for (std::uint32_t p = 0, at = 0; p < parts; ++p) {
      starts_.insert(at);
      at += size * (sets / parts + (p < sets % parts ? 1 : 0));
    }
    slots_.assign(request_.pods(), {});
    areas_.clear();
    return put(0, "", "");
  }

  bool put(std::uint32_t rank, const std::string& area, const std::string& product) {
    if (rank == request_.pods()) {
      return leaves_headroom() && (spares_ == Spares::kNone || leaves_spares());
    }
    const PodShape& pod = naive::pod_of(request_, rank);
    const bool first = starts_.contains(rank);
    const bool same = !first && naive::pod_of(request_, rank - 1) == pod;
    for (const auto& [id, node] : fleet_.nodes) {
      if (!fleet_.open(id, pod, kHere, JobId())) continue;
      const bool gpu = pod.kind != GpuKind::kNone;
      if (gpu && one_product_ && !product.empty() && product != node.spec.product) continue;
      bool done = false;
      each_slot(id, pod, [&](std::uint64_t mask, const std::string& here) {
        const Slot slot{id, mask};
        if (done || (same && slot < slots_[rank - 1])) return;
        const std::string in = first ? "" : area;
        if (!here.empty() && !in.empty() && here != in) return;
        const bool enters = apart_ && in.empty() && !here.empty();
        if (enters && !areas_.insert(here).second) return;
        naive::Left before = rooms_[id];
        if (fleet_.put(node.spec, rooms_[id], pod, mask)) {
          slots_[rank] = slot;
          done = put(rank + 1, here.empty() ? in : here, gpu ? node.spec.product : product);
        }
        rooms_[id] = std::move(before);
        if (enters) areas_.erase(here);
      });
      if (done) return true;
    }
    return false;
  }

  bool leaves_headroom() const {
    for (std::uint32_t k = 0; k < request_.pods(); ++k) {
      const std::uint32_t id = slots_[k].node;
      const PodShape& pod = naive::pod_of(request_, k);
      if (!fleet_.leaves_headroom(fleet_.nodes.at(id).spec, rooms_.at(id), pod)) return false;
    }
    return true;
  }

  // True if the gang leaves enough spare nodes in each clique of several nodes that it uses.
  bool leaves_spares() const {
    std::set<std::uint32_t> used;
    for (std::uint32_t k = 0; k < request_.pods(); ++k) {
      if (naive::pod_of(request_, k).kind != GpuKind::kNone) used.insert(slots_[k].node);
    }
    for (const std::uint32_t id : used) {
      const auto members = fleet_.members(fleet_.clique(id));
      std::uint32_t left = 0;
      for (const std::uint32_t m : members) {
        const bool like =
            !one_product_ || fleet_.nodes.at(m).spec.product == fleet_.nodes.at(id).spec.product;
        left += like && !used.contains(m) && is_spare(m) ? 1 : 0;
      }
      if (members.size() > 1 && left < request_.terms.spare) return false;
    }
    return true;
  }
  bool is_spare(std::uint32_t id) const {
    const naive::Node& n = fleet_.nodes.at(id);
    bool serves = false, would = false;
    const bool held = std::any_of(n.held.begin(), n.held.end(),
                                  [](const naive::Held& h) { return h.slot.milligpu > 0; });
    for (const PodGroup& g : request_.groups) {
      const PodShape& pod = g.shape;
      if (pod.kind == GpuKind::kNone || !eligibility::matches(pod, n.spec)) continue;
      const bool open =
          fleet_.open(id, pod, kHere, JobId(), /*bars=*/false) && n.spec.unhealthy_gpus == 0;
      serves |= open && !held && fleet_.cap(id, pod, naive::kAll) > 0;
      naive::Fleet only_gpus = fleet_;
      NodeSpec& all = only_gpus.nodes.at(id).spec;
      all.cpu_milli = all.memory_bytes = all.pod_slots = 0;
      const bool broken = !open || only_gpus.cap(id, pod, naive::kAll) == 0;
      would |= !held && broken && fleet_.cap(id, pod, naive::kAll, /*empty=*/true) > 0;
    }
    return serves || (would && spares_ == Spares::kAny);
  }

  enum class Spares { kNone, kWorking, kAny };

  const naive::Fleet& fleet_;
  const GangRequest& request_;
  Spares spares_ = Spares::kNone;
  std::map<std::uint32_t, naive::Left> rooms_;
  std::vector<Slot> slots_;
  Topology topology_ = Topology::kAny;
  std::set<std::uint32_t> starts_;  // ranks where a segment or a part begins
  bool apart_ = false;              // true: they are parts
  std::set<std::string> areas_;     // the domains of the placed parts
  bool one_product_ = true;
};

}  // namespace subak
