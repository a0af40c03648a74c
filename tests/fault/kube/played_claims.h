// Plays Kubernetes' controller of ResourceClaims, and the part of kube-scheduler that gives devices
// to them, in a fault world (kube_world.h). "Claim" means a ResourceClaim in this file.
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

// An interval in which a claim had devices. The judge compares it with the charged GPU time
// (nvidia_judge.cc).
struct ClaimStay {
  std::string claim;
  MilliGpu milligpu = 0;
  TimeMs since_ms = 0, until_ms = 0;  // `until_ms` 0: it has them still
  std::set<std::string> pods;         // uids of all pods that used it
  bool known = true;                  // false: no edge can know its devices
};

class PlayedClaims {
 public:
  PlayedClaims(ApiObjects& objects, PlayedDevices& devices, sim::Rng& rng, const TimeMs& now)
      : objects_(objects), devices_(devices), rng_(rng), now_(now) {}

  // True if all claims of the pod exist, and have or can get their devices on this node.
  bool fits(const Object& pod, const std::string& node) const;
  // Gives the pod's claims their devices on this node, as the scheduler does when it binds the pod.
  // fits() must be true.
  void reserve(const Object& pod, const std::string& node);
  // Makes the claims of this pod from their templates, if the pod has no gate, as the controller
  // does. `key`: "namespace/name" of the pod.
  void control_pod(const std::string& key);
  // Lets the controller look at each claim once. It removes users that are gone, takes devices back
  // from claims without users, and deletes claims of pods that are gone. False: nothing changed.
  bool control();
  // Deletes, as people would, one claim that a user made. It is made again later.
  void delete_some();
  // Plans an object that make_late() makes.
  void make_later(const std::string& collection, Object object) {
    later_.emplace_back(collection, std::move(object));
  }
  // Makes the first planned object, or all of them. An object whose name is still in use stays
  // planned.
  void make_late(bool all);
  // Returns all intervals that have begun.
  const std::vector<ClaimStay>& stays() const { return stays_; }
  // True if a claim of the pod has its devices on another node. The pod then takes no devices of
  // this node.
  bool has_devices_off(const Object& pod, const std::string& node) const;
  // Returns the claims that still have devices, as a text; empty: none has.
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
  // Returns the keys of the pod's claims. A key is empty if the claim does not exist yet.
  std::vector<std::string> claims_of(const Object& pod) const;

  ApiObjects& objects_;
  PlayedDevices& devices_;
  sim::Rng& rng_;
  const TimeMs& now_;
  std::map<std::string, std::string> nodes_;    // by claim with devices: their node
  std::map<std::string, std::size_t> present_;  // by claim: the index in stays_
  std::vector<ClaimStay> stays_;
  std::deque<std::pair<std::string, Object>> later_;
  std::uint64_t serial_ = 0;
};

// Returns how many devices of a class the pod requests as an extended resource; 0: none.
std::size_t class_requests(const Object& pod);

}  // namespace subak::fault
