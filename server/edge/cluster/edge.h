// The edge of one Kubernetes cluster, inside the service. The edge reports the cluster's objects to
// the core, and carries out the core's effects: commands such as to open a pod's gate. The core is
// the engine that makes all decisions, with its loop (server/runtime/runtime.h).
//
//  API server --watches--> Reflector -> ClusterCache --inputs--> core
//  API server <--patches-- plan_writes <-- ClusterCache, wanted <--effects-- core
//
// One thread owns the sockets, the object cache and the calls. A turn is one round of this thread's
// loop. The edge stores no state: after a crash at any point it begins again with a list
// (docs/design/0036).
// Each start begins a session: a complete list of the cluster, and then each change
// (docs/design/0031).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "kube/domain/domain_row.h"
#include "kube/node/node.h"
#include "kube/pod.h"
#include "model/input.h"
#include "server/edge/client/client.h"
#include "server/edge/events/budget_notices.h"
#include "server/edge/writes/plan.h"
#include "server/runtime/effect_stream.h"
#include "server/runtime/runtime.h"

namespace subak {

// The parts of the service that an edge uses. The edge's thread may call all of them until stop().
// The follower is the engine that serves reads; it runs functions on its own thread.
struct EdgePorts {
  // Queues an input for the core (Runtime::post()). The reply comes on the loop's thread. False:
  // the core accepts no input now.
  std::function<bool(Input, ReplyFn)> post;
  // Returns the newest published copy of the core's state (Runtime::view()). Never nullptr.
  std::function<std::shared_ptr<const View>()> view;
  // Opens a stream of the core's effects on a cluster (Runtime::subscribe()); nullptr: the service
  // is stopping.
  std::function<std::shared_ptr<EffectStream>(ClusterId, std::function<void()> wake)> subscribe;
  // Queues a cheap read (Follower::read()). False: the follower refused it.
  std::function<bool(std::function<void(const Engine&)>)> read;
  // Queues a cheap read that gets the start estimates too (Follower::read_starts()).
  std::function<bool(std::function<void(const Engine&, const ForecastStarts&)>)> read_starts;
  // Queues a read whose cost grows with the state (Follower::read_expensive()). False: the follower
  // refused it.
  std::function<bool(std::function<void(const Engine&)>)> read_expensive;
  // Returns the service's present time, in UTC (Runtime::now_ms()).
  std::function<TimeMs()> now_ms;
  // A clock that never goes back, in ms. The edge uses this clock for pauses and rates.
  std::function<std::int64_t()> monotonic_ms;
};

// The options of an edge.
struct EdgeOptions {
  // The cluster's name in the service.
  std::string cluster;
  // Resources that count as whole GPUs, beside nvidia.com/gpu.
  ExtraGpuResources extra_gpu_resources;
  // Schedulers whose pods belong to another queue manager.
  std::vector<std::string> other_schedulers;
  // The value of KubeNodeOptions::fatal_conditions.
  std::vector<std::string> fatal_conditions = default_fatal_conditions();
  // The values of KubeNodeOptions::topology_labels and KubeNodeOptions::labels.
  std::vector<std::string> topology_labels;
  NodeLabelKeys node_labels;
  // The value of Policy::system_namespaces. Pods of the GPU Operator count only in these and in
  // kSystemNamespaces.
  std::vector<std::string> system_namespaces;
  // True: ResourceClaims for devices that Subak does not know do not count (DeviceClaims::kWarn).
  bool ignores_unknown_claims = false;
  // True: autoscalers are asked not to remove the nodes of gangs (AdmissionConfig::protect_gangs).
  bool protects_gangs = false;
  // True: the edge has no thread, and the caller runs turn(). So a simulation of faults is
  // reproducible.
  bool stepped = false;
};

// The ComputeDomains of an edge.
struct DomainStats {
  // The ComputeDomains that Subak made and that exist. nullptr: no turn has ended yet.
  std::shared_ptr<const std::vector<ComputeDomainRow>> rows;
  // The number of joined nodes of these ComputeDomains that have been not ready for at least five
  // minutes.
  std::size_t late_nodes = 0;
};

// Figures of an edge. Counters only rise.
struct EdgeStats {
  // True: the core has a complete list.
  bool listed = false;
  // True: the core has a complete list, and the watches are open.
  bool synced = false;
  // Why the edge is not synced; empty: there is no error.
  std::string error;
  // The numbers of nodes and pods in the object cache.
  std::size_t nodes = 0, pods = 0;
  // The number of lists begun, of all kinds and sessions.
  std::uint64_t lists = 0;
  // The number of writes to the API server that succeeded, by kind.
  std::array<std::uint64_t, EnumText<WriteKind>::names.size()> writes{};
  // The number of Events that the edge sent to the cluster.
  std::uint64_t events = 0;
  // The number of writes that were given up because the API server refused them for too long, by
  // the server's reason.
  std::map<std::string, std::uint64_t> refused;
  // The number of gates that the edge opened on pods that Subak does not manage.
  std::uint64_t opened_outside = 0;
  // The number of objects that the edge could not read.
  std::uint64_t unreadable = 0;
  // The number of updates that the core refused.
  std::uint64_t not_taken = 0;
  // The number of pods that wait until the core has room for them.
  std::size_t put_off = 0;
  // The clock error of the node whose clock is furthest off, in ms. Positive: the clock is behind;
  // negative: it is ahead.
  DurationMs clock_behind_ms = 0;
  DomainStats domains;
};

// The edge of one cluster. Threads: one at a time may call start(), stop() and turn(); the comments
// name the members that any thread may call.
class Edge {
 public:
  // The edge owns `api`. All objects that the ports refer to outlive the edge.
  Edge(EdgeOptions options, EdgePorts ports, std::unique_ptr<KubeApi> api);
  ~Edge();  // calls stop(); a stepped edge just ends, like a process that crashes
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  // Starts the thread; a stepped edge has none. Returns at once. Call it once.
  void start();
  // Ends the thread. After that, the edge calls no port and handles no answer of the API server.
  // Call it before the runtime stops. A second call does nothing.
  void stop();
  // Records an Event on a pod and on its owner: the GPUs of the pod's job are idle. Does nothing if
  // the edge follows no such pod, or if the pod's namespace does not have the mode enforce.
  // Threads: any, until stop() returns.
  void tell_idle(const std::string& pod_uid, const std::string& note);
  // Records Events on the namespaces of an account that has spent a part of a budget
  // (BudgetNotices). Threads: any, until stop() returns.
  void tell_budget(BudgetNotice notice);
  // Returns the figures of the last turn. Threads: any.
  EdgeStats stats() const;
  // For a stepped edge: does the work that is due, then runs one turn of the API client. It does
  // not wait.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
