// Makes the ProvisioningRequests of a cluster, watches them and deletes them. With such an object,
// Subak asks an autoscaler for nodes of a pool. provisioning_plan.h says when. The Provisioner
// stores nothing: after a restart it lists the requests again, and the plan follows from them and
// from the newest forecast.
//
// A request is made in several calls. The Provisioner reads one pod for each of the request's pod
// sets, makes a PodTemplate from it, and last makes the request. The name of a template has a
// digest of its content, so a repeated call changes nothing. If a call fails, the Provisioner
// begins again after a pause. The owner of the job's pods owns all these objects. So Kubernetes
// deletes them with the owner, even if Subak does not run.
// Threads: the edge's thread, except that read_demand() runs on the thread for reads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/edge_limits.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/backoff.h"
#include "server/edge/client/client.h"
#include "server/edge/client/reflector.h"
#include "server/edge/client/request_pace.h"
#include "server/edge/provisioning/provisioning_plan.h"

namespace subak {

// What the Provisioner uses. All functions must be set.
struct ProvisionerPorts {
  // The cluster's name in the service.
  std::string cluster;
  // The next functions work as those of EdgePorts.
  std::function<bool(std::function<void(const Engine&, const ForecastStarts&)>)> read_starts;
  std::function<std::shared_ptr<const View>()> view;
  std::function<TimeMs()> now_ms;
  std::function<std::int64_t()> monotonic_ms;
  // Runs a task on the edge's thread. Any thread may call it.
  std::function<void(std::function<void()>)> put;
  // Records an Event on a pod and on its owner, as Notices::tell_pod().
  std::function<void(const std::string& uid, const char* reason, const char* action,
                     const std::string& note, bool warning)>
      tell_pod;
};

// The provisioner of one edge.
class Provisioner {
 public:
  // `api`, `pods` and `requests` must outlive this object. `api` must run no turn, and `put` no
  // task, after this object is destroyed. The Provisioner alone writes into `requests`.
  Provisioner(ProvisionerPorts ports, KubeApi& api, const ClusterCache& pods,
              RequestCache& requests);
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

  // Does the work that is due. Call it in each turn of a session that follows. `writes_full`: the
  // edge's other writes use all their connections, so no write begins.
  void turn(bool writes_full);
  // Returns the time until turn() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const;
  // Ends the watch and forgets the requests. Call it when a session has ended.
  void forget();

 private:
  // The calls that make one request.
  struct Making {
    ProvisioningRequest request;
    DomainOwner owner;
    // For each pod set: the pod that the template is made from.
    std::vector<DemandedPods> pods;
    // The pool, for Events.
    std::string pool;
  };
  // The calls on one request, by its key: under way, or waiting after a failure.
  struct Attempt {
    bool under_way = false;
    std::int64_t next_ms = 0;
    Backoff backoff;
  };

  // True if a pool of the cluster has a provisioning class.
  bool is_configured() const;
  // True if the requests must be followed. Without a class, one list shows whether requests are
  // left from an earlier configuration. If that list fails, Subak does not repeat it.
  bool must_follow();
  // Begins or ends the watch.
  void follow();
  void warn_if_absent();
  // Asks the follower for the demand.
  void look();
  void take(const DemandPage& page);
  void tell_state(const NodeDemand& demand, const ProvisioningRequest& request);

  // True if a call for the request may begin now.
  bool may_begin(const std::string& key) const;
  void begin_make(const ProvisioningPlan::Make& make);
  // Reads the pod of the next pod set; or makes the request, if all templates are there.
  void make_next(const std::shared_ptr<Making>& making);
  void make_template(const std::shared_ptr<Making>& making, std::string_view pod);
  void make_request(const std::shared_ptr<Making>& making);
  // Puts the request into the cache. `body`: the API server's answer.
  void see_made(std::string_view body);
  // Deletes the template at `index` and all later ones, then the request.
  void drop_next(const std::shared_ptr<const ProvisioningRequest>& request, std::size_t index);
  // Makes a call, and passes its answer on if the session is still the same. A call for which the
  // client has no room fails.
  void call(const std::string& key, KubeCall call,
            std::function<void(const CallAnswer&, std::string_view)> answered);
  // Ends the calls on a request. A failure delays the next ones. `words`: what failed, for the log.
  void done(const std::string& key);
  void failed(const std::string& key, const CallAnswer& answer, const std::string& words);
  void refused(const Making& making, const CallAnswer& answer, const std::string& what);

  const ProvisionerPorts ports_;
  KubeApi& api_;
  const ClusterCache& pods_;
  RequestCache& requests_;
  // The limits on lists and watches, and on further pages.
  RequestPace begins_{limits::kMaxFollowRequests}, pages_{limits::kMaxPageRequests};
  // nullptr: the requests are not followed.
  std::unique_ptr<Reflector> reflector_;
  // The number of sessions that have ended.
  std::uint64_t session_ = 0;
  UnneededSince unneeded_;
  // By the request's key.
  std::map<std::string, Attempt> attempts_;
  // The last state of each request that an Event has told, by the request's key.
  std::map<std::string, ProvisioningState> told_;
  struct {
    // A read of the demand is open.
    bool looking = false;
    // No pool has a class, and the search for left requests has ended.
    bool searched = false;
    // The log says that the cluster does not have the kind.
    bool warned = false;
    // The last argument of turn().
    bool full = false;
  } is_;
  // When the next look, and the search for left requests, are due, by the monotonic clock. 0: at
  // once; for the search: not known yet.
  std::int64_t look_due_ms_ = 0, search_due_ms_ = 0;
};

}  // namespace subak
