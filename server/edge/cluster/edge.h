// The in-process edge of one Kubernetes cluster. It reports the cluster's objects to the core and
// carries out the core's effects.
//
//  API server --watches--> Reflector -> ClusterCache --inputs--> core
//  API server <--patches-- plan_writes <-- ClusterCache, wanted <--effects-- core
//
// One thread owns sockets, the object cache and calls. All its memory is a cache: after a
// crash at any point the edge begins again with a list (docs/design/0036). Each start begins a
// session (docs/design/0031).
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
#include "kube/node/node.h"
#include "kube/pod.h"
#include "model/input.h"
#include "server/edge/client/client.h"
#include "server/edge/writes/plan.h"
#include "server/runtime/effect_stream.h"
#include "server/runtime/runtime.h"

namespace subak {

// The parts of the service that an edge uses. The edge's thread may call all of them until stop().
struct EdgePorts {
  std::function<bool(Input, ReplyFn)> post;           // as Runtime::post
  std::function<std::shared_ptr<const View>()> view;  // as Runtime::view
  std::function<std::shared_ptr<EffectStream>(ClusterId, std::function<void()> wake)> subscribe;
  std::function<bool(std::function<void(const Engine&)>)> read;  // as Follower::read
  // As Follower::read_starts.
  std::function<bool(std::function<void(const Engine&, const ForecastStarts&)>)> read_starts;
  // As Follower::read_expensive (an expensive read); false: refused.
  std::function<bool(std::function<void(const Engine&)>)> read_expensive;
  std::function<TimeMs()> now_ms;  // as Runtime::now_ms
  std::function<std::int64_t()> monotonic_ms;
};

// The options of an edge.
struct EdgeOptions {
  std::string cluster;
  ExtraGpuResources extra_gpu_resources;
  std::vector<std::string> other_schedulers;
  std::vector<std::string> fatal_conditions = default_fatal_conditions();  // KubeNodeOptions
  std::vector<std::string> topology_labels;                                // KubeNodeOptions
  // No thread: the caller runs turn(), so that a simulation of faults is reproducible.
  bool stepped = false;
};

// Counters only rise.
struct EdgeStats {
  bool listed = false;  // the core has a complete list
  bool synced = false;  // and the watches are alive
  std::string error;    // why it is not synced; empty: no error
  std::size_t nodes = 0, pods = 0;
  std::uint64_t lists = 0;                                                // begun, of all kinds
  std::array<std::uint64_t, EnumText<WriteKind>::names.size()> writes{};  // done, by kind
  std::uint64_t events = 0;                      // Events recorded in the cluster
  std::map<std::string, std::uint64_t> refused;  // releases that were given up, by reason
  std::uint64_t opened_outside = 0;              // gates opened where pods are not managed
  std::uint64_t unreadable = 0;                  // objects that could not be read
  std::uint64_t not_taken = 0;                   // updates that the core refused
  std::size_t put_off = 0;                       // pods that wait until the core has room for them
  DurationMs clock_behind_ms = 0;  // of the node with the largest clock error; ahead: negative
};

class Edge {
 public:
  Edge(EdgeOptions options, EdgePorts ports, std::unique_ptr<KubeApi> api);
  ~Edge();  // stop(); a stepped edge just ends, like a process that crashes
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  void start();
  // Ends all calls and joins. Call before the runtime stops. Idempotent.
  void stop();
  EdgeStats stats() const;  // any thread
  // Stepped only: handles what is due, then runs one turn of the API. Does not wait.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
