// The session of an edge with the core: identify the cluster, list all its objects, then follow
// them. Each start begins a session (docs/design/0031). A session that fails ends, and the next one
// begins after a pause.
//
// It owns the phase, the number of the session, the user name at the API server and the pauses
// between sessions. It sends all inputs of the edge, since each names its session. Threads: the
// edge's.
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

// What a session calls as it goes on.
struct SessionHooks {
  // The core has taken the beginning of the list. All watches but that of pods have begun.
  std::function<void(ClusterId)> begun;
  // The core has the complete list: writes may be made.
  std::function<void()> follows;
  // The session ends: forget what belongs to it. The watches have ended already.
  std::function<void()> ended;
};

class EdgeSession {
 public:
  // Both outlive the session.
  EdgeSession(EdgeContext& context, Watches& watches, SessionHooks hooks)
      : context_(context), watches_(watches), hooks_(std::move(hooks)) {}
  EdgeSession(const EdgeSession&) = delete;
  EdgeSession& operator=(const EdgeSession&) = delete;

  // Begins a session if none is on and the pause is over.
  void begin_if_due();
  // Follows pods once the other kinds are listed.
  void begin_pods();
  // Reports the list as complete once all of it was reported and is durable.
  void finish_list();
  // Ends the session. `why` goes to the log and to error(). The next session begins after a pause.
  void end(const std::string& why);
  // Sends an input. False: the core takes nothing now. `done` runs on the edge's thread unless the
  // session has ended meanwhile. `said_at_ms`: Input::said_at_ms.
  bool post(in::Body body, ReplyFn done, TimeMs said_at_ms = 0);

  // The number of the present session, or of the last one.
  std::uint64_t number() const { return number_; }
  // True if no session is on.
  bool is_off() const { return phase_ == Phase::kOff; }
  // True once the core has taken the beginning of the list.
  bool has_begun() const { return phase_ != Phase::kOff && phase_ != Phase::kBegins; }
  // True once the core has the complete list.
  bool follows() const { return phase_ == Phase::kFollows; }
  // The number of inputs without a reply, of all sessions.
  std::size_t posts() const { return posts_; }
  // Why the last session ended; empty once a session follows.
  const std::string& error() const { return error_; }
  // Returns the time until begin_if_due() has work; limits::kLoopMaxWaitMs at most.
  DurationMs due_in() const;

 private:
  // The progress of a session.
  enum class Phase : std::uint8_t {
    // No session is on. The next one begins when it is due.
    kOff,
    // The cluster is identified; list_begin is pending.
    kBegins,
    // Lists all nodes, namespaces and owners.
    kNodes,
    // Then lists pods.
    kPods,
    // list_complete is pending.
    kEnds,
    // The cache is complete. Writes are made.
    kFollows,
  };

  // Reads the uid of the namespace kube-system, which identifies the cluster.
  void begin();
  // Asks the API server for the service's user name there. Without an answer the session goes on.
  void ask_who(const std::string& uid);
  // Reports the beginning of the list to the core, with a new session number.
  void begin_list(const std::string& uid);

  EdgeContext& context_;
  Watches& watches_;
  const SessionHooks hooks_;
  Phase phase_ = Phase::kOff;
  // When the next session may begin, monotonic.
  std::int64_t begin_due_ms_ = 0;
  // When the last session began to follow, monotonic.
  std::int64_t follows_since_ms_ = 0;
  // It begins again after a session that followed for limits::kSteadyWatchMs.
  Backoff backoff_;
  // The limit on sessions. It continues from session to session.
  RequestPace pace_{limits::kMaxSessionStarts};
  // As number(); 0: there was no session.
  std::uint64_t number_ = 0;
  // The user name at the API server; empty: not reported.
  std::string known_as_;
  // As posts().
  std::size_t posts_ = 0;
  std::string error_;
};

}  // namespace subak
