// Carries out the writes of plan_writes() and remembers failures. Each write names the version of
// the object that it was made for, so a late or repeated write changes nothing. After an answer
// that leaves open whether the write was done, the object is read, and the next plan decides.
// Threads: that of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "server/edge/client/client.h"
#include "server/edge/writes/plan.h"

namespace subak {

// The callbacks of the writer.
// All must be set. They are called within begin() or the client's turn().
struct WriterHooks {
  // Gets an object from the API server's answer: an update, as from a watch.
  std::function<void(json::Value)> see_pod;
  // As see_pod(). `collection`: one of kOwnerPaths.
  std::function<void(json::Value, const std::string& collection)> see_owner;
  // The API server has accepted the write.
  std::function<void(const KubeWrite& write)> done;
  // The API server has refused a write for limits::kReleaseRefusedMs that opens a gate or ends a
  // pod; `answer` is the last. The write is retried as long as it is wanted. The mark of a pod
  // whose gate could not be opened is given up at the first refusal.
  std::function<void(const KubeWrite& write, const CallAnswer& answer)> give_up;
  // A clock that never goes back, in ms.
  std::function<std::int64_t()> monotonic_ms;
};

class Writer {
 public:
  // Both outlive the writer, or `api` is destroyed without another turn.
  Writer(KubeApi& api, const ClusterCache& cache, WriterHooks hooks);

  // Does nothing if the object is not in the cache. A call that the client has no room for counts
  // as failed, and is paused.
  void begin(const KubeWrite& write);
  // For the next plan.
  const Attempts& attempts() const { return attempts_; }
  // Calls without an answer, reads included.
  std::size_t under_way() const { return under_way_; }

 private:
  // Forgets the attempts of objects that no longer exist. begin() calls it whenever their number
  // has doubled, so at most twice as many are remembered as there are objects, or kFirstSweep.
  void forget_gone();
  static constexpr std::size_t kFirstSweep = 64;

  // Patches node, status and gate at once, with JSON Patch (RFC 6902), whose tests name the
  // version.
  void release(const KubeWrite& write);
  // Puts kept_closed_mark() onto the pod, so that an outdated patch no longer applies.
  void keep_closed(const KubeWrite& write);
  // By the eviction API (policy/v1), so that disruption budgets count. The uid is a precondition.
  void evict(const KubeWrite& write);
  // A merge patch (RFC 7386) with uid and version as preconditions.
  void set_suspended(const KubeWrite& write, bool suspended);
  // For writes that name a version; settle() gets their answer.
  void send(const KubeWrite& write, KubeCall call, const std::string& version);
  // Makes a call and counts it in under_way_. If the client has no room for it, the write is
  // paused.
  void call(const KubeWrite& write, KubeCall call,
            std::function<void(const CallAnswer&, std::string_view body)> answered);
  // Judges the answer to a write: done, refused, paused, or read the object first.
  void settle(const KubeWrite& write, const std::string& version, const CallAnswer& answer,
              std::string_view body);
  // Reads the object. If it is unchanged after an invalid patch, the patch itself is refused.
  void read_again(const KubeWrite& write, const std::string& version, const CallAnswer& why);
  // Notes a refusal, pauses, and gives up after limits::kReleaseRefusedMs of them.
  void refuse(const KubeWrite& write, const CallAnswer& answer);
  // By the attempt's backoff, and at least `at_least` ms.
  void pause(const std::string& uid, DurationMs at_least);
  // Hands the object of an answer to the cache by the hooks.
  void take_object(const KubeWrite& write, std::string_view body);
  // Returns the path of the object that the write is about.
  std::string path_of(const KubeWrite& write) const;
  // Returns the cache's version of that object; empty: it is not known.
  std::string version_of(const KubeWrite& write) const;

  KubeApi& api_;
  const ClusterCache& cache_;
  const WriterHooks hooks_;
  Attempts attempts_;
  // forget_gone() runs when so many attempts are remembered.
  std::size_t sweep_at_ = kFirstSweep;
  std::size_t under_way_ = 0;
};

}  // namespace subak
