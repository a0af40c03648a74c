#include "server/edge/volumes/volume_cache.h"

#include <utility>

#include "core/limits.h"
#include "model/bounds/bounds.h"

namespace subak {
namespace {

std::string name_of(json::Value object) {
  return std::string(json::text_in(object, "metadata", "name"));
}

}  // namespace

template <class T>
bool VolumeCache::Kind<T>::put(const std::string& name, T value) {
  const auto [at, is_new] = entries.try_emplace(name);
  at->second.list = list;
  if (!is_new && at->second.value == value) return false;
  at->second.value = std::move(value);
  return true;
}

template <class T>
template <class F>
void VolumeCache::Kind<T>::end(F&& gone) {
  complete = true;
  for (auto at = entries.begin(); at != entries.end();) {
    if (at->second.list == list) {
      ++at;
      continue;
    }
    const std::string name = at->first;
    at = entries.erase(at);
    gone(name);
  }
}

template <class T>
const T* VolumeCache::Kind<T>::find(std::string_view name) const {
  const auto at = entries.find(name);
  return at == entries.end() ? nullptr : &at->second.value;
}

void VolumeCache::outdate_users(const std::string& claim) {
  for (const auto& [uid, claims] : pods_) {
    if (claims.contains(claim)) outdated_.insert(uid);
  }
}

template <class F>
void VolumeCache::outdate_if(F&& names) {
  for (const auto& [uid, claims] : pods_) {
    for (const std::string& name : claims) {
      const VolumeClaim* const claim = claims_.find(name);
      if (claim != nullptr && names(*claim)) outdated_.insert(uid);
    }
  }
}

void VolumeCache::see_claim(const WatchEvent& event) {
  const std::string key = namespaced_name_of(event.object);
  const bool changed = event.kind == WatchKind::kDeleted
                           ? claims_.entries.erase(key) > 0
                           : claims_.put(key, read_volume_claim(event.object));
  if (changed) outdate_users(key);
}

void VolumeCache::complete_claims() {
  const bool first = !claims_.complete;
  claims_.end([this](const std::string& name) { outdate_users(name); });
  if (first) outdate_if([](const VolumeClaim&) { return true; });
}

void VolumeCache::see_volume(const WatchEvent& event) {
  const std::string name = name_of(event.object);
  std::vector<AffinityTerm> nodes;
  if (event.kind != WatchKind::kDeleted) nodes = read_volume_nodes(event.object);
  const bool changed =
      nodes.empty() ? volumes_.entries.erase(name) > 0 : volumes_.put(name, std::move(nodes));
  if (changed) outdate_if([&](const VolumeClaim& claim) { return claim.volume == name; });
}

void VolumeCache::complete_volumes() {
  volumes_.end([this](const std::string& name) {
    outdate_if([&](const VolumeClaim& claim) { return claim.volume == name; });
  });
}

void VolumeCache::see_class(const WatchEvent& event) {
  const std::string name = name_of(event.object);
  const bool changed = event.kind == WatchKind::kDeleted
                           ? classes_.entries.erase(name) > 0
                           : classes_.put(name, read_storage_class(event.object));
  if (changed) outdate_if([&](const VolumeClaim& claim) { return claim.storage_class == name; });
}

void VolumeCache::complete_classes() {
  classes_.end([this](const std::string& name) {
    outdate_if([&](const VolumeClaim& claim) { return claim.storage_class == name; });
  });
}

std::string VolumeCache::add_volume(const PodVolume& volume, std::string_view ns,
                                    std::vector<AffinityTerm>& nodes) const {
  const VolumeClaim* const claim = claims_.find(namespaced_name(ns, volume.claim));
  // Kubernetes makes the claim of a template as soon as the pod exists.
  if (claim == nullptr) return "there is no PersistentVolumeClaim " + volume.claim;
  if (claim->lost)
    return "PersistentVolumeClaim " + volume.claim + " has lost its PersistentVolume";
  if (!claim->volume.empty()) {
    const std::vector<AffinityTerm>* const of_volume = volumes_.find(claim->volume);
    if (of_volume != nullptr) nodes = both_of(nodes, *of_volume);
    return {};
  }
  const StorageClass* const storage_class = classes_.find(claim->storage_class);
  if (storage_class == nullptr || !storage_class->waits_for_pod)
    return "PersistentVolumeClaim " + volume.claim + " has no PersistentVolume yet";
  nodes = both_of(nodes, storage_class->nodes);
  return {};
}

std::string VolumeCache::add_nodes(Pod& pod, json::Value object) {
  const std::string uid(pod.uid);
  pods_.erase(uid);
  if (!pod.gated() || !pod.asks_gpu()) return {};
  const std::vector<PodVolume> volumes = read_pod_volumes(object);
  if (volumes.empty()) return {};
  std::set<std::string>& claims = pods_[uid];
  for (const PodVolume& volume : volumes) claims.insert(namespaced_name(pod.ns, volume.claim));
  if (!is_complete()) return {};
  std::vector<AffinityTerm> nodes = pod.shape.affinity;
  bool fits = true;
  for (const PodVolume& volume : volumes) {
    std::string why = add_volume(volume, pod.ns, nodes);
    if (why.empty()) {
      // Each volume may multiply the terms, so no volume is added to terms that are too long.
      fits = fits && bounds::selector_terms(pod.shape, nodes) <= limits::kMaxSelectorTerms;
      if (!fits) nodes.clear();
      continue;
    }
    pod.shape.request_no_gpus();
    return why;
  }
  if (fits) pod.shape.affinity = std::move(nodes);
  return {};
}

void VolumeCache::forget_pods() {
  pods_.clear();
  outdated_.clear();
}

std::set<std::string> VolumeCache::take_outdated() { return std::exchange(outdated_, {}); }

}  // namespace subak
