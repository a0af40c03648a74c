// Plays the cluster of the demo (`make demo`) and its edge, for pods of Kubernetes and for API
// jobs. An edge is the program that reports a cluster to the service (stream Observe), and carries
// out the service's commands, called effects (stream Effects). This edge stores pods, opens their
// gates when an effect says so, binds, runs and ends them, and reports each step with its exact
// time. It repeats reports that the service has not acknowledged.
//
// Threads: any may call the methods. Between start() and stop(), the edge has
// three threads of its own.
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

// One pod, or one attempt of a rank of an API job.
// Times are by the wall clock, in ms, except `hold_end_ms`.
struct Pod {
  // The pod's uid. For an API job: "JOB/RANK/ATTEMPT".
  std::string key;
  // The pod as a watch sends it. The uid is empty for API jobs.
  v1::PodRecord record;
  // The job that the last effect on this pod named; empty while the pod is gated.
  std::string job;
  // The attempt of the job in that effect; 0 while the pod is gated.
  int attempt = 0;
  // Node, GPUs and rank in that effect.
  v1::EffectPod place;
  // When its gate was opened, when it was bound, when it began to run, and when it ended; 0:
  // not yet.
  std::int64_t opened_ms = 0, bound_ms = 0, running_ms = 0, ended_ms = 0;
  // The numbers of the opening and the end among all events at the edge; 0: not yet. They give the
  // order even within a millisecond.
  std::uint64_t opened_order = 0, ended_order = 0;
  // For an API job: when the hold ends, by the clock since the machine started (boot_ms()). 0:
  // the hold has no end.
  std::int64_t hold_end_ms = 0;
  // Of an API job: true if the binding was acknowledged.
  bool started = false;
  // True: the pod has begun to run. It stays true after the end.
  bool running = false;
  // True: the service has acknowledged the end, or has refused a repeated report of the end.
  bool end_acknowledged = false;
  // Why the pod ended.
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  // True for a pod of an API job.
  bool from_api() const { return record.uid().empty(); }
  bool opened() const { return opened_ms != 0; }
  bool live() const { return ended_ms == 0; }
};

// The run time of a pod without a time limit. It is at least `shortest_ms`, and up to `spread_ms`
// longer, depending on the name of the pod's job.
struct Pace {
  std::int64_t shortest_ms = 1000;
  std::int64_t spread_ms = 3500;
  // How long a preempted pod keeps running. This simulates the writing of a checkpoint.
  std::int64_t give_back_ms = 0;
};

// The simulated cluster. It keeps its own records of all pods, which the checks compare with the
// service's answers.
class Edge {
 public:
  // Counts since the start of the edge. A pod counts once, however often its effect arrives.
  struct Counts {
    // Pods stored with Subak's gate.
    int gated = 0;
    // Pods that got a node by an effect.
    int placed = 0;
    // Pods that were bound, and pods that have ended.
    int bound = 0, ended = 0;
    // Pods that ended by an effect.
    int evicted = 0;
    // Pods that were asked to give their GPUs back to another job, and those that did so.
    int told = 0, preempted = 0;
    // The number of effects received, with repetitions. `effects_again` counts those that arrived
    // before and changed nothing.
    int effects = 0, effects_again = 0;
    // Lists that the service has acknowledged.
    int lists = 0;
    // The amount that the placed pods hold now.
    std::int64_t live_milligpu = 0;
    // How long the edge's timer stood still because the machine stalled.
    std::int64_t stalled_ms = 0;
  };

  // `door` outlives the edge. `nodes`: the nodes that each list reports, all ready.
  Edge(Door& door, std::vector<v1::NodeSpec> nodes, Pace pace = {})
      : door_(door), nodes_(std::move(nodes)), pace_(pace) {}
  // Call shut() of `door` before, since the threads may wait there.
  ~Edge() { stop(); }
  // Starts the threads. Call it once. If the service is not up yet, the threads wait for it.
  void start();
  // Joins the threads. If the stream does not break, it first writes the reports in the outbox.
  void stop();

  // Stores a created pod.
  // A record with the uid of an earlier one replaces the earlier one, and counts again.
  void store(const v1::PodRecord& record);
  // Sets how long the pods of this job run, instead of a few seconds.
  // `ms`: the time from the beginning of the run. Running pods end after `ms` too, or at once if
  // that time is over. Their run never becomes longer.
  void set_duration(const std::string& job, std::int64_t ms);
  // Sets the time limit of this API job. Pods that are not of the API have their own limit.
  // `ms`: the limit. The pods run for 60 to 90 percent of it, depending on the job's name.
  void set_limit(const std::string& job, std::int64_t ms);
  // True: from now on, preempted pods keep running. False: these pods end one after the other, and
  // pods that are preempted later end as usual.
  void keep_victims(bool keep);
  // Waits until the service has acknowledged this many complete lists since the edge's start.
  // False: that took longer than `timeout_ms`.
  bool wait_lists(int lists, std::int64_t timeout_ms);

  // Returns a copy of the present counts.
  Counts counts() const;
  // True if all pods have ended and no report waits for an acknowledgement.
  // It is also true before the first pod.
  bool idle() const;
  // Returns copies of the pods, sorted by key.
  std::vector<Pod> pods() const;
  // Returns, by pod key, the job for which the pod was asked to give its GPUs back.
  std::map<std::string, std::string> told() const;
  const std::vector<v1::NodeSpec>& nodes() const { return nodes_; }
  // Returns the faults that the edge found: refused events, and effects that make no sense.
  std::vector<std::string> complaints() const;

