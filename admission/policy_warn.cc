// Warnings about allowed pods.
#include <algorithm>
#include <optional>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "model/mig.h"

namespace subak::policy {
namespace {

struct FleetTotals {
  std::int64_t gpus = 0;  // usable GPUs of the products that the pod allows
  bool any_product = false;
};

FleetTotals totals_of(const ClusterView& cluster, const PodShape& shape) {
  FleetTotals f;
  MilliGpu milli = 0;
  for (const ProductTotals& t : cluster.products) {
    if (!allows_product(shape, t.product)) continue;
    f.any_product = true;
    milli += t.milligpu.installed - t.milligpu.unusable;
  }
  f.gpus = milli / kMilliPerGpu;
  return f;
}

std::string whole_gpus_text(const ClusterView& cluster, const Pod& pod, const FleetTotals& fleet) {
  const std::int64_t each = pod.shape.gpus;
  const std::int64_t total = each * (pod.gang.uniform ? pod.gang.size : 1);
  if (each > cluster.largest_node_gpus) {
    return "asks for " + std::to_string(each) + " GPUs on one node, the largest has " +
           std::to_string(cluster.largest_node_gpus);
  }
  if (total <= fleet.gpus) return {};
  return "asks for " + std::to_string(total) + " GPUs, " + std::to_string(fleet.gpus) +
         " are there now";
}

// Returns the most slices of the pod's profile into which the GPUs of one node can be divided;
// nullopt: not known, because a product of the cluster is in no table.
std::optional<std::int64_t> most_slices(const ClusterView& cluster, const PodShape& shape) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < cluster.product_node_gpus.size(); ++i) {
    const std::string& product = cluster.products[i].product;
    if (!allows_product(shape, product)) continue;
    const MigGeometry* const geometry = mig_geometry(product);
    if (geometry == nullptr) return std::nullopt;
    const MigProfile* const profile = find_mig_profile(*geometry, shape.profile);
    if (profile == nullptr) continue;
    most = std::max(most, cluster.product_node_gpus[i] * profile->max_count);
  }
  return most;
}

// Returns ", and ..." if no node can have the slices that one pod asks for; else nothing.
std::string never_text(const ClusterView& cluster, const PodShape& shape) {
  const auto most = most_slices(cluster, shape);
  if (!most || *most == 0 || shape.gpus <= *most) return {};
  return ", and the GPUs of no node can be cut into more than " + std::to_string(*most);
}

std::string mig_text(const ClusterView& cluster, const Pod& pod) {
  const std::string slices = " MIG slices " + cut_text(pod.shape.profile);
  const std::vector<MigSlices>& on_one_node = cluster.largest_node.mig;
  const auto largest =
      std::find_if(on_one_node.begin(), on_one_node.end(),
                   [&](const MigSlices& s) { return s.profile == pod.shape.profile; });
  if (largest != on_one_node.end() && pod.shape.gpus > largest->count) {
    return "asks for " + std::to_string(pod.shape.gpus) + slices +
           " on one node, the largest has " + std::to_string(largest->count) +
           never_text(cluster, pod.shape);
  }
  std::int64_t configured = 0;
  for (const auto& [profile, count] : cluster.mig_slices) {
    if (profile == pod.shape.profile) configured += count;
  }
  const std::int64_t total = pod.shape.gpus * (pod.gang.uniform ? pod.gang.size : 1);
  if (total <= configured) return {};
  return "asks for " + std::to_string(total) + slices + ", " + std::to_string(configured) +
         " are configured" + never_text(cluster, pod.shape);
}

std::string cpus_text(std::int64_t milli) {
  const std::int64_t rest = milli % 1000;
  return std::to_string(milli / 1000) +
         (rest == 0 ? "" : "." + std::to_string(1000 + rest).substr(1));
}

