// Carries out the writes of plan_writes() and records failures. Each write names the version of its
// object, so a late or repeated write has no effect. If an answer does not show whether the write
// was done, the writer reads the object, and the next plan decides. Threads:
// that of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "server/edge/client/client.h"
#include "server/edge/writes/plan.h"

namespace subak {

// The callbacks of the writer.
// All must be set. The writer calls them within begin() or the client's turn().
struct WriterHooks {
  // Gets a pod from the API server's answer, which counts as an update from a watch.
  std::function<void(json::Value)> see_pod;
  // As see_pod(), for an owner. `collection`: one of kOwnerPaths.
  std::function<void(json::Value, const std::string& collection)> see_owner;
  // The API server has accepted the write.
  std::function<void(const KubeWrite& write)> done;
  // The API server has refused for limits::kReleaseRefusedMs to open a gate or to end a pod;
  // `answer` is its last answer. The writer retries the write as long as it is wanted. The writer
  // also calls this at the first refusal of a mark, if the release of the pod was given up.
  std::function<void(const KubeWrite& write, const CallAnswer& answer)> give_up;
  // A clock that never goes back, in ms.
  std::function<std::int64_t()> monotonic_ms;
};

class Writer {
 public:
  // `cache` outlives the writer. `api` must run no turn after the writer is destroyed.
  Writer(KubeApi& api, const ClusterCache& cache, WriterHooks hooks);

  // Begins a write. Does nothing if the object is not in the cache. If the client has no room for
  // the call, the write counts as failed and gets a pause.
  void begin(const KubeWrite& write);
  // Returns the attempts, for the next plan.
  const Attempts& attempts() const { return attempts_; }
  // The number of calls without an answer, with reads.
  std::size_t under_way() const { return under_way_; }

 private:
  // Forgets the attempts of objects that no longer exist. begin() calls it whenever their number
  // has doubled. So the number is at most kFirstSweep, or twice the number of objects.
  void forget_gone();
  static constexpr std::size_t kFirstSweep = 64;

  // Patches node, status and gate together, with JSON Patch (RFC 6902). A test operation in the
  // patch names the version.
  void release(const KubeWrite& write);
  // Puts kept_closed_mark() onto the pod, so that an outdated patch no longer applies.
  void keep_closed(const KubeWrite& write);
  // Evicts by the eviction API (policy/v1), so that disruption budgets count.
  // The uid is a precondition.
  void evict(const KubeWrite& write);
  // Sends a merge patch (RFC 7386) with uid and version as preconditions.
  void set_suspended(const KubeWrite& write, bool suspended);
  // Sends a write that names a version. settle() gets the answer.
  void send(const KubeWrite& write, KubeCall call, const std::string& version);
  // Makes a call and counts it in under_way_. If the client has no room for the call, the write
  // gets a pause.
  void call(const KubeWrite& write, KubeCall call,
            std::function<void(const CallAnswer&, std::string_view body)> answered);
  // Handles the answer to a write. The write is done or refused, or it gets a pause, or the object
  // is read first.
  void settle(const KubeWrite& write, const std::string& version, const CallAnswer& answer,
              std::string_view body);
  // Reads the object. If the object is unchanged after an invalid patch, the
  // patch counts as refused.
  void read_again(const KubeWrite& write, const std::string& version, const CallAnswer& why);
  // Records a refusal and pauses. Calls give_up() after limits::kReleaseRefusedMs of refusals.
  void refuse(const KubeWrite& write, const CallAnswer& answer);
  // Delays the next write by the attempt's backoff, and at least by `at_least` ms.
  void pause(const std::string& uid, DurationMs at_least);
  // Passes the object of an answer to the cache, by the hooks.
  void take_object(const KubeWrite& write, std::string_view body);
  // Returns the path of the object that the write is about.
  std::string path_of(const KubeWrite& write) const;
  // Returns the version of that object in the cache; empty: the object is not known.
  std::string version_of(const KubeWrite& write) const;

  KubeApi& api_;
  const ClusterCache& cache_;
  const WriterHooks hooks_;
  Attempts attempts_;
  // forget_gone() runs when attempts_ has this many entries.
  std::size_t sweep_at_ = kFirstSweep;
  std::size_t under_way_ = 0;
};

}  // namespace subak
