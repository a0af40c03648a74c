#include "server/edge/cluster/watches.h"

#include <algorithm>
#include <utility>

#include "core/edge_limits.h"

namespace subak {

namespace {

// True if the list of each kind was complete or has failed.
bool are_asked(const std::vector<std::unique_ptr<Reflector>>& kinds) {
  return std::all_of(kinds.begin(), kinds.end(),
                     [](const auto& kind) { return kind->listed() || !kind->error().empty(); });
}

}  // namespace

void Watches::follow_others() {
  devices_until_ms_ = context_.ports.monotonic_ms() + limits::kDeviceListsMs;
  follow_devices();
  follow_volumes();
  follow_namespaces();
  owners_.begin();
  follow_leases();
}

void Watches::end() {
  for (const Reflector* reflector : all()) lists_before_ += reflector->lists();
  nodes_.reset();
  namespaces_.reset();
  pods_.reset();
  leases_.reset();
  owners_.end();
  devices_.clear();
}

void Watches::turn() {
  owners_.turn();
  if (!nodes_ && !devices_.empty() && may_follow_nodes()) follow_nodes();
  for (Reflector* reflector : all()) reflector->turn();
}

DurationMs Watches::due_in() const {
  DurationMs most = owners_.due_in();
  for (const Reflector* reflector : all()) most = std::min(most, reflector->due_in());
  return most;
}

// A kind that is not known for a moment would change the requests of its pods twice.
bool Watches::may_follow_nodes() const {
  if (context_.ports.monotonic_ms() >= devices_until_ms_) return are_asked(devices_);
  return std::all_of(devices_.begin(), devices_.end(),
                     [](const auto& kind) { return kind->listed() || kind->absent(); });
}

bool Watches::others_listed() const {
  return owners_.are_asked() && nodes_ && nodes_->listed() && namespaces_->listed();
}

std::uint64_t Watches::pods_version() const {
  return pods_->watches() ? version_number(pods_->version()) : 0;
}

std::uint64_t Watches::lists() const {
  std::uint64_t lists = lists_before_;
  for (const Reflector* reflector : all()) lists += reflector->lists();
  return lists;
}

std::string Watches::error() const {
  for (const Reflector* reflector : all()) {
    const bool needed =
        reflector == nodes_.get() || reflector == namespaces_.get() || reflector == pods_.get();
    if (!needed && !reflector->ends_early()) continue;
    if (!reflector->error().empty()) return reflector->error();
  }
  return {};
}

std::vector<Reflector*> Watches::all() const {
  std::vector<Reflector*> all;
  if (nodes_) all.push_back(nodes_.get());
  if (namespaces_) all.push_back(namespaces_.get());
  if (pods_) all.push_back(pods_.get());
  if (leases_) all.push_back(leases_.get());
  for (Reflector* const owner : owners_.all()) all.push_back(owner);
  for (const auto& devices : devices_) all.push_back(devices.get());
  return all;
}

std::unique_ptr<Reflector> Watches::follow(const std::string& path, ReflectorSink sink) {
  RequestPace& begins = kind_paces_.try_emplace(path, limits::kMaxFollowRequests).first->second;
  auto reflector = std::make_unique<Reflector>(*context_.api, path, std::move(sink),
                                               Reflector::Paces{begins, page_pace_},
                                               context_.ports.monotonic_ms);
  reflector->start();
  return reflector;
}

void Watches::follow_nodes() {
  ReflectorSink sink;
  sink.begin = [this] { context_.cache.nodes().begin(); };
  sink.object = [this](const WatchEvent& event) {
    context_.cache.see_node(event, context_.ports.now_ms());
  };
  sink.alive = [this] { nodes_heard_ms_ = context_.ports.now_ms(); };
  sink.complete = [this] {
    return context_.cache.nodes().complete(nodes_heard_ms_, nodes_->version());
  };
  nodes_ = follow(kNodesPath, std::move(sink));
}

void Watches::follow_namespaces() {
  ReflectorSink sink;
  sink.begin = [this] { context_.cache.namespaces().begin(); };
  sink.object = [this](const WatchEvent& event) { context_.cache.namespaces().see(event); };
  sink.complete = [this] { return context_.cache.namespaces().complete(); };
  namespaces_ = follow(kNamespacesPath, std::move(sink));
}

void Watches::follow_early(const char* path, std::function<void()> begin,
                           std::function<void(const WatchEvent&)> see,
                           std::function<void()> complete) {
  ReflectorSink sink;
  sink.begin = std::move(begin);
  sink.object = [this, see = std::move(see)](const WatchEvent& event) {
    on_change_();
    see(event);
  };
  sink.complete = [this, complete = std::move(complete)] {
    on_change_();
    complete();
    return true;
  };
  devices_.push_back(follow(path, std::move(sink)));
}

// A cluster without NVIDIA's driver has no ComputeDomains, and no slices of that driver.
// The slices of the driver of ComputeDomains have channels, the others have devices.
void Watches::follow_devices() {
  follow_early(
      kSlicesPath,
      [this] {
        context_.cache.domains().begin_slices();
        context_.cache.needs().claims().devices().begin_slices();
      },
      [this](const WatchEvent& event) {
        const bool of_domains =
            json::text_in(event.object, "spec", "driver") == names::kChannelDriver;
        of_domains ? context_.cache.domains().see_slice(event)
                   : context_.cache.needs().claims().devices().see_slice(event);
      },
      [this] {
        context_.cache.domains().complete_slices();
        context_.cache.needs().claims().devices().complete_slices();
      });
  follow_early(
      kClassesPath, [this] { context_.cache.needs().claims().devices().begin_classes(); },
      [this](const WatchEvent& event) {
        context_.cache.needs().claims().devices().see_class(event);
      },
      [this] { context_.cache.needs().claims().devices().complete_classes(); });
  follow_early(
      kClaimsPath, [this] { context_.cache.needs().claims().begin_claims(); },
      [this](const WatchEvent& event) { context_.cache.needs().claims().see_claim(event); },
      [this] { context_.cache.needs().claims().complete_claims(); });
  follow_early(
      kTemplatesPath,
      [this] {
        context_.cache.domains().begin_templates();
        context_.cache.needs().claims().begin_templates();
      },
      [this](const WatchEvent& event) {
        context_.cache.domains().see_template(event);
        context_.cache.needs().claims().see_template(event);
      },
      [this] {
        context_.cache.domains().complete_templates();
        context_.cache.needs().claims().complete_templates();
      });
  follow_early(
      kDomainsPath, [this] { context_.cache.domains().begin_domains(); },
      [this](const WatchEvent& event) {
        context_.cache.domains().see_domain(event, context_.ports.monotonic_ms());
      },
      [this] { context_.cache.domains().complete_domains(); });
}

// Subak works without the right to read volumes.
void Watches::follow_volumes() {
  VolumeCache& volumes = context_.cache.needs().volumes();
  follow_early(
      kVolumeClaimsPath, [&volumes] { volumes.begin_claims(); },
      [&volumes](const WatchEvent& event) { volumes.see_claim(event); },
      [&volumes] { volumes.complete_claims(); });
  follow_early(
      kVolumesPath, [&volumes] { volumes.begin_volumes(); },
      [&volumes](const WatchEvent& event) { volumes.see_volume(event); },
      [&volumes] { volumes.complete_volumes(); });
  follow_early(
      kStorageClassesPath, [&volumes] { volumes.begin_classes(); },
      [&volumes](const WatchEvent& event) { volumes.see_class(event); },
      [&volumes] { volumes.complete_classes(); });
}

// Leases are optional: without them the times that nodes report are taken as they are.
void Watches::follow_leases() {
  ReflectorSink sink;
  sink.begin = [this] { context_.cache.nodes().begin_leases(); };
  sink.object = [this](const WatchEvent& event) {
    context_.cache.nodes().see_lease(event, context_.ports.now_ms(), context_.ports.monotonic_ms());
  };
  sink.complete = [this] {
    context_.cache.nodes().complete_leases();
    return true;
  };
  leases_ = follow(kLeasesPath, std::move(sink));
}

void Watches::follow_pods() {
  ReflectorSink sink;
  sink.begin = [this] {
    list_began_ms_ = context_.ports.now_ms();
    context_.cache.begin_pods(list_began_ms_);
  };
  sink.object = [this](const WatchEvent& event) {
    on_change_();
    context_.cache.see_pod(event, context_.ports.monotonic_ms());
  };
  sink.alive = [this] { heard_ms_ = context_.ports.now_ms(); };
  sink.complete = [this] {
    const bool believed = context_.cache.complete_pods(heard_ms_);
    if (believed) heard_ms_ = list_began_ms_;
    return believed;
  };
  pods_ = follow(kPodsPath, std::move(sink));
}

}  // namespace subak
