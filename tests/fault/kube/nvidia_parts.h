// NVIDIA's parts of a simulated cluster: devices, ResourceClaims, ComputeDomains and MIG slices,
// and the pods that use them. Also a judge of what the edge does with such pods.
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

  // Draws KubeJob::ask of a new Job, and makes the objects that its pods refer to, now or later.
  void plan(const std::string& name, KubeJob& job);
  // Does the same for a pod that Subak does not manage, and adds the request to it.
  void plan_other(const std::string& name, KubeJob& alone, Object& pod);
  // Adds the request of the Job's pods to the object of a pod, which must have its labels.
  static void add(const KubeJob& job, const std::string& job_name, std::uint32_t rank, Object& pod);

  // For the scheduler and the kubelet: is there room, the pod is bound, the pod has ended.
  bool has_room(const Object& pod, const KubePod& mine, const std::string& node) const;
  void bound(const Object& pod, const KubePod& mine, const std::string& node);
  void ended(const std::string& uid) { devices_.give_back(uid); }

  // Makes one random event. `people`: also events that people cause.
  void act(bool people);
  // Continues everything that has begun by one step.
  void progress();
  // Returns the mistakes of wrong_nodes() and wrong_payers(); empty: none.
  std::vector<std::string> wrong_with(const Engine& engine) const;
  void heal();
  std::string unfinished() const;

  // --- the judge
  // Returns why the edge may not open the gate of this pod; empty: it may.
  std::string wrong_release(const Object& pod, const KubePod& mine) const;
  // Pods with a ComputeDomain whose gate people removed, and that have no node: they wait for ever.
  std::vector<std::string> lost(const std::map<std::string, KubePod>& pods) const;
  // Call it when the edge deletes a ComputeDomain. It is a mistake while pods with it run.
  void deleting(const Object& domain, const std::map<std::string, KubePod>& pods);
  // Returns why these pods, whose gates the edge opened for the node, exceed it; empty: they fit.
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

// Calls `take` with the pod's uid for each ledger row of GPUs that a pod used.
void each_charge(const std::vector<Fact>& facts,
                 const std::function<void(const std::string& uid, const LedgerRow& row)>& take);

// The next functions return mistakes; empty: none. Call the first two only while no event is on its
// way to the engine. wrong_nodes(): each node of the engine must have the devices that it offers,
// and must be closed while MIG Manager changes it.
std::vector<std::string> wrong_nodes(const Engine& engine, const PlayedDevices& devices);
// The pods of each used ResourceClaim must pay for it once. `lives`: true if this uid's pod runs.
std::vector<std::string> wrong_payers(const Engine& engine, const std::vector<ClaimStay>& stays,
                                      const std::function<bool(const std::string& uid)>& lives);
// No ResourceClaim may be charged for more than the time in which it had devices, up to one second
// for each pod. `end_was_seen`: true if an object showed when this uid's pod ended. A claim is not
// checked if it is false for a pod, because Subak cannot know the end.
std::vector<std::string> charged_too_much(
    const std::vector<Fact>& facts, const std::vector<ClaimStay>& stays,
    const std::function<bool(const std::string& uid)>& end_was_seen);

// Returns the ComputeDomain that a pod asks for, as "ns/name"; empty: none.
std::string domain_of(const Object& pod);

}  // namespace subak::fault
