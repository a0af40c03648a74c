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
  // As a watch sends it. The uid is empty for API jobs.
  v1::PodRecord record;
  // The job id of its effect; empty while gated.
  std::string job;
  // Of the job, by its effect; 0 while gated.
  int attempt = 0;
  // Node, GPUs and rank, by its effect.
  v1::EffectPod place;
  // When its gate opened, it was bound, ran and ended; 0: not yet.
  std::int64_t opened_ms = 0, bound_ms = 0, running_ms = 0, ended_ms = 0;
  // Numbers of these two events among all events at the edge; 0: not yet.
  std::uint64_t opened_order = 0, ended_order = 0;
  // Of an API job, by boot_ms(); 0: the hold has no end.
  std::int64_t hold_end_ms = 0;
  // Of an API job: its binding was acknowledged.
  bool started = false;
  // It has begun to run. It stays true after the end.
  bool running = false;
  // The service has acknowledged the end, or the refusal of a repeated report of it.
  bool end_acknowledged = false;
  // Why it ended.
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  // True for a pod of an API job.
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
    // Pods stored with Subak's gate.
    int gated = 0;
    // Pods that got a node by an effect.
    int placed = 0;
    // Pods that were bound, and pods that have ended.
    int bound = 0, ended = 0;
    // Pods that ended by an effect.
    int evicted = 0;
    // Effects received. effects_again changed nothing: they came at least once before.
    int effects = 0, effects_again = 0;
    // Lists that the service has acknowledged.
    int lists = 0;
    // What the placed pods hold now.
    std::int64_t live_milligpu = 0;
    // How long this machine stopped the edge's clock.
    std::int64_t stalled_ms = 0;
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

  // Returns a copy of now.
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
  // kBind: the scheduler binds it. kRun: its containers start. kEnd: it has finished.
  enum class Step { kBind, kRun, kEnd };
  using Due = std::pair<std::string, Step>;

  // edge_streams.cc
  // One thread each, until the address is shut(). They open their stream again when it breaks.
  // Opens the Observe stream and reads acknowledgements.
  void observe_loop();
  // Writes the outbox to one stream, until that breaks or stop() has emptied it.
  void write_loop(grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>& stream);
  // Opens the Effects stream and carries out what comes.
  void effects_loop();
  // Handles refusals: of a binding, the pod ends; of a late report, nothing; any other is a
  // complaint.
  void on_ack(const v1::ObserveResponse& ack);
  // Waits a moment before the next attempt. Returns at once when stopping.
  void pause_unless_stopping();

  // edge_list.cc: the reports after a (re)connection; with mutex_ held
  // Begins a new list: the nodes, the live pods, and the ends that were not acknowledged.
  void list_all();
  // Reports a pod that lives, with what has happened to it so far.
  void list_live(const Pod& pod);
  // Reports an ended pod. The service may know the end already.
  void list_ended(const Pod& pod);
  // Queues an event. Does nothing while no stream is open: the next list has it. `ends`: the key of
  // the pod that ends with it. `may_be_late`: the service may refuse it as known.
  void send(v1::ObserveRequest event, const std::string& ends = "", bool may_be_late = false);
  // Reports a pod of an API job as bound. It starts once this is acknowledged.
  void ask_to_start(const Pod& pod);
  // Returns the name of a pod in events: its uid, or job, rank and attempt.
  static v1::PodRef ref_of(const Pod& pod);
  // Return the events for what has happened to the pod, with its times.
  static v1::ObserveRequest bound_event(const Pod& pod);
  static v1::ObserveRequest running_event(const Pod& pod);
  static v1::ObserveRequest gone_event(const Pod& pod);

  // edge.cc
  // Runs steps that are due. A timer that is more than 2 s late counts as a stall of the machine.
  void timer_loop();
  // Carries out an effect, pod by pod.
  void on_effect(const v1::Effect& effect);
  // All from here on with mutex_ held, but for timer_loop() and on_effect(), which take it.
  // Takes a node for the pod, and plans its binding. Does nothing for a pod that has one.
  void open_gate(const v1::Effect& effect, const v1::EffectPod& place);
  // Ends the pod. Any cause but a cancellation is a complaint.
  void evict(const v1::Effect& effect, const v1::EffectPod& place);
  // Plans a step. `at_ms`: wall clock.
  void plan(const Pod& pod, Step step, std::int64_t at_ms);
  // An API pod whose hold has ended by now does not bind.
  void run_step(const std::string& key, Step step);
  // Notes the end and reports it.
  void end_pod(Pod& pod, v1::Cause cause);
  // The binding of an API pod was answered. `refused`: why it does not start; empty: it does.
  void answer_start(const std::string& key, const std::string& refused);
  // Returns how long the pod runs, in ms: by set_duration(), by a time limit, or by `pace_`.
  std::int64_t duration_of(const Pod& pod) const;
  // Returns the key of the pod that an effect means.
  static std::string key_of(const v1::Effect& effect, const v1::EffectPod& place);

  Door& door_;
  const std::vector<v1::NodeSpec> nodes_;
  const Pace pace_;

  // Guards all below, up to threads_.
  mutable std::mutex mutex_;
  // Signals each change that a thread may wait for.
  std::condition_variable changed_;
  // By key. Ended pods stay.
  std::map<std::string, Pod> pods_;
  // By job id, in ms.
  std::map<std::string, std::int64_t> durations_, limits_;
  // By wall time: what happens next, and to which pod.
  std::multimap<std::int64_t, Due> due_;
  std::vector<std::string> complaints_;
  Counts counts_;
  // Events at the edge so far.
  std::uint64_t order_ = 0;
  bool stopping_ = false;

  // A stream is open and its list was begun: events are sent.
  bool listening_ = false;
  // The service has acknowledged something of this stream.
  bool is_heard_ = false;
  // The last event queued for this stream, and that which ends its list; 0: the list is
  // acknowledged.
  std::uint64_t sequence_ = 0, list_end_ = 0;
  // Events that were not written yet, the oldest first.
  std::deque<v1::ObserveRequest> outbox_;
  // By sequence: the pod whose end it reports.
  std::map<std::uint64_t, std::string> ends_sent_;
  // By sequence: the API pod that waits to start.
  std::map<std::uint64_t, std::string> binds_sent_;
  // A refusal of these sequences only means that the service knew.
  std::set<std::uint64_t> may_be_late_;
  // Of the open stream, so that stop() can cancel it; nullptr: none is open.
  grpc::ClientContext* effects_context_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace subak::demo
