// The ResourceClaims and ResourceClaimTemplates of a cluster. They show which GPUs a pod requests,
// and which pod pays for a ResourceClaim that several pods share.
//
// For example, the pods A and B name the same ResourceClaim for 2 GPUs. These GPUs exist once, so
// only one of the pods pays: pod A requests the GPUs, and its job is charged for them. Pod B
// requests none, and waits until the ResourceClaim is reserved for A. When A has ended, B pays.
//
// The core, the engine that decides, gets only the GPUs that follow for each pod. Threads: one at a
// time; ClusterCache owns the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/device/claim.h"
#include "kube/pod.h"
#include "model/input.h"
#include "server/edge/client/watch_stream.h"
#include "server/edge/devices/device_cache.h"

namespace subak {

// What the ResourceClaims of a pod request.
struct PodDevices {
  enum class State : std::uint8_t {
    // `gpus` has the GPUs that the pod's ResourceClaims request and for which this pod pays;
    // GpuKind::kNone: there are none.
    kKnown,
    // It is not known which GPUs the ResourceClaims request. The pod must wait: `why` says for
    // what.
    kUnknown,
    // Another pod pays for the ResourceClaim and gets its devices first. So this pod requests no
    // GPUs, and must wait, as `why` says.
    kAfterPayer,
  };
  State state = State::kKnown;
  ClaimedGpus gpus;
  std::string why;
};

// The entries stay when a session ends. The core does not get ResourceClaims, so the edge need not
// send any entry again.
class ClaimCache {
 public:
  // `extra`: the resources that count as whole GPUs. `extra` must outlive the cache.
  explicit ClaimCache(const ExtraGpuResources& extra) : devices_(extra), extra_(extra) {}

  // From now on, add_gpus() ignores ResourceClaims that Subak does not know (DeviceClaims::kWarn).
  void ignore_unknown() { ignores_unknown_ = true; }
  // The devices that can satisfy the ResourceClaims.
  DeviceCache& devices() { return devices_; }

  // Take a list of ResourceClaims or of ResourceClaimTemplates: call begin_...() first, then
  // see_...() for each object, then complete_...(). The last call forgets the objects that the list
  // did not name. Between lists, see_...() takes the events of the watch.
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
  // Adds the result of resolve() to `pod`, and clears pod.claims.device. `object` is the JSON from
  // which `pod` was read. Returns why the pod must wait; empty: it need not wait. A gated pod that
  // must wait requests no GPUs.
  // If Subak does not know what the ResourceClaims request, pod.claims.device stays. There is one
  // exception: a pod without a gate keeps the request that Subak knew before.
  // If the pod has ended, this also forgets the pod.
  std::string add_gpus(Pod& pod, json::Value object);
  // Forgets a pod that has ended or is gone. `knows_end`: its status states when it ended.
  void forget(const std::string& uid, bool knows_end = false);
  // Returns the time from which this pod pays for a shared ResourceClaim: the end of the pod that
  // paid before. 0: that end is not known, or it is not after `bound_at_ms`. Then the pod pays from
  // now on. `bound_at_ms`: when the pod was bound.
  TimeMs pays_from_ms(const std::string& uid, TimeMs bound_at_ms) const;

  // A session begins. `seen_until_ms`: ClusterView::Reports::seen_until_ms.
  void begin_session(TimeMs seen_until_ms) { seen_until_ms_ = seen_until_ms; }
  // A list of pods begins.
  void begin_pods() { lists_pods_ = true; }
  // Holds back the record of a bound pod that names a ResourceClaim, while a list of pods is in
  // progress: the list may name a payer that has ended. Returns false if the record may be sent.
  bool hold_back(const std::string& uid, const PodRecord& record);
  // The list is complete: returns the records that were held back, by uid.
  std::map<std::string, PodRecord> take_held_back();
  // Returns the time from which a pod pays for its shared ResourceClaims. The pod is one that a
  // list names and that the core does not know. nullopt: the pod pays from its binding. Call it
  // after take_held_back().
  // - If the core chose the node of this pod, no other pod paid: nullopt.
  // - Otherwise another pod may have paid: until its end, or until an edge last saw the cluster
  //   (`seen_until_ms`). The result is the later of these two times.
  // - If the pod was bound at that time or later: nullopt.
  std::optional<TimeMs> listed_pays_from_ms(const PodRecord& record) const;
  // Forgets all pods, when a session begins.
  void forget_pods();

  // Takes out the pods for which resolve() may now return another result. After a change of a
  // ResourceClaim, these are all pods that share it. After a change of a ResourceClaimTemplate, a
  // DeviceClass or a kind of device, these are only pods that wait (PodUses::waits).
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
  // The pods that share a ResourceClaim. `payer` may be a pod that was not seen yet, or that is
  // gone. `before`: the pod that paid before; empty: not known.
  struct Users {
    std::string payer, before;
    std::set<std::string> pods;
  };
  struct PayerEnd {
    std::string uid;
    TimeMs at_ms = 0;
  };
  // A pod's ResourceClaims and ResourceClaimTemplates, as "namespace/name".
  struct PodUses {
    std::set<std::string> claims, templates;
    // The last known request of the ResourceClaims; nullopt: it was never known.
    std::optional<ClaimedGpus> known{};
    // True: a change of a ResourceClaim may still change what the pod requests. The pod has no
    // node, or Subak does not know what it requests.
    bool waits = false;
  };

  // Works as resolve(), for a pod that is in pods_ and in users_.
  PodDevices resolve_claims(const std::string& uid, std::string_view ns, const ClaimRefs& claims);
  // Adds the requests of a ResourceClaim to `out`. Returns false if the pod must wait; `out.why`
  // then says why.
  bool add(const ClaimSpec& spec, PodDevices& out) const;
  // Adds the requests of the ResourceClaim with this name ("namespace/name"), as add() does.
  bool add_claim(const std::string& uid, const std::string& name, PodDevices& out);
  // Takes the end of a pod that may have paid for its ResourceClaims. Returns false if the status
  // does not state when the pod ended.
  bool note_end(const std::string& uid, const Pod& pod, json::Value object);
  // Returns when the last payer of the pod's ResourceClaims ended. 0: not known, or no payer has
  // ended in this session. If `listed` is true, the end of each pod that may have paid counts. If
  // it is false, only the end of Users::before counts. But if Users::before is empty, the end of
  // each such pod counts too.
  TimeMs payer_ended_ms(const std::string& uid, bool listed) const;
  // From now on, this pod pays for the ResourceClaim.
  static void set_payer(Users& users, const std::string& uid);
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
  std::map<std::string, Users> users_;  // by ResourceClaim
  // The last pod that may have paid and has ended, by ResourceClaim. Without an entry, no such
  // pod is known.
  std::map<std::string, PayerEnd> payer_ends_;
  // The records that hold_back() holds back, by uid.
  std::map<std::string, PodRecord> held_back_;
  TimeMs seen_until_ms_ = 0;
  bool lists_pods_ = false;
  std::map<std::string, PodUses> pods_;  // by uid
  std::set<std::string> outdated_;
  // DeviceCache::version() as of the last take_outdated().
  std::uint64_t seen_version_ = 0;
  bool ignores_unknown_ = false;
  std::uint32_t claim_list_ = 0, template_list_ = 0;
};

}  // namespace subak
