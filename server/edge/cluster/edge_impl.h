// The parts of an edge, for its two files. edge.cc has sessions and updates for the core.
// edge_writes.cc has the core's effects and the Events for users.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/client/client.h"
#include "server/edge/client/reflector.h"
#include "server/edge/client/request_pace.h"
#include "server/edge/cluster/edge.h"
#include "server/edge/cluster/event_recorder.h"
#include "server/edge/cluster/plan.h"
#include "server/edge/cluster/waiting.h"
#include "server/edge/cluster/writer.h"
#include "threads/mutex.h"

namespace subak {

// Tasks from other threads for the edge's thread. It outlives the edge while a reply is pending.
class Inbox {
 public:
  using Task = std::function<void()>;
  explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void put(Task task) {
    const MutexLock lock(mutex_);
    if (!wake_) return;
    tasks_.push_back(std::move(task));
    wake_();
  }
  void wake() {
    const MutexLock lock(mutex_);
    if (wake_) wake_();
  }
  std::vector<Task> take() {
    const MutexLock lock(mutex_);
    return std::exchange(tasks_, {});
  }
  void close() {
    const MutexLock lock(mutex_);
    wake_ = nullptr;
    tasks_.clear();
  }

 private:
  Mutex mutex_;
  std::function<void()> wake_;
  std::vector<Task> tasks_;
};

// The progress of a session.
enum class Phase : std::uint8_t {
  kOff,      // begins when due
  kBegins,   // list_begin is pending
  kNodes,    // lists all nodes, namespaces and owners
  kPods,     // then lists pods
  kEnds,     // list_complete is pending
  kFollows,  // the cache is complete; writes are made
};

struct Edge::Impl {
  Impl(EdgeOptions o, EdgePorts p, std::unique_ptr<KubeApi> a)
      : options(std::move(o)),
        ports(std::move(p)),
        api(std::move(a)),
        cache(options.cluster, options.extra_gpu_resources, options.other_schedulers,
              options.fatal_conditions, options.topology_labels) {}

  // --- any thread
  EdgeStats read_stats() const {
    const MutexLock lock(stats_mutex);
    return stats;
  }

  // --- the edge's thread
  void run();
  void turn();
  DurationMs patience() const;
  void begin_session();
  void ask_who(const std::string& uid);
  void begin_list(const std::string& uid);
  void session_begun(const Reply& reply);
  void end_session(const std::string& why);
  void follow_nodes();
  void follow_namespaces();
  void read_leases();
  void read_outdated();
  void put_off_outdated(const std::string& uid, DurationMs at_least);
  void follow_leases();
  void read_outdated_nodes();
  void follow_owners();
  void begin_pods();
  void follow_pods();
  void finish_list();
  void subscribe(ClusterId id);
  bool post(in::Body body, ReplyFn done, TimeMs said_at_ms = 0);
  TimeMs said_at(const News& news) const;
  void tell();
  std::uint64_t pods_version() const;
  void say_until();
  void on_reply(const News& news, const Reply& reply);
  void put_off_pod(const std::string& uid, const std::string& words);
  void tell_put_off();
  void take_effects();
  void want(Effect effect, std::uint64_t order);
  void confirm();
  void report_unschedulable();
  bool say_refused(const std::string& uid, Cause cause, const std::string& words);
  void say_end_refused(const KubeWrite& write, const std::string& words);
  void mark_refused(const KubeWrite& write, const std::string& words);
  void give_up(const std::string& uid, JobId job, Cause cause, const std::string& words);
  void write();
  void write_done(const KubeWrite& write);
  void tell_pod(const std::string& uid, const char* reason, const char* action,
                const std::string& note, bool warning);
  bool may_tell() const;
  void tell_owner(const std::string& uid, const char* reason, const char* action,
                  const std::string& note, bool warning);
  void look_at_waiting();
  bool is_stray(const std::string& uid, const ClusterView& cluster) const;
  void find_strays(const ClusterView& cluster);
  void open_strays();
  void publish();
  std::vector<Reflector*> reflectors() const;
  std::unique_ptr<Reflector> follow(const char* path, ReflectorSink sink);
  WriterHooks hooks();

  const EdgeOptions options;
  const EdgePorts ports;
  const std::unique_ptr<KubeApi> api;  // destroyed after the users of its calls and watches
  ClusterCache cache;
  Phase phase = Phase::kOff;
  std::int64_t begin_due_ms = 0;
  std::int64_t follows_since_ms = 0;
  Backoff backoff;  // of sessions
  // Limits on requests to the API server. They continue from session to session.
  RequestPace session_pace{limits::kMaxSessionStarts};
  RequestPace page_pace{limits::kMaxPageRequests};
  std::map<std::string, RequestPace> kind_paces;  // by path
  Backoff outdated_backoff;                       // of reads of single pods
  std::int64_t outdated_due_ms = 0;
  std::uint64_t session = 0;
  std::string known_as;                  // user name at the API server; empty: not reported
  std::set<std::string> reading_leases;  // nodes whose lease is being read
  std::size_t posts = 0;                 // pending
  TimeMs heard_ms = 0;                   // when the watch of pods last reported
  TimeMs nodes_heard_ms = 0;             // when the watch of nodes did
  TimeMs list_began_ms = 0;              // of pods
  TimeMs said_until_ms = 0;              // the part of that which the core knows
  std::string error;

  std::shared_ptr<Inbox> inbox;
  std::shared_ptr<EffectStream> effects;
  WantedJobs wanted;
  Fence fence;
  std::uint64_t last_order = 0;
  bool confirming = false;
  std::int64_t confirm_due_ms = 0;
  std::deque<KubeWrite> planned;
  std::int64_t plan_due_ms = 0;
  bool replan = false;
  std::array<std::uint64_t, EnumText<WriteKind>::names.size()> writes{};
  std::map<std::string, std::uint64_t> refused;
  std::uint64_t not_taken = 0, lists_before = 0;
  std::deque<std::string> put_off;  // pods that the core has no room for, first in first out
  std::size_t put_off_at_once = limits::kPutOffRetries;
  bool put_off_again = false;  // it refused one of those sent again last
  std::int64_t put_off_due_ms = 0;
  std::string said_unreadable;  // in the log

  mutable Mutex stats_mutex;
  EdgeStats stats;
  std::atomic<bool> stopping{false};
  std::thread thread;

  std::unique_ptr<Reflector> nodes, namespaces, pods, leases;
  std::vector<std::unique_ptr<Reflector>> owners;
  std::unique_ptr<Writer> writer;
  std::unique_ptr<EventRecorder> recorder;
  std::unique_ptr<Waiting> waiting;
  std::deque<std::string> strays;  // pods whose gates are to be opened unpinned, first in first out
  bool finding_strays = false;
  std::int64_t stray_due_ms = 0;
  std::uint64_t opened_outside = 0;
  std::map<JobId, std::uint32_t> announced_starts;  // attempts with a recorded Event
  bool looking = false;
  std::int64_t look_due_ms = 0;
};

}  // namespace subak
