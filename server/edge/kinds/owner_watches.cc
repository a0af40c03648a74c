#include "server/edge/kinds/owner_watches.h"

#include <algorithm>
#include <utility>

namespace subak {

void OwnerWatches::end() {
  follows_ = false;
  watched_.clear();
}

void OwnerWatches::turn() {
  discovery_.turn();
  if (!follows_ || !discovery_.is_answered()) return;
  for (const OwnerKindRow& row : owner_kinds()) {
    const std::string path = discovery_.collection(row.kind);
    const auto watched = watched_.find(row.kind);
    if (watched == watched_.end()) {
      if (!path.empty()) watched_[row.kind] = {path, watch(path)};
    } else if (path.empty()) {
      // The discovery of a starting API server may lack a kind that its watch still has.
      if (!discovery_.is_absent(row.kind) || !watched->second.reflector->absent()) continue;
      const std::string gone = watched->second.path;
      watched_.erase(watched);
      forget(gone);
    } else if (path != watched->second.path) {
      watched->second = {path, watch(path)};
    }
  }
}

bool OwnerWatches::are_asked() const {
  return discovery_.is_answered() && !watched_.empty() &&
         std::all_of(watched_.begin(), watched_.end(), [](const auto& one) {
           const Reflector& reflector = *one.second.reflector;
           return reflector.listed() || !reflector.error().empty();
         });
}

std::vector<Reflector*> OwnerWatches::all() const {
  std::vector<Reflector*> all;
  for (const auto& [kind, watched] : watched_) all.push_back(watched.reflector.get());
  return all;
}

std::unique_ptr<Reflector> OwnerWatches::watch(const std::string& path) {
  ReflectorSink sink;
  sink.begin = [this, path] { cache_.owners().begin(path); };
  sink.object = [this, path](const WatchEvent& event) {
    on_change_();
    cache_.see_owner(event, path);
  };
  sink.complete = [this, path] {
    cache_.complete_owners(path);
    return true;
  };
  return follow_(path, std::move(sink));
}

void OwnerWatches::forget(const std::string& path) {
  on_change_();
  cache_.owners().begin(path);
  cache_.complete_owners(path);
}

}  // namespace subak
