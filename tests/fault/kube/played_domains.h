// Plays NVIDIA's controller of ComputeDomains, and people who make or delete ComputeDomains, in a
// fault world (kube_world.h). It is also a judge: complaints() has what an edge may not do with
// ComputeDomains.
// Threads: one at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api_objects.h"
#include "device_objects.h"
#include "played_devices.h"
#include "sim/read/rng.h"

namespace subak::fault {

class PlayedDomains {
 public:
  PlayedDomains(ApiObjects& objects, sim::Rng& rng) : objects_(objects), rng_(rng) {}

  // Call it when an edge has made a ComputeDomain, or asks for its deletion. `late`: the caller of
  // the call is gone.
  void made(const Object& domain, bool late);
  void deleting(const Object& domain);
  // Lets the controller do one step of each ComputeDomain, or without `all` of about half of them.
  // False: it had nothing to do.
  bool control(bool all);
  // People delete some ComputeDomain, or make one with this name ("ns/name") by hand.
  void people(const std::string& wanted);
  // Ends the faults: people delete the ComputeDomains that they made, and the controller makes the
  // templates that it withheld.
  void heal();
  // True if an edge may open the gate of a pod with this ComputeDomain ("ns/name"): it and its
  // template exist. Also true if people have changed them, which the edge may not have seen yet.
  bool may_open(const std::string& key) const;

  std::string unfinished() const;
  const std::vector<std::string>& complaints() const { return complaints_; }
  // Returns for how many attempts of jobs an edge made a ComputeDomain.
  std::size_t count() const { return made_.size(); }
  Plant plant = Plant::kNothing;

 private:
  bool control_one(const std::string& key, bool all);
  void end(const std::string& key);
  void note_nodes(const std::string& key, bool all);

  ApiObjects& objects_;
  sim::Rng& rng_;
  std::map<std::string, std::size_t> made_;  // by key and attempt: how often an edge made it
  std::set<std::string> withheld_;           // uids: their template is withheld
  // The keys of ComputeDomains that people, or a late call, have made or deleted.
  std::set<std::string> meddled_;
  std::set<std::string> by_hand_;  // the keys that people() made
  std::vector<std::string> complaints_;
  bool healed_ = false;
};

}  // namespace subak::fault
