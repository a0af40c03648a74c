#include "server/edge/devices/device_cache.h"

#include <algorithm>
#include <optional>

#include "core/edge_limits.h"
#include "core/must.h"
#include "core/names.h"
#include "kube/device/selector.h"

namespace subak {

std::optional<DeviceCache::KindId> DeviceCache::add_kind(const DeviceKind& kind) {
  const auto known = kind_ids_.find(kind);
  if (known == kind_ids_.end() && kinds_.size() >= limits::kMaxDeviceKinds) return std::nullopt;
  const auto [at, is_new] = kind_ids_.try_emplace(kind, static_cast<KindId>(kinds_.size()));
  if (is_new) {
    kinds_.push_back(&at->first);
    kind_counts_.push_back(0);
  }
  if (kind_counts_[at->second]++ == 0) ++version_;
  return at->second;
}

void DeviceCache::see_slice(const WatchEvent& event) {
  const std::string name(json::text_in(event.object, "metadata", "name"));
  const std::optional<DeviceSlice> read =
      event.kind == WatchKind::kDeleted ? std::nullopt : read_device_slice(event.object);
  if (!read) return drop(name);
  Slice slice;
  slice.node = read->node;
  slice.generation = read->generation;
  slice.slice_count = read->slice_count;
  slice.list = slice_list_;
  for (const Device& device : read->devices) {
    const std::optional<KindId> kind = add_kind(device.kind);
    if (kind) slice.devices.push_back({*kind, device.tainted, device.uuid});
  }
  slice.devices.shrink_to_fit();
  const std::string before = take_out(name);
  const std::string node = slice.node;
  const PoolKey pool(read->driver, read->pool);
  pools_[pool].insert_or_assign(name, std::move(slice));
  pool_of_.insert_or_assign(name, pool);
  if (!node.empty()) pools_on_[node].insert(pool);
  for (const std::string& one : std::set{before, node}) {
    if (!one.empty()) renew(one);
  }
}

void DeviceCache::drop(const std::string& slice) {
  const std::string node = take_out(slice);
  if (!node.empty()) renew(node);
}

std::string DeviceCache::take_out(const std::string& slice) {
  const auto of = pool_of_.find(slice);
  if (of == pool_of_.end()) return {};
  const PoolKey pool = of->second;
  const auto slices = pools_.find(pool);
  must(slices != pools_.end(), "a known slice is in a pool");
  const auto found = slices->second.find(slice);
  std::string node = found->second.node;
  for (const OneDevice& device : found->second.devices) {
    if (--kind_counts_[device.kind] == 0) ++version_;
  }
  slices->second.erase(found);
  pool_of_.erase(of);
  const bool on_node = std::any_of(slices->second.begin(), slices->second.end(),
                                   [&](const auto& one) { return one.second.node == node; });
  if (!on_node && pools_on_.contains(node)) pools_on_[node].erase(pool);
  if (slices->second.empty()) pools_.erase(slices);
  return node;
}

void DeviceCache::complete_slices() {
  std::vector<std::string> gone;
  for (const auto& [name, pool] : pool_of_) {
    if (pools_.at(pool).at(name).list != slice_list_) gone.push_back(name);
  }
  // First all of them: some old and some new slices of a pool could look like a complete pool.
  std::set<std::string> nodes;
  for (const std::string& name : gone) nodes.insert(take_out(name));
  for (const std::string& node : nodes) {
    if (!node.empty()) renew(node);
  }
}

void DeviceCache::see_class(const WatchEvent& event) {
  const std::string name(json::text_in(event.object, "metadata", "name"));
  if (name.empty()) return;
  if (event.kind == WatchKind::kDeleted) {
    if (classes_.erase(name) > 0) classes_changed();
    return;
  }
  const auto [at, is_new] = classes_.try_emplace(name);
  at->second.list = class_list_;
  DeviceClass spec = read_device_class(event.object);
  if (!is_new && spec == at->second.spec) return;
  at->second.spec = std::move(spec);
  classes_changed();
}

void DeviceCache::complete_classes() {
  const std::size_t gone =
      std::erase_if(classes_, [this](const auto& one) { return one.second.list != class_list_; });
  if (gone > 0) classes_changed();
}

void DeviceCache::classes_changed() {
  ++version_;
  for (const auto& [node, pools] : pools_on_) renew(node);
}

std::string_view DeviceCache::extra_class(const DeviceKind& kind) const {
  for (const std::string& resource : extra_) {
    if (!resource.starts_with(kDeviceClassPrefix)) continue;
    const auto found = classes_.find(resource.substr(kDeviceClassPrefix.size()));
    if (found == classes_.end()) continue;
    const std::vector<std::string>& selectors = found->second.spec.selectors;
    if (std::all_of(selectors.begin(), selectors.end(), [&](const std::string& selector) {
          return evaluate_selector(selector, kind) == Selects::kYes;
        })) {
      return resource;
    }
  }
  return {};
}

void DeviceCache::add_device(const OneDevice& device, NodeDevices& out) const {
  const DeviceKind& kind = *kinds_[device.kind];
  std::string resource(extra_class(kind));
  if (resource.empty()) {
    if (kind.driver != kGpuDriver) return;
    const bool slice = kind.text("type") == "mig";
    if (slice && kind.partition) return;  // the whole GPU counts
    resource = slice ? std::string(names::kMigPrefix) + std::string(kind.text("profile"))
                     : std::string(names::kGpu);
  }
  if (out.product.empty()) out.product = product_of(kind);
  ++out.capacity[resource];
  out.allocatable[resource] += device.tainted ? 0 : 1;
}

bool DeviceCache::add_pool(const std::map<std::string, Slice>& slices, NodeDevices& out) const {
  std::int64_t newest = 0;
  for (const auto& [_, slice] : slices) newest = std::max(newest, slice.generation);
  std::vector<const Slice*> present;
  std::set<std::string_view> uuids;
  for (const auto& [_, slice] : slices) {
    if (slice.generation != newest) continue;
    present.push_back(&slice);
    for (const OneDevice& device : slice.devices) {
      if (!device.uuid.empty() && !uuids.insert(device.uuid).second) return false;
    }
  }
  for (const Slice* const slice : present) {
    if (static_cast<std::int64_t>(present.size()) != slice->slice_count) return false;
  }
  for (const Slice* const slice : present) {
    for (const OneDevice& device : slice->devices) add_device(device, out);
  }
  return true;
}

void DeviceCache::renew(const std::string& node) {
  NodeDevices devices;
  const auto pools = pools_on_.find(node);
  if (pools != pools_on_.end()) {
    for (const PoolKey& pool : pools->second) {
      if (!add_pool(pools_.at(pool), devices)) return;
    }
    if (pools->second.empty()) pools_on_.erase(pools);
  }
  devices.only_by_claim = std::none_of(classes_.begin(), classes_.end(), [](const auto& one) {
    return one.second.spec.extended_resource == names::kGpu;
  });
  const auto known = nodes_.find(node);
  if (devices.capacity.empty()) {
    if (known == nodes_.end()) return;
    nodes_.erase(known);
  } else {
    if (known != nodes_.end() && known->second == devices) return;
    nodes_.insert_or_assign(node, std::move(devices));
  }
  changed_nodes_.insert(node);
}

const NodeDevices* DeviceCache::find(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

ClusterDevices DeviceCache::devices() const {
  ClusterDevices out;
  out.find_class = [this](const std::string& name) -> const DeviceClass* {
    const auto found = classes_.find(name);
    return found == classes_.end() ? nullptr : &found->second.spec;
  };
  out.each_kind = [this](const std::function<void(const DeviceKind&)>& take) {
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (kind_counts_[i] > 0) take(*kinds_[i]);
    }
  };
  out.each_device = [this](const DeviceKind& kind, const auto& take) {
    const auto id = kind_ids_.find(kind);
    if (id == kind_ids_.end()) return;
    for (const auto& [_, slices] : pools_) {
      for (const auto& [name, slice] : slices) {
        for (const OneDevice& device : slice.devices) {
          if (device.kind == id->second) take(device.uuid, slice.node);
        }
      }
    }
  };
  return out;
}

}  // namespace subak
