// The thread that observes how busy the held GPUs are. By default once a minute, it asks a
// Prometheus server for DCGM's metrics. It also asks the follower, the engine that serves reads,
// who holds which GPUs. It adds the result to the book (book.h). Only the leader observes. Other
// replicas load the book from the store from time to time. The loop's thread never waits for the
// observer, and no decision depends on it (docs/design/0092).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "engine/engine.h"
#include "server/activity/book.h"
#include "server/activity/prometheus_client.h"
#include "server/runtime/ports.h"

namespace subak {

// The options of the observer.
struct ObserverOptions {
  PrometheusAccess access;
  // A job whose GPUs are idle for this long is warned; 0: no job is warned.
  DurationMs warn_after_ms = 0;
  // The time from one query to the next.
  DurationMs every_ms = 0;
};

// The parts of the service that the observer uses, from its own thread.
struct ObserverPorts {
  // Queues the function, which the follower's thread later calls with its engine
  // (Follower::read_expensive()). False: the follower refused the read.
  std::function<bool(std::function<void(const Engine&)>)> read;
  // Returns the service's present time, in UTC (Runtime::now_ms()).
  std::function<TimeMs()> now_ms;
  // True: this process leads.
  std::function<bool()> leads;
  // Records for the owner of a job that the job is idle.
  std::function<void(const IdleJob&)> warn;
};

// The observing thread. Threads: one at a time may call start() and stop().
class ActivityObserver {
 public:
  // `book` and `store` must outlive the observer.
  ActivityObserver(ObserverOptions options, ObserverPorts ports, ActivityBook& book, Store& store);
  ~ActivityObserver();  // calls stop()
  ActivityObserver(const ActivityObserver&) = delete;
  ActivityObserver& operator=(const ActivityObserver&) = delete;

  // Starts the thread. Call it once.
  void start();
  // Ends the thread, within about a second. The leader then writes the book. Call it before the
  // follower stops. A second call does nothing.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