// Names resources other than GPUs that the pod requests and that no GPU node has.
std::string beside_text(const LargestNode& largest, const PodShape& pod) {
  for (const ResourceCount& r : pod.extended) {
    const auto known = std::find_if(largest.extended.begin(), largest.extended.end(),
                                    [&](const ResourceCount& of) { return of.name == r.name; });
    const bool there = known != largest.extended.end() && known->count > 0;
    if (!there && !largest.more) return "asks for " + cut_text(r.name) + ", which no node has";
    if (there && known->count < r.count) {
      return "asks for " + std::to_string(r.count) + " " + cut_text(r.name) +
             " on one node, the largest has " + std::to_string(known->count);
    }
  }
  if (largest.cpu_milli > 0 && pod.cpu_milli > largest.cpu_milli) {
    return "asks for " + cpus_text(pod.cpu_milli) + " CPUs on one node, the largest has " +
           cpus_text(largest.cpu_milli);
  }
  if (largest.memory_bytes > 0 && pod.memory_bytes > largest.memory_bytes) {
    constexpr std::int64_t kMi = 1 << 20;
    return "asks for " + std::to_string((pod.memory_bytes + kMi - 1) / kMi) +
           "Mi of memory on one node, the largest has " +
           std::to_string(largest.memory_bytes / kMi) + "Mi";
  }
  return {};
}

// True if a pool could hold the pods once it has all its nodes. Like the warnings, this compares
// amounts only, so a pod that the pool cannot hold for another reason gets no warning.
bool pools_could_hold(const ClusterView& cluster, const Pod& pod, std::int64_t usable_gpus) {
  const PodShape& shape = pod.shape;
  const auto enough = [](std::int64_t node, std::int64_t asked) {
    return node == 0 || asked <= node;
  };
  bool one_holds_a_pod = false;
  std::int64_t gpus = usable_gpus;
  for (const NodesToCome& pool : cluster.largest_node.to_come) {
    if (pool.nodes == 0 || !allows_product(shape, pool.product)) continue;
    gpus += pool.gpus * pool.nodes;
    one_holds_a_pod =
        one_holds_a_pod || (shape.gpus <= pool.gpus && enough(pool.cpu_milli, shape.cpu_milli) &&
                            enough(pool.memory_bytes, shape.memory_bytes));
  }
  const std::int64_t pods = pod.gang.uniform ? std::max<std::int64_t>(1, pod.gang.size) : 1;
  return one_holds_a_pod && shape.gpus * pods <= gpus;
}

}  // namespace

bool allows_product(const PodShape& shape, const std::string& product) {
  return shape.products.empty() ||
         std::find(shape.products.begin(), shape.products.end(), product) != shape.products.end();
}

std::int64_t largest_of(const ClusterView& cluster, const PodShape& shape,
                        const std::vector<std::int64_t>& by_product) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < by_product.size(); ++i) {
    if (allows_product(shape, cluster.products[i].product)) most = std::max(most, by_product[i]);
  }
  return most;
}

std::string exceeds_fleet(const ClusterView& cluster, const Pod& pod) {
  if (!cluster.synced && !cluster.owned) return {};
  const FleetTotals fleet = totals_of(cluster, pod.shape);
  std::string what;
  if (!fleet.any_product && !pod.shape.products.empty()) {
    what = "asks for product " + cut_text(pod.shape.products[0]) + ", of which there is none now";
  } else if (pod.shape.kind == GpuKind::kWhole) {
    what = whole_gpus_text(cluster, pod, fleet);
  } else if (pod.shape.kind == GpuKind::kMig) {
    what = mig_text(cluster, pod);
  }
  if (what.empty() && fleet.any_product) what = beside_text(cluster.largest_node, pod.shape);
  const bool may_grow =
      pod.shape.kind == GpuKind::kWhole && pools_could_hold(cluster, pod, fleet.gpus);
  if (what.empty() || may_grow) return {};
  return "ExceedsFleet: " + what + "; it is queued until the fleet can hold it";
}

}  // namespace subak::policy
