// Tells users what happens to their pods and jobs, by Events on pods and owners, and by the status
// of waiting pods. Notices decides which Events to record, with which text and when. EventRecorder
// sends them. Waiting stores what users already know about waiting jobs.
//
// Notices owns EventRecorder and Waiting, and the record of announced starts. Threads: the edge's
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/events/budget_notices.h"
#include "server/edge/events/domain_notices.h"
#include "server/edge/events/event_recorder.h"
#include "server/edge/events/waiting.h"
#include "server/edge/writes/plan.h"

namespace subak {

// The notices of one edge. The tell_...() functions only queue Events; each turn of the edge calls
// turn() to send them.
class Notices {
 public:
  // `context` and `session` outlive the object.
  Notices(EdgeContext& context, const EdgeSession& session);
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Records an Event on the pod and on its owner, if it has one.
  void tell_pod(const std::string& uid, const char* reason, const char* action,
                const std::string& note, bool warning);
  // Records an Event on an owner. Does nothing if the cache does not have it.
  void tell_owner(const std::string& uid, const char* reason, const char* action,
                  const std::string& note, bool warning);
  // Records that the GPUs of the pod's job are idle. Does nothing unless the pod's namespace has
  // the mode enforce: in the other modes, Subak writes nothing.
  void tell_idle(const std::string& uid, const std::string& note);
  // Records that an account has spent a part of a budget, on its namespaces with the mode enforce.
  void tell_budget(BudgetNotice notice) { budgets_.tell(std::move(notice)); }
  // Records a write that the API server has accepted.
  void tell_written(const KubeWrite& write);
  // Records that the pod belongs to no job yet, because too many pods wait. `words` is the core's
  // message, which names the account that has too many waiting pods.
  void tell_put_off(const std::string& uid, const std::string& words);
  // Examines the next page of waiting jobs, if it is due.
  void look_at_waiting();
  // Records the nodes of ComputeDomains that stay not ready. Call it in each turn.
  void look_at_domains() { domains_.look(context_.ports.monotonic_ms()); }
  // The number of nodes of ComputeDomains that stay not ready.
  std::size_t late_domain_nodes() const { return domains_.late(); }
  // Asks the follower for the namespaces of accounts with spent budgets. Call it in each turn.
  void look_at_budgets() { budgets_.turn(); }
  // Sends as many Events as the rate allows. `writes_full`: writes such as gate patches use all
  // their connections. Events then wait, unless their queue is half full and would soon drop some.
  void turn(bool writes_full);
  // Returns the time until turn() has work, at most limits::kLoopMaxWaitMs.
  DurationMs due_in(bool writes_full) const;
  // Forgets what users know about waiting jobs. Call it when the session has ended.
  void forget() { waiting_.forget(); }
  // The number of Events sent.
  std::uint64_t sent() const { return recorder_.sent(); }

 private:
  // Records that an owner was resumed, and why.
  void tell_resumed(const KubeWrite& write);
  // Records that a preempted job's owner was suspended: on the owner, and on one of its pods.
  void tell_suspended(const KubeWrite& write, const std::string& note);
  // True if the Events may use a connection now.
  bool may_send(bool writes_full) const { return !writes_full || recorder_.is_crowded(); }

  EdgeContext& context_;
  const EdgeSession& session_;
  EventRecorder recorder_;
  Waiting waiting_;
  DomainNotices domains_;
  BudgetNotices budgets_;
  // By job: the last attempt with an Event about its start.
  // So an attempt gets one such Event, not one for each pod.
  std::map<JobId, std::uint32_t> announced_starts_;
  // True: a page of waiting jobs is being read.
  bool looking_ = false;
  // When the next page of waiting jobs is due, by the monotonic clock.
  std::int64_t look_due_ms_ = 0;
};

}  // namespace subak
