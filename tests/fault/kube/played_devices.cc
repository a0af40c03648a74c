#include "played_devices.h"

#include <algorithm>
#include <utility>

namespace subak::fault {
namespace {

using json_out::array;

constexpr std::size_t kDevicesOfSlice = 3;
constexpr const char* kClique = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1";
// The nodes whose driver offers a channel of a ComputeDomain.
constexpr std::size_t kFirstWithout = 4;

const char* config_of(bool cut) { return cut ? "all-1g.10gb" : "all-disabled"; }

const char* state_of(MigStep step) {
  switch (step) {
    case MigStep::kPending:
      return "pending";
    case MigStep::kRebooting:
      return "rebooting";
    case MigStep::kFailed:
      return "failed";
    default:
      return "success";
  }
}

}  // namespace

// Plugin on n0 to n3, claims on n4 to n6; n7 is cut by MIG Manager, n8 has slices to be claimed.
PlayedDevices::PlayedDevices(ApiObjects& objects, sim::Rng& rng) : objects_(objects), rng_(rng) {
  for (std::size_t i = 0; i < kNodes; ++i) {
    Node& node = nodes_[i];
    node.cards = capacity_of(i);
    const bool claims = (i >= 4 && i <= 6) || i == 8;
    node.home = node.offer = claims ? Offer::kClaims : Offer::kPlugin;
    node.mig.managed = i == 7;
    node.home_cut = node.cut = i >= 7;
    node.mig.wants_cut = node.mig.shows_cut = node.cut;
    if (claims) publish(i);
  }
  const std::string of_driver = "device.driver == 'gpu.nvidia.com'";
  const std::string type = of_driver + " && device.attributes['gpu.nvidia.com'].type == ";
  objects_.create(kClassesOf, device_class(kGpuClass, type + "'gpu'"));
  objects_.create(kClassesOf, device_class(kMigClass, type + "'mig'"));
  objects_.create(kClassesOf,
                  device_class(kChannelClassOf, "device.driver == 'compute-domain.nvidia.com'"));
}

std::vector<DeviceId> PlayedDevices::all_of(const Node& node, bool cut) const {
  std::vector<DeviceId> all;
  for (int card = 0; card < node.cards; ++card) {
    if (!cut) all.push_back({card, -1});
    for (int slice = 0; cut && slice < kSlicesOfCard; ++slice) all.push_back({card, slice});
  }
  return all;
}

// --- nodes ---------------------------------------------------------------------------------------

void PlayedDevices::write(std::size_t i, Object& node) {
  Node& mine = nodes_[i];
  Object& labels = node["metadata"].as_object()["labels"].as_object();
  const bool plugin = mine.offer == Offer::kPlugin;
  const bool away = mine.mig.step == MigStep::kRebooting;
  labels.clear();
  if (plugin && i < kFirstWithout) labels["nvidia.com/gpu.clique"] = kClique;
  if (plugin) {
    // Only the NVLink of such machines joins nodes.
    labels["nvidia.com/gpu.product"] = i < kFirstWithout ? "NVIDIA-GB200" : "NVIDIA-H100-80GB-HBM3";
    labels["nvidia.com/gpu.count"] = std::to_string(mine.cards);
  }
  if (mine.mig.managed && plant != Plant::kHidesMig) {
    labels["nvidia.com/mig.strategy"] = "mixed";
    labels["nvidia.com/mig.config"] = config_of(mine.mig.wants_cut);
    labels["nvidia.com/mig.config.state"] = state_of(mine.mig.step);
  }
  for (const char* list : {"capacity", "allocatable"}) {
    Object& room = node["status"].as_object()[list].as_object();
    room.erase("nvidia.com/gpu");
    const std::string cards = std::to_string(away ? 0 : mine.cards);
    const std::string slices = std::to_string(away ? 0 : mine.cards * kSlicesOfCard);
    if (plugin) room["nvidia.com/gpu"] = mine.mig.shows_cut ? "0" : cards;
    if (plugin && mine.mig.shows_cut) room[kSliceResource] = slices;
  }
  if (plugin && mine.mig.shows_cut) {
    labels[std::string(kSliceResource) + ".count"] = std::to_string(mine.cards * kSlicesOfCard);
  }
  if (away) {
    for (json_out::value& one : node["status"].as_object()["conditions"].as_array()) {
      one.as_object()["status"] = "False";
    }
  }
  mine.changed = false;
}

void PlayedDevices::node_back(std::size_t i) {
  if (i < kFirstWithout) objects_.create(kSlicesOf, channel_slice(name_of(i)));
}

// The slices of a node have it as their owner.
void PlayedDevices::node_gone(std::size_t i) {
  withdraw(i);
  if (i < kFirstWithout) objects_.remove(kSlicesOf, "/" + name_of(i) + "-channels");
  Node& node = nodes_[i];
  node.generation = 0;
  if (node.mig.step == MigStep::kRebooting) node.mig.step = MigStep::kLabelled;
}

bool PlayedDevices::is_held(std::size_t i) const {
  const auto found = held_.find(name_of(i));
  return found != held_.end() && !found->second.empty();
}

// An operator changes only a node that nobody uses.
void PlayedDevices::change_world(std::size_t i) {
  Node& node = nodes_[i];
  if (is_held(i) || node.mig.managed) return;
  if (node.offer == Offer::kNothing) {
    node.offer = rng_.percent(50) ? Offer::kPlugin : Offer::kClaims;
    if (node.offer == Offer::kClaims) publish(i);
  } else {
    withdraw(i);
    node.offer = Offer::kNothing;
  }
  node.changed = true;
}

void PlayedDevices::act(const std::set<std::size_t>& there) {
  const std::size_t i = rng_.below(kNodes);
  if (!there.contains(i)) return;
  Node& node = nodes_[i];
  const std::uint64_t dice = rng_.below(100);
  if (node.mig.managed) {
    if (node.mig.step == MigStep::kDone && !rng_.percent(20)) return;
    mig_step(i);
  } else if (node.offer == Offer::kNothing) {
    if (dice < 50) change_world(i);
  } else if (node.offer == Offer::kClaims) {
    if (publish_step(i)) return;
    if (node.generation == 0 || dice < 20) publish(i);
    if (dice >= 95) change_world(i);
  } else if (dice >= 95) {
    change_world(i);
  }
}

bool PlayedDevices::progress(const std::set<std::size_t>& there) {
  bool some = false;
  for (const std::size_t i : there) {
    Node& node = nodes_[i];
    if (node.mig.managed && node.mig.step != MigStep::kDone) {
      some = mig_step(i) || some;
    } else if (node.mig.managed && (node.cut != node.home_cut || quiet_changes_ > 0)) {
      --quiet_changes_;
      some = mig_step(i) || some;
    } else if (node.offer == Offer::kClaims) {
      if (node.generation == 0) publish(i);
      // In the end, a driver does not need an hour for its slices.
      bool more = publish_step(i);
      some = more || some;
      while (more && healed_) more = publish_step(i);
    }
    if (healed_ && node.offer != node.home && !is_held(i)) {
      withdraw(i);
      node.offer = node.home;
      node.changed = some = true;
      if (node.offer == Offer::kClaims) publish(i);
    }
  }
  return some;
}

void PlayedDevices::heal() {
  healed_ = true;
  for (std::size_t i = 0; i < kNodes; ++i) publish(i);
}

// --- MIG Manager ---------------------------------------------------------------------------------

bool PlayedDevices::mig_step(std::size_t i) {
  Node& node = nodes_[i];
  node.changed = true;
  switch (node.mig.step) {
    case MigStep::kDone:
      ++mig_changes_;
      node.mig.wants_cut = !node.cut;
      node.mig.step = MigStep::kAsked;
      return true;
    case MigStep::kAsked:
    case MigStep::kFailed:
      node.mig.step = MigStep::kPending;
      return true;
    case MigStep::kPending:  // it cuts no card that a pod uses
      node.mig.step = is_held(i) ? MigStep::kFailed : MigStep::kRebooting;
      if (node.mig.step == MigStep::kRebooting) node.cut = node.mig.wants_cut;
      if (node.mig.step == MigStep::kFailed && (healed_ || rng_.percent(50))) {
        node.mig.wants_cut = node.cut;  // people give the change up
      }
      return true;
    case MigStep::kRebooting:
      node.mig.step = MigStep::kLabelled;
      return true;
    case MigStep::kLabelled:
      node.mig.shows_cut = node.cut;
      node.mig.step = MigStep::kDone;
      return true;
  }
  return false;
}

bool PlayedDevices::is_changing(std::size_t i) const {
  const Node& node = nodes_[i];
  const bool labelled = node.mig.step == MigStep::kDone || node.mig.step == MigStep::kLabelled;
  return node.mig.managed && (!labelled || node.mig.shows_cut != node.mig.wants_cut);
}

// --- slices --------------------------------------------------------------------------------------

void PlayedDevices::publish(std::size_t i) {
  Node& node = nodes_[i];
  if (node.offer != Offer::kClaims) return;
  std::move(node.published.begin(), node.published.end(), std::back_inserter(node.old));
  node.published.clear();
  node.to_publish.clear();
  ++node.generation;
  node.tainted.clear();
  Slice slice;
  std::vector<DeviceId> all = all_of(node, node.cut);
  for (const DeviceId& id : all) {
    if (!healed_ && rng_.percent(5)) node.tainted.insert(id);
    if (!healed_ && rng_.percent(5)) continue;  // the driver does not find it
    slice.devices.push_back(id);
    if (slice.devices.size() < kDevicesOfSlice && rng_.percent(80)) continue;
    node.to_publish.push_back(std::exchange(slice, {}));
  }
  if (!slice.devices.empty() || node.to_publish.empty()) node.to_publish.push_back(slice);
  node.slice_count = static_cast<std::int64_t>(node.to_publish.size());
}

// One slice more, or one of an earlier generation less: the order is the driver's.
bool PlayedDevices::publish_step(std::size_t i) {
  Node& node = nodes_[i];
  if (!node.old.empty() && (node.to_publish.empty() || rng_.percent(40))) {
    objects_.remove(kSlicesOf, "/" + node.old.back().name);
    node.old.pop_back();
    return true;
  }
  if (node.to_publish.empty()) return false;
  Slice slice = std::move(node.to_publish.front());
  node.to_publish.pop_front();
  slice.name = name_of(i) + "-gpus-" + std::to_string(++serial_);
  array devices;
  for (const DeviceId& id : slice.devices) {
    devices.push_back(device_object(name_of(i), id, node.tainted.contains(id)));
  }
  const auto create = [&](const std::string& name, const std::string& pool) {
    objects_.create(kSlicesOf,
                    {{"metadata", Object{{"name", name}}},
                     {"spec", Object{{"driver", "gpu.nvidia.com"},
                                     {"nodeName", name_of(i)},
                                     {"pool", Object{{"name", pool},
                                                     {"generation", node.generation},
                                                     {"resourceSliceCount", node.slice_count}}},
                                     {"devices", devices}}}});
  };
  create(slice.name, name_of(i));
  if (plant == Plant::kDoublesPool) create(slice.name + "-again", name_of(i) + "-again");
  node.published.push_back(std::move(slice));
  return true;
}

void PlayedDevices::withdraw(std::size_t i) {
  Node& node = nodes_[i];
  for (auto* list : {&node.old, &node.published}) {
    for (const Slice& slice : *list) objects_.remove(kSlicesOf, "/" + slice.name);
    list->clear();
  }
  node.to_publish.clear();
}

// --- who has what --------------------------------------------------------------------------------

std::vector<DeviceId> PlayedDevices::free(const std::string& name, bool claimed,
                                          bool slices) const {
  const Node& node = nodes_[index_of(name)];
  std::vector<DeviceId> found;
  if (node.cut != slices || is_changing(index_of(name))) return found;
  if (node.offer != (claimed ? Offer::kClaims : Offer::kPlugin)) return found;
  if (!claimed) found = all_of(node, slices);
  if (claimed && !node.to_publish.empty()) return found;  // the pool is not complete
  if (claimed) {
    for (const Slice& slice : node.published) {
      for (const DeviceId& id : slice.devices) {
        if (!node.tainted.contains(id)) found.push_back(id);
      }
    }
  }
  const auto held = held_.find(name);
  if (held == held_.end() || plant == Plant::kGivesTwice) return found;
  std::erase_if(found, [&](const DeviceId& id) {
    return std::any_of(held->second.begin(), held->second.end(),
                       [&](const auto& one) { return one.first.overlaps(id); });
  });
  return found;
}

void PlayedDevices::hold(const std::string& node, const DeviceId& id, const std::string& holder) {
  for (const auto& [other, who] : held_[node]) {
    if (other.overlaps(id)) {
      complaints_.push_back(id.name() + " of " + node + " has two holders, " + who + " and " +
                            holder);
    }
  }
  held_[node][id] = holder;
}

bool PlayedDevices::take(const std::string& node, bool claimed, bool slices, std::size_t count,
                         const std::string& holder) {
  std::vector<DeviceId> found = free(node, claimed, slices);
  if (found.size() < count) return false;
  for (std::size_t taken = 0; taken < count; ++taken) {
    const std::size_t at = rng_.below(found.size());
    hold(node, found[at], holder);
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return true;
}

void PlayedDevices::give_back(const std::string& holder) {
  for (auto& [node, devices] : held_) {
    std::erase_if(devices, [&](const auto& one) { return one.second == holder; });
  }
  std::erase_if(channels_, [&](const auto& one) { return one.second == holder; });
}

std::int64_t PlayedDevices::most(const std::string& node, bool slices) const {
  return nodes_[index_of(node)].cards * (slices ? kSlicesOfCard : 1);
}

std::int64_t PlayedDevices::offered(std::size_t i, bool slices) const {
  const Node& node = nodes_[i];
  if (node.mig.shows_cut != slices || node.offer == Offer::kNothing) return 0;
  if (node.offer == Offer::kPlugin) return node.cards * (slices ? kSlicesOfCard : 1);
  std::int64_t sum = 0;
  for (const Slice& slice : node.published) sum += static_cast<std::int64_t>(slice.devices.size());
  return sum;
}

bool PlayedDevices::has_channel(const std::string& node) const {
  return index_of(node) < kFirstWithout && !channels_.contains(node);
}

bool PlayedDevices::take_channel(const std::string& node, const std::string& holder) {
  if (!has_channel(node)) return false;
  channels_[node] = holder;
  return true;
}

}  // namespace subak::fault
