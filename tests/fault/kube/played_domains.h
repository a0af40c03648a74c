// Simulates NVIDIA's controller of ComputeDomains, and people who change or delete ComputeDomains.
// Also checks what the edge does with ComputeDomains.
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

  // An edge has made a ComputeDomain, or asks for its deletion. `late`: nobody waits for the call.
  void made(const Object& domain, bool late);
  void deleting(const Object& domain);
  // The controller looks at each ComputeDomain. `all`: it does everything that it can. False: there
  // is nothing to do.
  bool control(bool all);
  // People delete a ComputeDomain, or make one of this name ("ns/name") by hand.
  void people(const std::string& wanted);
  // People delete what they have made; templates that are missing come.
  void heal();
  // True if the gate of a pod with this ComputeDomain may open, as far as an edge can know.
  bool may_open(const std::string& key) const;

  std::string unfinished() const;
  const std::vector<std::string>& complaints() const { return complaints_; }
  // How many attempts have had a ComputeDomain.
  std::size_t count() const { return made_.size(); }
  Plant plant = Plant::kNothing;

 private:
  bool control_one(const std::string& key, bool all);
  void end(const std::string& key);
  void note_nodes(const std::string& key, bool all);

  ApiObjects& objects_;
  sim::Rng& rng_;
  std::map<std::string, std::size_t> made_;  // by key and attempt: how often an edge made it
  std::set<std::string> withheld_;           // uids whose template is not made
  // Keys whose ComputeDomain or template somebody else than an edge has made or deleted.
  std::set<std::string> meddled_;
  std::set<std::string> by_hand_;  // keys
  std::vector<std::string> complaints_;
  bool healed_ = false;
};

}  // namespace subak::fault
