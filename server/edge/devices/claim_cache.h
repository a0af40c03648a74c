// The ResourceClaims and ResourceClaimTemplates of a cluster, and which pod pays for each
// ResourceClaim. Threads: one at a time; ClusterCache owns the cache.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/device/claim.h"
#include "kube/pod.h"
#include "server/edge/client/watch_stream.h"
#include "server/edge/devices/device_cache.h"

namespace subak {

// What the ResourceClaims of a pod request.
struct PodDevices {
  enum class State : std::uint8_t {
    // `gpus` has the GPUs that the pod's ResourceClaims request and for which this pod pays;
    // GpuKind::kNone: there are none.
    kKnown,
    // The pod must wait: `why` says for what.
    kUnknown,
    // Another pod pays for the claim and gets its devices first. So this pod requests no GPUs, but
    // must wait, as `why` says.
    kAfterPayer,
  };
  State state = State::kKnown;
  ClaimedGpus gpus;
  std::string why;
};

// Entries stay when a session ends: the core does not get ResourceClaims, so no entry must be sent
// again.
class ClaimCache {
 public:
  // `extra`: the resources that count as whole GPUs. `extra` must outlive the cache.
  explicit ClaimCache(const ExtraGpuResources& extra) : devices_(extra), extra_(extra) {}

  // From now on, add_gpus() ignores ResourceClaims that Subak does not know (DeviceClaims::kWarn).
  void ignore_unknown() { ignores_unknown_ = true; }
  // The devices from which the ResourceClaims are met.
  DeviceCache& devices() { return devices_; }

  // The lists of ResourceClaims and of ResourceClaimTemplates: begin, each object, complete. A
  // complete list forgets the objects that it did not name.
  void begin_claims() { ++claim_list_; }
  void see_claim(const WatchEvent& event);
  void complete_claims();
  void begin_templates() { ++template_list_; }
  void see_template(const WatchEvent& event);
  void complete_templates();

  // Returns what the ResourceClaims of this pod request, and remembers the pod until forget(). If
  // several pods share a ResourceClaim, one of them pays for it: the first pod in its
  // status.reservedFor. While that list is empty, the first pod that the cache saw pays, and the
  // other pods wait. Error texts name the ResourceClaim and the DeviceClass.
  PodDevices resolve(const std::string& uid, std::string_view ns, json::Value pod);
  // Adds what resolve() returns for the pod `object` to `pod`, which was read from `object`, and
  // clears pod.claims.device. Returns why the pod must wait; empty: it need not wait. A gated pod
  // that must wait requests no GPUs. If Subak does not know what the ResourceClaims request,
  // pod.claims.device stays.
  // Forgets a pod that has ended.
  std::string add_gpus(Pod& pod, json::Value object);
  // Forgets a pod that has ended or is gone.
  void forget(const std::string& uid);
  // Forgets all pods, when a session begins.
  void forget_pods();

  // Takes out the pods for which resolve() may return something else, since a ResourceClaim, a
  // ResourceClaimTemplate, a DeviceClass or a kind of device has changed. Pods that run with known
  // devices are not among them.
  std::set<std::string> take_outdated();

 private:
  struct Claim {
    ClaimSpec spec;
    // The uid of the first pod in status.reservedFor; empty: none.
    std::string reserved_for;
    std::uint32_t list = 0;
  };
  struct Template {
    ClaimSpec spec;
    std::uint32_t list = 0;
  };
  // The pods that share a ResourceClaim. `payer` may be a pod that was not seen yet, or is gone.
  struct Users {
    std::string payer;
    std::set<std::string> pods;
  };
  // A pod's ResourceClaims and ResourceClaimTemplates, as "namespace/name".
  struct PodUses {
    std::set<std::string> claims, templates;
    // True: the pod has no node, or Subak does not know what it claims.
    bool waits = false;
  };

  // Works as resolve(), for a pod that is in pods_ and in users_.
  PodDevices resolve_claims(const std::string& uid, std::string_view ns, const ClaimRefs& claims);
  // Adds the requests of a ResourceClaim to `out`. Returns false if the pod must wait; `out.why`
  // then says why.
  bool add(const ClaimSpec& spec, PodDevices& out) const;
  // Adds the requests of the ResourceClaim with this name ("namespace/name"), as add() does.
  bool add_claim(const std::string& uid, const std::string& name, PodDevices& out);
  // Takes the pod out of the users of its ResourceClaims, and forgets the pod.
  void leave_claims(const std::string& uid);
  // Marks the pods that name the template and wait (PodUses::waits).
  void outdate_pods_of(const std::string& claim_template);
  // Marks the pods that share this ResourceClaim.
  void outdate_users(const std::string& claim);
  void claim_gone(const std::string& name);

  DeviceCache devices_;
  const ExtraGpuResources& extra_;
  std::map<std::string, Claim> claims_;  // by "namespace/name"
  std::map<std::string, Template> templates_;
  std::map<std::string, Users> users_;   // by claim
  std::map<std::string, PodUses> pods_;  // by uid
  std::set<std::string> outdated_;
  // DeviceCache::version() as of the last take_outdated().
  std::uint64_t seen_version_ = 0;
  bool ignores_unknown_ = false;
  std::uint32_t claim_list_ = 0, template_list_ = 0;
};

}  // namespace subak
