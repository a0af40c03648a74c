// NVIDIA's parts of a simulated cluster, and the pods that use them: devices, ResourceClaims,
// ComputeDomains and MIG slices. Also has the judge of what the edge does with such pods.
// Threads: one at a time.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "kube_cluster.h"
#include "played_claims.h"
#include "played_devices.h"
#include "played_domains.h"

namespace subak::fault {

class NvidiaParts {
 public:
  NvidiaParts(ApiObjects& objects, sim::Rng& rng, const TimeMs& now)
      : objects_(objects),
        rng_(rng),
        devices_(objects, rng),
        claims_(objects, devices_, rng, now),
        domains_(objects, rng) {}

  void plant(Plant what);
  PlayedDevices& devices() { return devices_; }
  PlayedClaims& claims() { return claims_; }
  PlayedDomains& domains() { return domains_; }

  // Draws what the pods of a new Job ask for, and makes what they refer to, now or later.
  void plan(const std::string& name, KubeJob& job);
  // The same for a pod that nobody manages.
  void plan_other(const std::string& name, KubeJob& alone, Object& pod);
  // Adds that to the object of a pod, which has its labels already.
  static void add(const KubeJob& job, const std::string& job_name, std::uint32_t rank, Object& pod);

  // The scheduler and the kubelet.
  bool has_room(const Object& pod, const KubePod& mine, const std::string& node) const;
  void bound(const Object& pod, const KubePod& mine, const std::string& node);
  void ended(const std::string& uid) { devices_.give_back(uid); }

  // Something happens by itself. `people`: also what people do.
  void act(bool people);
  // Everything that has begun goes on.
  void progress();
  // What is wrong while nothing is on its way; empty: nothing is.
  std::vector<std::string> wrong_with(const Engine& engine) const;
  void heal();
  std::string unfinished() const;

  // --- the judge
  // The edge opens the gate of a pod. Empty: it may.
  std::string wrong_release(const Object& pod, const KubePod& mine) const;
  // Pods whose gate people have taken away before there was a ComputeDomain: they get no node.
  std::vector<std::string> lost(const std::map<std::string, KubePod>& pods) const;
  // The edge deletes a ComputeDomain that these pods of the cluster may use.
  void deleting(const Object& domain, const std::map<std::string, KubePod>& pods);
  // What those that were let go to a node ask for together is more than it has; empty: it is not.
  std::string overfull(const std::string& node,
                       const std::vector<std::pair<std::string, const KubePod*>>& pods) const;
  std::vector<std::string> complaints() const;

 private:
  std::set<std::size_t> there() const;
  std::string wanted_domain() const;

  ApiObjects& objects_;
  sim::Rng& rng_;
  PlayedDevices devices_;
  PlayedClaims claims_;
  PlayedDomains domains_;
  std::vector<std::string> complaints_;
};

// Calls `take` with each row of the ledger that charges time on a node, and with the uid of its pod.
void each_charge(const std::vector<Fact>& facts,
                 const std::function<void(const std::string& uid, const LedgerRow& row)>& take);

// These return what is wrong; empty: nothing is. The first two are for a moment in which nothing
// is on its way.
// Each node has the devices that it offers, and is closed while MIG Manager changes it.
std::vector<std::string> wrong_nodes(const Engine& engine, const PlayedDevices& devices);
// One pod of each claim in use pays for it, and pays all of it. `lives`: the pod with this uid runs.
std::vector<std::string> wrong_payers(const Engine& engine, const std::vector<ClaimStay>& stays,
                                      const std::function<bool(const std::string& uid)>& lives);
// No claim was charged for more than the time in which it had its devices, to the API's second.
// `end_was_seen`: true if an object states when the pod with this uid ended. A claim of a pod whose end
// no object states is not checked, because Subak cannot know the time.
std::vector<std::string> charged_too_much(
    const std::vector<Fact>& facts, const std::vector<ClaimStay>& stays,
    const std::function<bool(const std::string& uid)>& end_was_seen);

// The ComputeDomain that a pod asks for, "ns/name"; empty: none.
std::string domain_of(const Object& pod);

}  // namespace subak::fault
