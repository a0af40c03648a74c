#include "kube/device/device.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/edge_limits.h"

namespace subak {
namespace {

std::string qualified(std::string_view name, std::string_view driver) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  return std::string(driver) + "/" + std::string(name);
}

std::string_view plain_name(std::string_view name) {
  return name.substr(name.find('/') == std::string_view::npos ? 0 : name.find('/') + 1);
}

std::int64_t number_of(json::Value object, std::string_view name) {
  const auto found = json::member(object, name);
  return found ? json::integer(*found) : 0;
}

// An attribute has exactly one member, named after its type.
std::optional<DeviceAttribute> read_attribute(json::Value value) {
  if (const auto b = json::member(value, "bool")) return json::boolean(*b);
  if (const auto i = json::member(value, "int")) return json::integer(*i);
  for (const char* type : {"string", "version"}) {
    if (json::member(value, type)) return std::string(json::text(value, type));
  }
  return std::nullopt;
}

bool refuses_claims(json::Value taints) {
  bool refuses = false;
  json::each_item(taints, [&](std::size_t, json::Value taint) {
    const std::string_view effect = json::text(taint, "effect");
    if (effect == "NoSchedule" || effect == "NoExecute") refuses = true;
  });
  return refuses;
}

// Reads the devices of resource.k8s.io/v1; v1beta1 nests the same members in "basic".
Device read_device(json::Value object, std::string_view driver) {
  Device device;
  device.kind.driver = driver;
  const json::Value from = json::member(object, "basic").value_or(object);
  if (const auto attributes = json::member(from, "attributes")) {
    json::each_member(*attributes, [&](std::string_view name, json::Value value) {
      auto read = read_attribute(value);
      if (!read || device.kind.attributes.size() >= limits::kMaxDeviceAttributes) return;
      if (plain_name(name) == "uuid") {
        if (const auto* text = std::get_if<std::string>(&*read)) device.uuid = *text;
      }
      if (identifies_device(plain_name(name))) return;
      device.kind.attributes.insert_or_assign(qualified(name, driver), *std::move(read));
    });
  }
  if (const auto capacity = json::member(from, "capacity")) {
    json::each_member(*capacity, [&](std::string_view name, json::Value value) {
      if (device.kind.capacity.size() >= limits::kMaxDeviceAttributes) return;
      const auto amount = parse_kube_quantity(json::text(value, "value"));
      // A device that is a MIG slice names each memory slice of the GPU that it has.
      if (!amount || plain_name(name).starts_with("memorySlice")) return;
      device.kind.capacity.insert_or_assign(qualified(name, driver), *amount);
    });
  }
  if (const auto counters = json::member(from, "consumesCounters")) {
    json::each_item(*counters, [&](std::size_t, json::Value) { device.kind.partition = true; });
  }
  if (const auto taints = json::member(from, "taints")) device.tainted = refuses_claims(*taints);
  return device;
}

}  // namespace

bool identifies_device(std::string_view name) {
  constexpr std::array kNames{"uuid",        "index",       "minor",      "parentUUID",
                              "parentIndex", "parentMinor", "pciBusID",   "pcieBusID",
                              "pcieRoot",    "numaNode",    "gpuModuleID"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string_view DeviceKind::text(std::string_view name) const {
  const auto found = attributes.find(driver + "/" + std::string(name));
  if (found == attributes.end()) return {};
  const auto* const text = std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

bool operator<(const DeviceKind& a, const DeviceKind& b) {
  const auto less = [](const auto& x, const auto& y) { return x.second.nano < y.second.nano; };
  const auto key = [](const DeviceKind& k) {
    return std::tie(k.driver, k.partition, k.attributes);
  };
  if (key(a) < key(b) || key(b) < key(a)) return key(a) < key(b);
  return std::lexicographical_compare(a.capacity.begin(), a.capacity.end(), b.capacity.begin(),
                                      b.capacity.end(), [&](const auto& x, const auto& y) {
                                        return x.first != y.first ? x.first < y.first : less(x, y);
                                      });
}

std::optional<DeviceSlice> read_device_slice(json::Value object) {
  DeviceSlice slice;
  slice.name = json::text_in(object, "metadata", "name");
  const auto spec = json::member(object, "spec");
  if (!spec) return std::nullopt;
  slice.driver = json::text(*spec, "driver");
  slice.node = json::text(*spec, "nodeName");
  if (const auto pool = json::member(*spec, "pool")) {
    slice.pool = json::text(*pool, "name");
    slice.generation = number_of(*pool, "generation");
    slice.slice_count = number_of(*pool, "resourceSliceCount");
  }
  if (slice.name.empty() || slice.driver.empty() || slice.pool.empty()) return std::nullopt;
  if (const auto devices = json::member(*spec, "devices")) {
    json::each_item(*devices, [&](std::size_t, json::Value device) {
      if (slice.devices.size() >= limits::kMaxDevicesPerSlice) return;
      if (json::text(device, "name").empty()) return;
      slice.devices.push_back(read_device(device, slice.driver));
    });
  }
  return slice;
}

}  // namespace subak
