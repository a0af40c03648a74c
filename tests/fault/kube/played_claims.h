// Simulates Kubernetes' controller of ResourceClaims, and the part of kube-scheduler that gives
// devices to ResourceClaims.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/duration.h"
#include "played_devices.h"

namespace subak::fault {

// A time in which a claim had devices, for the judge.
struct ClaimStay {
  std::string claim;
  MilliGpu milligpu = 0;
  TimeMs since_ms = 0, until_ms = 0;  // until_ms 0: still
  std::set<std::string> pods;         // uids of all pods that used it
  bool known = true;                  // false: no edge can know what it requests
};

class PlayedClaims {
 public:
  PlayedClaims(ApiObjects& objects, PlayedDevices& devices, sim::Rng& rng, const TimeMs& now)
      : objects_(objects), devices_(devices), rng_(rng), now_(now) {}

  // True if all claims of the pod exist and can have their devices on this node.
  bool fits(const Object& pod, const std::string& node) const;
  // The scheduler binds the pod to this node, where it fits.
  void reserve(const Object& pod, const std::string& node);
  // The controller makes the claims of a pod without gates from their templates.
  void control_pod(const std::string& key);
  // The controller takes out pods that are gone, and what nobody uses any more. False: there is
  // nothing to do.
  bool control();
  // People delete a claim that they have made, and may make it again.
  void delete_some();
  // An object that comes later.
  void make_later(const std::string& collection, Object object) {
    later_.emplace_back(collection, std::move(object));
  }
  // One of them, or all, come.
  void make_late(bool all);
  // All stays that have begun.
  const std::vector<ClaimStay>& stays() const { return stays_; }
  // A claim of the pod has its devices on another node, so the pod takes none of this one.
  bool has_devices_off(const Object& pod, const std::string& node) const;
  // What is left; empty: nothing.
  std::string unfinished() const;

 private:
  struct Request {
    std::string of;
    std::size_t count = 0;
    bool slices() const { return of == kMigClass; }
    bool channel() const { return of == kChannelClassOf; }
  };
  std::optional<Request> request(const Object& claim) const;
  bool can_give(const Request& request, const std::string& node) const;
  void give(const std::string& key, const Request& request, const std::string& node);
  void add_user(const std::string& key, const Object& pod);
  void end_stay(const std::string& key);
  bool lives(const std::string& key, const std::string& uid) const;
  bool settle(const std::string& key);
  // The claims of a pod by key; an empty one: it does not exist yet.
  std::vector<std::string> claims_of(const Object& pod) const;

  ApiObjects& objects_;
  PlayedDevices& devices_;
  sim::Rng& rng_;
  const TimeMs& now_;
  std::map<std::string, std::string> nodes_;    // by claim with devices
  std::map<std::string, std::size_t> present_;  // its stay, by claim
  std::vector<ClaimStay> stays_;
  std::deque<std::pair<std::string, Object>> later_;
  std::uint64_t serial_ = 0;
};

// The devices of a class that the pod requests as a resource.
std::size_t class_requests(const Object& pod);

}  // namespace subak::fault
