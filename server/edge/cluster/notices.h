// Tells users what happens to their pods and jobs: Events on pods and owners, and the status of
// pods that wait. It chooses the words and the moments; EventRecorder sends, and Waiting remembers
// what was said of jobs that wait.
//
// It owns both, and the starts that were announced. Threads: the edge's.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/events/event_recorder.h"
#include "server/edge/events/waiting.h"
#include "server/edge/writes/plan.h"

namespace subak {

class Notices {
 public:
  // Both outlive it.
  Notices(EdgeContext& context, const EdgeSession& session);
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Records an Event on the pod and on its owner, if it has one.
  void tell_pod(const std::string& uid, const char* reason, const char* action,
                const std::string& note, bool warning);
  // Records an Event on an owner. Does nothing if the cache does not have it.
  void tell_owner(const std::string& uid, const char* reason, const char* action,
                  const std::string& note, bool warning);
  // Records a write that the API server has accepted.
  void tell_written(const KubeWrite& write);
  // Records that the pod belongs to no job yet, because too many pods wait. `words` says whose.
  void tell_put_off(const std::string& uid, const std::string& words);
  // Examines the next page of jobs that wait, if it is due.
  void look_at_waiting();
  // Sends what the rate allows. `writes_full`: the writes use all connections that they may use;
  // then it sends only if the queue of Events is crowded.
  void turn(bool writes_full);
  // Returns the time until turn() has work; limits::kLoopMaxWaitMs at most.
  DurationMs due_in(bool writes_full) const;
  // The session has ended: forgets what was said of jobs that wait.
  void forget() { waiting_.forget(); }
  // The number of Events sent.
  std::uint64_t sent() const { return recorder_.sent(); }

 private:
  // True if the Events may use a connection now.
  bool may_send(bool writes_full) const { return !writes_full || recorder_.is_crowded(); }

  EdgeContext& context_;
  const EdgeSession& session_;
  EventRecorder recorder_;
  Waiting waiting_;
  // By job: the attempt whose start was recorded last, so that one Event is for all its pods.
  std::map<JobId, std::uint32_t> announced_starts_;
  // A page is being read.
  bool looking_ = false;
  // When the next page is due, monotonic.
  std::int64_t look_due_ms_ = 0;
};

}  // namespace subak
