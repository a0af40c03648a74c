// Asks the API server which kinds of owners, the objects that create pods, it serves
// (kube/owners/kinds.h), in which version. The request is GET /apis/GROUP/VERSION, again every
// limits::kDiscoveryMs. KindDiscovery repeats a request that fails. The results of the other
// requests stay. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "kube/owners/kinds.h"
#include "server/edge/client/backoff.h"
#include "server/edge/client/client.h"
#include "server/edge/client/request_pace.h"

namespace subak {

// The discovery of one cluster. Call turn() in each turn of the edge.
class KindDiscovery {
 public:
  // `now`: a clock that never goes back, in ms. `api` must outlive the discovery, and must make no
  // call back after the discovery is destroyed.
  KindDiscovery(KubeApi& api, std::function<std::int64_t()> now);
  KindDiscovery(const KindDiscovery&) = delete;
  KindDiscovery& operator=(const KindDiscovery&) = delete;

  // Begins the requests that are due.
  void turn();
  // Returns the time until turn() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const;
  // True once each request has had an answer, even an error.
  bool is_answered() const;
  // Returns the path of the kind's objects, such as "/apis/ray.io/v1/rayclusters". Empty: the API
  // server does not serve the kind in a version that Subak reads, or it has not answered.
  std::string collection(OwnerKind kind) const;
  // True if the API server has said that it does not serve the kind in a version that Subak reads.
  bool is_absent(OwnerKind kind) const;

 private:
  // One version of a group.
  struct Version {
    std::string_view group, version;
    // The kinds that the last answer listed. Empty: none, or no answer yet.
    std::vector<OwnerKind> served;
    // True: a request was answered by a list, or by 404. The value stays true if later requests
    // fail.
    bool known = false;
    // True: there was an answer of any kind.
    bool answered = false;
    bool under_way = false;
    // When to ask next, by the monotonic clock.
    std::int64_t due_ms = 0;
    Backoff backoff;
  };

  void ask(std::size_t index);
  void take(Version& of, const CallAnswer& answer, std::string_view body);
  const Version* find(std::string_view group, std::string_view version) const;

  KubeApi& api_;
  const std::function<std::int64_t()> now_;
  // The limit on all requests together.
  RequestPace pace_{limits::kMaxDiscoveryRequests};
  std::vector<Version> versions_;
};

}  // namespace subak
