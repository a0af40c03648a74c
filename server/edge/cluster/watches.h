// Follows the cluster's objects with one reflector (server/edge/client/reflector.h) for each kind:
// first devices, ComputeDomains, volumes, namespaces, owners and leases, then nodes, then pods.
// Each reflector writes into the object cache.
//
// Watches owns the reflectors, the limits on their requests, and the times at which the watches
// last reported. Limits and times continue from session to session. Threads: the edge's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/limits.h"
#include "server/edge/client/reflector.h"
#include "server/edge/client/request_pace.h"
#include "server/edge/cluster/edge_context.h"
#include "server/edge/kinds/owner_watches.h"

namespace subak {

// The watches of one edge. A session calls follow_others() at its beginning, follow_pods() once
// others_listed() is true, and end() at its end. Each turn of the edge calls turn().
class Watches {
 public:
  // `on_change` is called before each change of a pod, an owner, a ComputeDomain or a
  // ResourceClaimTemplate goes into the cache.
  Watches(EdgeContext& context, std::function<void()> on_change)
      : context_(context),
        on_change_(std::move(on_change)),
        owners_(*context_.api, context_.cache, context_.ports.monotonic_ms, on_change_,
                [this](const std::string& path, ReflectorSink sink) {
                  return follow(path, std::move(sink));
                }) {}
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Begins to follow all kinds except nodes and pods. turn() begins to follow nodes once devices
  // are listed, so that each node is reported once, with all data. turn() does not wait for kinds
  // of devices that the cluster does not have. If a list of devices fails for another reason,
  // turn() waits for it for at most limits::kDeviceListsMs.
  void follow_others();
  // Begins to follow pods. Call it once others_listed() is true, so that each pod is reported once,
  // with all data.
  void follow_pods();
  // Ends all lists and watches.
  void end();
  // Begins the lists and watches that are due.
  void turn();
  // Returns the time until turn() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const;

  // True once pods may be followed: nodes and namespaces are listed, and the lists of
  // ComputeDomains, devices, volumes and owners have succeeded or failed. Leases do not count. A
  // list may fail because the cluster does not have the kind. Call it only between follow_others()
  // and end().
  bool others_listed() const;
  // True once pods are listed. Call this and pods_version() only between follow_pods() and end().
  bool pods_listed() const { return pods_->listed(); }
  // The version up to which the watch of pods has reported; 0: a list of pods is running.
  std::uint64_t pods_version() const;
  // Returns when the watch of pods last reported: all earlier changes are known.
  TimeMs heard_ms() const { return heard_ms_; }
  // True if the watches of nodes and pods are open. Call it only between follow_pods() and end().
  bool synced() const { return nodes_ && nodes_->synced() && pods_->synced(); }
  // The number of lists begun so far, of all kinds and sessions.
  std::uint64_t lists() const;
  // Returns the first error of the lists and watches of nodes, namespaces and pods; empty: there is
  // none. An error of another kind of objects is returned only if the server ends that kind's lists
  // and watches as soon as they begin.
  std::string error() const;

 private:
  // True if turn() may begin to follow nodes.
  bool may_follow_nodes() const;
  // Each function begins one kind or several, with a sink that writes into the cache.
  void follow_devices();
  void follow_volumes();
  void follow_nodes();
  void follow_namespaces();
  void follow_leases();
  // Follows one kind of devices_: objects that the edge reads before nodes and pods.
  void follow_early(const char* path, std::function<void()> begin,
                    std::function<void(const WatchEvent&)> see, std::function<void()> complete);
  // Makes and starts a reflector. The limits of its kind continue from earlier reflectors.
  std::unique_ptr<Reflector> follow(const std::string& path, ReflectorSink sink);
  // Returns the reflectors that exist.
  std::vector<Reflector*> all() const;

  EdgeContext& context_;
  // Called before the cache changes.
  const std::function<void()> on_change_;
  // The limit on further pages of lists, of all kinds together.
  RequestPace page_pace_{limits::kMaxPageRequests};
  // The limits on lists and watches, by path.
  std::map<std::string, RequestPace> kind_paces_;
  // When turn() no longer waits for a list of devices that fails, in monotonic ms.
  std::int64_t devices_until_ms_ = 0;
  TimeMs heard_ms_ = 0;
  // When the watch of nodes last reported, by the service's time.
  TimeMs nodes_heard_ms_ = 0;
  // When the present or the last list of pods began, by the service's time.
  TimeMs list_began_ms_ = 0;
  // The number of lists that reflectors of earlier sessions began.
  std::uint64_t lists_before_ = 0;
  // nullptr: that kind is not followed.
  std::unique_ptr<Reflector> nodes_, namespaces_, pods_, leases_;
  OwnerWatches owners_;
  // ResourceSlices, DeviceClasses, ResourceClaims, ResourceClaimTemplates, ComputeDomains, and the
  // three kinds of VolumeCache; empty: not followed.
  std::vector<std::unique_ptr<Reflector>> devices_;
};

}  // namespace subak
