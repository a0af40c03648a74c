// The session of an edge with the core (the engine that decides). The session identifies the
// cluster and lists all objects. Once the core has the complete list, the session follows: it sends
// each change to the core. Each start of the edge begins a session (docs/design/0031). A session
// that fails ends, and the next one begins after a pause.
//
// EdgeSession owns the phase, the number of the session, the user name at the API server and the
// pauses between sessions. EdgeSession sends all inputs of the edge, since each input names its
// session. Threads: the edge's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/limits.h"
#include "server/edge/client/backoff.h"
#include "server/edge/client/request_pace.h"
#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/watches.h"

namespace subak {

// The functions that a session calls as it proceeds.
struct SessionHooks {
  // Called when the core has accepted the beginning of the list. Before this call, the session has
  // begun to follow all kinds of objects except nodes and pods.
  std::function<void(ClusterId)> begun;
  // Called when the core has the complete list, so that the edge may write to the API server.
  std::function<void()> follows;
  // Called when the session ends; the watches have ended already. The function must drop all data
  // of the session.
  std::function<void()> ended;
};

// The sessions of one edge, one after the other. Each turn of the edge calls begin_if_due(),
// begin_pods() and finish_list(), in this order.
class EdgeSession {
 public:
  // `context` and `watches` outlive the session.
  EdgeSession(EdgeContext& context, Watches& watches, SessionHooks hooks)
      : context_(context), watches_(watches), hooks_(std::move(hooks)) {}
  EdgeSession(const EdgeSession&) = delete;
  EdgeSession& operator=(const EdgeSession&) = delete;

  // Begins a session if there is none and the pause is over.
  void begin_if_due();
  // If all other kinds are listed, begins the watch that lists pods. Else it does nothing.
  void begin_pods();
  // If all objects of the list are durable in the core, reports the list as complete. Else it does
  // nothing.
  void finish_list();
  // Ends the session. `why` goes to the log and to error(). The next session begins after a pause.
  void end(const std::string& why);
  // Sends an input. False: the core accepts no input now, and `done` never runs. Else `done` gets
  // the reply on the edge's thread, unless the session has ended meanwhile. `said_at_ms`: the
  // present time of the clock that set the times in `body`, such as the clock of a node; 0: not
  // known. The core corrects the times in `body` by the difference between `said_at_ms` and its own
  // time.
  bool post(in::Body body, ReplyFn done, TimeMs said_at_ms = 0);

  // The number of the last session whose list began; 0: there was none. A new session gets its
  // number when its list begins.
  std::uint64_t number() const { return number_; }
  // True if no session is on.
  bool is_off() const { return phase_ == Phase::kOff; }
  // True once the core has accepted the beginning of the list.
  bool has_begun() const { return phase_ != Phase::kOff && phase_ != Phase::kBegins; }
  // True once the core has the complete list.
  bool follows() const { return phase_ == Phase::kFollows; }
  // The number of inputs without a reply, of all sessions.
  std::size_t posts() const { return posts_; }
  // Why the last session ended; empty after a session began to follow.
  const std::string& error() const { return error_; }
  // Returns the time until begin_if_due() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in() const;

 private:
  // The progress of a session.
  enum class Phase : std::uint8_t {
    // There is no session. The next one begins when it is due.
    kOff,
    // The session identifies the cluster, then sends list_begin and waits for the answer.
    kBegins,
    // The session lists all nodes, namespaces and owners.
    kNodes,
    // The session lists pods.
    kPods,
    // The session has sent list_complete and waits for the answer.
    kEnds,
    // The cache is complete, and the edge makes writes.
    kFollows,
  };

  // Reads the uid of the namespace kube-system, which identifies the cluster.
  void begin();
  // Asks the API server for the service's user name there. Then it calls begin_list(uid), even if
  // no name was learnt.
  void ask_who(const std::string& uid);
  // Reports the beginning of the list to the core, with a new session number. `uid`: the one that
  // begin() read; empty: the cluster has no namespace kube-system.
  void begin_list(const std::string& uid);

  EdgeContext& context_;
  Watches& watches_;
  const SessionHooks hooks_;
  Phase phase_ = Phase::kOff;
  // When the next session may begin, by the monotonic clock.
  std::int64_t begin_due_ms_ = 0;
  // When the last session began to follow, by the monotonic clock.
  std::int64_t follows_since_ms_ = 0;
  // The pauses between sessions. The pauses are short again after a session that followed for
  // limits::kSteadyWatchMs.
  Backoff backoff_;
  // Limits how often sessions begin. A new session does not reset this limit.
  RequestPace pace_{limits::kMaxSessionStarts};
  // The result of number().
  std::uint64_t number_ = 0;
  // The user name at the API server; empty: it was not reported to the core.
  std::string known_as_;
  // The result of posts().
  std::size_t posts_ = 0;
  std::string error_;
};

}  // namespace subak
