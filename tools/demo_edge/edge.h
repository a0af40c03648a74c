// The demo's cluster: a Kubernetes watch and a launcher in one. It stores pods, opens gates by
// effects, binds, runs and ends pods, and reports all of it with exact times. Unacknowledged
// reports are kept and sent again.
//
// Threads: any may call; it runs three of its own between start() and stop().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "subak/v1/cluster_service.grpc.pb.h"
#include "tools/demo_edge/door.h"

namespace subak::demo {

// One pod, or one attempt of a rank of an API job. `order` counts all events at the edge, so that
// "before" is exact even within a millisecond.
// Times are wall clock in ms.
struct Pod {
  // Its uid; of an API job "JOB/RANK/ATTEMPT".
  std::string key;
  v1::PodRecord record;  // uid is empty for API jobs
  std::string job;       // as in its effect; empty while gated
  int attempt = 0;
  v1::EffectPod place;
  std::int64_t opened_ms = 0, bound_ms = 0, running_ms = 0, ended_ms = 0;  // 0: not yet
  std::uint64_t opened_order = 0, ended_order = 0;
  std::int64_t hold_end_ms = 0;  // of an API job, by the steady clock; 0: the hold has no end
  bool started = false;          // of an API job: its binding was acknowledged
  bool running = false;
  // The service has acknowledged the end, or the refusal of a repeated report of it.
  bool end_acknowledged = false;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  bool from_api() const { return record.uid().empty(); }
  bool opened() const { return opened_ms != 0; }
  bool live() const { return ended_ms == 0; }
};

// The run time of a pod without a time limit: at least `shortest_ms`, and by its job's name up to
// `spread_ms` longer.
struct Pace {
  std::int64_t shortest_ms = 1000;
  std::int64_t spread_ms = 3500;
};

class Edge {
 public:
  // Since the start. A pod counts once, however often its effect comes.
  struct Counts {
    int gated = 0;   // pods stored with Subak's gate
    int placed = 0;  // pods that got a node by an effect
    int bound = 0, ended = 0;
    int evicted = 0;
    int effects = 0, effects_again = 0;  // effects_again changed nothing: delivered at least once
    int lists = 0;                       // acknowledged by the service
    std::int64_t live_milligpu = 0;
    std::int64_t stalled_ms = 0;  // how long this machine stopped the edge's clock
  };

  // The address outlives the edge. `nodes`: reported with each list, all ready.
  Edge(Door& door, std::vector<v1::NodeSpec> nodes, Pace pace = {})
      : door_(door), nodes_(std::move(nodes)), pace_(pace) {}
  // Call shut() of the address before: the threads may wait there.
  ~Edge() { stop(); }
  // Call once. The service may still be away: the threads then wait for it.
  void start();
  // Joins. Reports that wait in the outbox are written first if the stream holds.
  void stop();

  // Stores a created pod.
  // A record with the uid of an earlier one replaces it, and counts again.
  void store(const v1::PodRecord& record);
  // Sets how long the pods of this job run, instead of a few seconds.
  // In ms, from its running on. It does not change pods that run already.
  void set_duration(const std::string& job, std::int64_t ms);
  // Sets the time limit of this API job; a pod has its own. Pods run for a part of it, by their
  // job's name.
  // `ms`: the limit. They run for 60 to 90 percent of it.
  void set_limit(const std::string& job, std::int64_t ms);
  // Waits until the service has acknowledged this many complete lists.
  // False: it took longer than `timeout_ms`. Lists count from the edge's start.
  bool wait_lists(int lists, std::int64_t timeout_ms);

  Counts counts() const;
  // True if no pod lives and no report waits for an acknowledgement.
  // Also true before the first pod.
  bool idle() const;
  // Returns copies, by key.
  std::vector<Pod> pods() const;
  const std::vector<v1::NodeSpec>& nodes() const { return nodes_; }
  // Returns faults: refused events, senseless effects.
  std::vector<std::string> complaints() const;

 private:
  // What a pod does next, 100 ms after its gate opened (kBind), 150 ms later (kRun), and at its
  // end.
  enum class Step { kBind, kRun, kEnd };
  using Due = std::pair<std::string, Step>;

  // edge_streams.cc
  // One thread each, until the address is shut(). They open their stream again when it breaks.
  void observe_loop();
  void write_loop(grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>& stream);
  void effects_loop();
  // Handles refusals: of a binding, the pod ends; of a late report, nothing; any other is a
  // complaint.
  void on_ack(const v1::ObserveResponse& ack);
  void pause_unless_stopping();

  // edge_list.cc: the reports after a (re)connection; with mutex_ held
  void list_all();
  void list_live(const Pod& pod);
  void list_ended(const Pod& pod);
  void send(v1::ObserveRequest event, const std::string& ends = "", bool may_be_late = false);
  void ask_to_start(const Pod& pod);
  static v1::PodRef ref_of(const Pod& pod);
  static v1::ObserveRequest bound_event(const Pod& pod);
  static v1::ObserveRequest running_event(const Pod& pod);
  static v1::ObserveRequest gone_event(const Pod& pod);

  // edge.cc
  // Runs steps that are due. A timer that is more than 2 s late counts as a stall of the machine.
  void timer_loop();
  void on_effect(const v1::Effect& effect);
  // All from here on with mutex_ held, but for timer_loop() and on_effect(), which take it.
  void open_gate(const v1::Effect& effect, const v1::EffectPod& place);
  // Ends the pod. Any cause but a cancellation is a complaint.
  void evict(const v1::Effect& effect, const v1::EffectPod& place);
  void plan(const Pod& pod, Step step, std::int64_t at_ms);
  // An API pod whose hold has ended by now does not bind.
  void run_step(const std::string& key, Step step);
  void end_pod(Pod& pod, v1::Cause cause);
  void answer_start(const std::string& key, const std::string& refused);
  std::int64_t duration_of(const Pod& pod) const;
  static std::string key_of(const v1::Effect& effect, const v1::EffectPod& place);

  Door& door_;
  const std::vector<v1::NodeSpec> nodes_;
  const Pace pace_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Pod> pods_;
  std::map<std::string, std::int64_t> durations_, limits_;
  std::multimap<std::int64_t, Due> due_;  // by wall time
  std::vector<std::string> complaints_;
  Counts counts_;
  std::uint64_t order_ = 0;
  bool stopping_ = false;

  bool listening_ = false;  // events are sent; else the next list has them
  bool is_heard_ = false;   // the service has acknowledged something of this stream
  std::uint64_t sequence_ = 0, list_end_ = 0;
  std::deque<v1::ObserveRequest> outbox_;
  std::map<std::uint64_t, std::string> ends_sent_;   // by sequence, the pod
  std::map<std::uint64_t, std::string> binds_sent_;  // by sequence, the pod that waits to start
  std::set<std::uint64_t> may_be_late_;  // a refusal of these only means that the service knew
  grpc::ClientContext* effects_context_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace subak::demo
