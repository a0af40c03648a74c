// Carries out the writes that plan_writes() planned, and records their failures. A late or repeated
// write has no effect, because each write names the version of its object. An eviction and the
// deletion of a ComputeDomain name the uid instead, and a new ComputeDomain has a fixed name. If an
// answer does not show whether a write was done, the writer reads the object, and the next plan
// decides what to do. Threads: only the thread of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "kube/provisioning/provisioning_request.h"
#include "server/edge/client/client.h"
#include "server/edge/writes/plan.h"

namespace subak {

// The callbacks of the writer. All of them except `provisioned` must be set. The writer calls them
// during begin() or during the client's turn().
struct WriterHooks {
  // Gets a pod that was in an answer of the API server. ClusterCache::see_answered_pod() takes such
  // a pod.
  std::function<void(json::Value)> see_pod;
  // Gets an owner that was in an answer of the API server. `collection`: the path of its kind.
  std::function<void(json::Value, const std::string& collection)> see_owner;
  // Gets a ComputeDomain that was in an answer of the API server.
  // ClusterCache::domains().see_answered_domain() takes it.
  std::function<void(json::Value)> see_domain;
  // Says that an answer has shown that there is no ComputeDomain with this key.
  std::function<void(const std::string& key)> forget_domain;
  // Says that the API server has accepted the write.
  std::function<void(const KubeWrite& write)> done;
  // Says that the API server has refused a write for limits::kReleaseRefusedMs, or that a
  // ComputeDomain was not there for so long. `answer` is the last answer, or says what the gang
  // waits for. The writer does not call this for kResume. If the release of a pod was given up, the
  // writer calls this at the first refusal of the pod's mark. The writer tries a refused write
  // again as long as plans contain it.
  std::function<void(const KubeWrite& write, const CallAnswer& answer)> give_up;
  // Returns the time of a clock that never goes back, in ms.
  std::function<std::int64_t()> monotonic_ms;
  // Returns the ProvisioningRequest that brought nodes for the job's pods in this namespace;
  // nullptr: there is none. The result is valid until the next event. If the function is empty, no
  // pod uses a request.
  std::function<const ProvisioningRequest*(JobId job, const std::string& ns)> provisioned{};
};

// The writer of one edge. Several writes may be open at the same time.
class Writer {
 public:
  // `cache` must outlive the writer. `api` must run no turn after the writer is destroyed.
  // `protects_gangs`: the pods of gangs are released with Release::protect.
  Writer(KubeApi& api, const ClusterCache& cache, WriterHooks hooks, bool protects_gangs = false);

  // Begins a write. Does nothing if the pod or owner is not in the cache. If the client has no room
  // for the call, the write gets a pause, like a write that failed.
  void begin(const KubeWrite& write);
  // Returns the attempts on each object, which the next plan uses.
  const Attempts& attempts() const { return attempts_; }
  // The number of calls without an answer. Calls that read an object count too.
  std::size_t under_way() const { return under_way_; }

 private:
  // Forgets the attempts on objects that no longer exist. begin() calls it whenever the number of
  // entries has doubled since the last call. So there are at most kFirstSweep entries, or twice as
  // many as there are objects.
  void forget_gone();
  static constexpr std::size_t kFirstSweep = 64;

  // Sets the pod's node and its status and removes its gate, all in one JSON Patch (RFC 6902). A
  // test operation in the patch names the pod's version.
  void release(const KubeWrite& write);
  // Patches kept_closed_mark() onto the pod, so that outdated patches no longer apply.
  void keep_closed(const KubeWrite& write);
  // Evicts the pod through the eviction API (policy/v1), so that the API server respects
  // PodDisruptionBudgets. The pod's uid is a precondition.
  void evict(const KubeWrite& write);
  // Sets spec.suspend of the owner by a merge patch (RFC 7386), with the owner's uid and version as
  // preconditions.
  void set_suspended(const KubeWrite& write, bool suspended);
  // Makes the ComputeDomain of the pod `write.pod`. A ComputeDomain that exists but does not suit
  // the gang, or lacks its template, counts as a refusal.
  void make_domain(const KubeWrite& write);
  // Handles the answer to the POST of a ComputeDomain.
  void take_made_domain(const KubeWrite& write, const std::string& key, const CallAnswer& answer,
                        std::string_view body);
  // Deletes the ComputeDomain, with its uid as a precondition.
  void drop_domain(const KubeWrite& write);
  // Reads the ComputeDomain with this key into the cache.
  void read_domain(const KubeWrite& write, const std::string& key);
  // Sends a write that names this version. settle() gets the answer.
  void send(const KubeWrite& write, KubeCall call, const std::string& version);
  // Makes a call for the write, and counts it in `under_way_`. If the client has no room for the
  // call, the write gets a pause.
  void call(const KubeWrite& write, KubeCall call,
            std::function<void(const CallAnswer&, std::string_view body)> answered);
  // Handles the answer to a write. Depending on the answer, the write is done or refused, or gets a
  // pause, or the object is read.
  void settle(const KubeWrite& write, const std::string& version, const CallAnswer& answer,
              std::string_view body);
  // Reads the object after an answer that does not show what to do. `why`: that answer. If `why` is
  // kInvalid and the object still has this version, the write counts as refused.
  void read_again(const KubeWrite& write, const std::string& version, const CallAnswer& why);
  // Records a refusal, and delays the next attempt. Calls WriterHooks::give_up() after
  // limits::kReleaseRefusedMs of refusals.
  void refuse(const KubeWrite& write, const CallAnswer& answer);
  // Delays the next write on the object by its backoff, but at least by `at_least` ms.
  void pause(const std::string& uid, DurationMs at_least);
  // Passes the object in an answer to see_pod, see_owner or see_domain of the hooks.
  void take_object(const KubeWrite& write, std::string_view body);
  // Returns the path of the write's object; empty: the object is not in the cache.
  std::string path_of(const KubeWrite& write) const;
  // Returns the version of the write's object in the cache; empty: the object is not in the cache.
  std::string version_of(const KubeWrite& write) const;

  KubeApi& api_;
  const ClusterCache& cache_;
  const WriterHooks hooks_;
  const bool protects_gangs_;
  Attempts attempts_;
  // forget_gone() runs when attempts_ has this many entries.
  std::size_t sweep_at_ = kFirstSweep;
  std::size_t under_way_ = 0;
};

}  // namespace subak