 private:
  // The next step of a pod.
  // kBind: the scheduler binds the pod, 100 ms after its gate was opened. kRun: its containers
  // start, 150 ms later. kEnd: it has finished. kGiveBack: it ends because it was preempted.
  enum class Step { kBind, kRun, kEnd, kGiveBack };
  using Due = std::pair<std::string, Step>;
  // Events of the open stream that wait for an acknowledgement, by sequence.
  struct Sent {
    // The pod whose end the event reports.
    std::map<std::uint64_t, std::string> ends;
    // The API pod that waits for the answer to start.
    std::map<std::uint64_t, std::string> binds;
    // Events that the service may refuse because it knows them already.
    std::set<std::uint64_t> may_be_late;
  };
  // `stay`: keep_victims(true) is in force. `told`: as told() returns it.
  struct Victims {
    bool stay = false;
    std::map<std::string, std::string> told;
  };

  // edge_streams.cc
  // The work of one thread: opens the Observe stream and reads acknowledgements. If the stream
  // breaks, it opens a new one, until `door_` is shut.
  void observe_loop();
  // Writes the outbox to one stream, until the stream breaks, or until the outbox
  // is empty after stop().
  void write_loop(grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>& stream);
  // The work of one thread: opens the Effects stream and carries out the effects. If the stream
  // breaks, it opens a new one, until `door_` is shut.
  void effects_loop();
  // Takes acknowledgements. If the service refused a binding, the pod ends. The refusal of a late
  // report changes nothing. Any other refusal is a fault.
  void on_ack(const v1::ObserveResponse& ack);
  // Waits a moment before the next attempt. Returns at once if the edge is stopping.
  void pause_unless_stopping();

  // edge_list.cc: the reports at the beginning of a stream; call these with mutex_ held
  // Queues a new list: the nodes, the live pods, and the ends that were not acknowledged.
  void list_all();
  // Reports a live pod, with all its events so far.
  void list_live(const Pod& pod);
  // Reports an ended pod. The service may know the end already.
  void list_ended(const Pod& pod);
  // Queues an event. Does nothing while no stream is open, since the next list contains the event.
  // `ends`: the key of the pod whose end it reports. `may_be_late`: the service may refuse the
  // event as known.
  void send(v1::ObserveRequest event, const std::string& ends = "", bool may_be_late = false);
  // Reports a pod of an API job as bound. The pod starts once this report is acknowledged.
  void ask_to_start(const Pod& pod);
  // Returns the name of a pod in events: its uid, or job, rank and attempt.
  static v1::PodRef ref_of(const Pod& pod);
  // Return the events of the pod, with their times.
  static v1::ObserveRequest bound_event(const Pod& pod);
  static v1::ObserveRequest running_event(const Pod& pod);
  static v1::ObserveRequest gone_event(const Pod& pod);

  // edge.cc
  // The work of one thread: runs the steps that are due. If it wakes more than 2 s late, that
  // counts as a stall of the machine. This function and on_effect() lock mutex_.
  void timer_loop();
  // Carries out an effect, pod by pod.
  void on_effect(const v1::Effect& effect);
  // Gives the pod its node, and plans its binding. Does nothing for a pod that has a node. Call
  // this function and all below with mutex_ held.
  void open_gate(const v1::Effect& effect, const v1::EffectPod& place);
  // Ends the pod. Any cause except a cancellation or a preemption is a fault.
  void evict(const v1::Effect& effect, const v1::EffectPod& place);
  // Notes the first request to give GPUs back, and plans the end of the pod. `claimant`: the job
  // that gets the GPUs.
  void give_back(const Pod& pod, const std::string& claimant);
  // Plans a step. `at_ms`: the time by the wall clock.
  void plan(const Pod& pod, Step step, std::int64_t at_ms);
  // Runs a step. It does not bind an API pod whose hold has ended.
  void run_step(const std::string& key, Step step);
  // Records the end and reports it.
  void end_pod(Pod& pod, v1::Cause cause);
  // Takes the answer to the binding of an API pod. `refused`: why the pod does not start; empty:
  // it starts.
  void answer_start(const std::string& key, const std::string& refused);
  // Returns how long the pod runs, in ms: by set_duration(), by a time limit, or by `pace_`.
  std::int64_t duration_of(const Pod& pod) const;
  // Returns the key of the pod that an effect means.
  static std::string key_of(const v1::Effect& effect, const v1::EffectPod& place);

  Door& door_;
  const std::vector<v1::NodeSpec> nodes_;
  const Pace pace_;

  // Guards all members below except threads_.
  mutable std::mutex mutex_;
  // Signals each change that a thread may wait for.
  std::condition_variable changed_;
  // The pods by key. Ended pods stay.
  std::map<std::string, Pod> pods_;
  // The run time and the time limit of jobs in ms, by job id.
  std::map<std::string, std::int64_t> durations_, limits_;
  // By time of the wall clock: the next steps and their pods.
  std::multimap<std::int64_t, Due> due_;
  std::vector<std::string> complaints_;
  Counts counts_;
  // The number of events at the edge so far.
  std::uint64_t order_ = 0;
  bool stopping_ = false;
  Victims victims_;

  // True: a stream is open and its list was begun, so events are sent.
  bool listening_ = false;
  // True: the service has acknowledged an event of this stream.
  bool is_heard_ = false;
  // `sequence_`: the last event queued for this stream. `list_end_`: the event that ends the
  // stream's list; 0: the list is acknowledged.
  std::uint64_t sequence_ = 0, list_end_ = 0;
  // Events that were not written yet, the oldest first.
  std::deque<v1::ObserveRequest> outbox_;
  Sent sent_;
  // The context of the open Effects stream, so that stop() can cancel the stream; nullptr:
  // none is open.
  grpc::ClientContext* effects_context_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace subak::demo
