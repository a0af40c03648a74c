// Makes the edge's writes to the API server, such as opened gates and evictions
// (server/edge/writes/plan.h), and handles refusals. Writes reports a refusal to the core, to the
// log and to users.
//
// Writes owns the Writer with the open calls, and the counts of done and refused writes. Threads:
// the edge's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/limits.h"
#include "server/edge/cluster/edge_context.h"
#include "server/edge/cluster/edge_session.h"
#include "server/edge/cluster/notices.h"
#include "server/edge/writes/write_queue.h"
#include "server/edge/writes/writer.h"

namespace subak {

// The writes of one edge. While the session follows, each turn of the edge calls the functions down
// to turn().
class Writes {
 public:
  // All arguments must outlive this object.
  Writes(EdgeContext& context, EdgeSession& session, WriteQueue& queue, Notices& notices);
  Writes(const Writes&) = delete;
  Writes& operator=(const Writes&) = delete;

  // Reports the release of a pod as failed if the scheduler has found no node for the pod for
  // limits::kUnschedulableMs.
  void report_unschedulable();
  // Reports each pod that has been not Ready for longer than the policy allows
  // (GangSettings::ready_within_ms), and repeats the report once a minute while the pod is not
  // Ready.
  void report_not_ready();
  // Finds the parked owners to resume without a turn, once a second: those whose controller ignores
  // the suspension, and those whose namespace is no longer in mode enforce. Also tells users about
  // owners that were parked too often.
  void look_at_parked();
  // Begins the next writes of the queue. Call it while EdgeSession::follows().
  void turn();

  // True if limits::kMaxEdgeWrites writes are open, so that no further write may begin.
  bool is_full() const { return writer_.under_way() >= limits::kMaxEdgeWrites; }
  // Returns the writer, for writes that follow from no effect.
  // Call begin() only if is_full() is false.
  Writer& writer() { return writer_; }

  using Counts = std::array<std::uint64_t, EnumText<WriteKind>::names.size()>;
  // The number of writes that succeeded, by kind.
  const Counts& done() const { return done_; }
  // The number of writes that were given up after refusals, by the API server's reason. A write
  // without a reason counts by its outcome.
  const std::map<std::string, std::uint64_t>& refused() const { return refused_; }
  // The number of gates that the edge opened on pods that Subak does not manage.
  std::uint64_t opened_outside() const { return opened_outside_; }

 private:
  // Reports a refusal to the core and to the log. False: the core accepts no input now. `job`: the
  // job whose release is given up; an empty id: none.
  bool say_refused(const std::string& uid, JobId job, Cause cause, const std::string& words);
  // Reports a refused eviction or suspension. The job holds its GPUs until its pods are gone.
  // False: the core accepts no input now.
  bool say_end_refused(const KubeWrite& write, const std::string& words);
  // Reports as refused the evictions that the plan leaves out (Plan::withheld): each of them would
  // use up the last failure that its Job may have.
  void report_withheld();
  // Stops the Fence from waiting for a mark that the API server refuses. The mark belongs on a pod
  // whose hold was released.
  void mark_refused(const KubeWrite& write, const std::string& words);
  // Writes to the log that a ComputeDomain cannot be deleted. The edge tries again.
  void drop_refused(const KubeWrite& write, const std::string& words);
  // Reports to the core and to users that the release of a pod failed, and drops the planned
  // writes. The core then releases the hold. `job`: the job whose release is given up; an empty id
  // if the scheduler refuses the pod.
  void give_up(const std::string& uid, JobId job, Cause cause, const std::string& words);
  // Returns the callbacks of the Writer.
  WriterHooks hooks();

  EdgeContext& context_;
  EdgeSession& session_;
  WriteQueue& queue_;
  Notices& notices_;
  Writer writer_;
  // The number of writes done, by WriteKind.
  Counts done_{};
  // The result of refused().
  std::map<std::string, std::uint64_t> refused_;
  std::uint64_t opened_outside_ = 0;
  // When report_not_ready() looks at the pods again, in monotonic ms.
  std::int64_t not_ready_due_ms_ = 0;
  // When look_at_parked() looks next, by the monotonic clock.
  std::int64_t parked_due_ms_ = 0;
};

}  // namespace subak
