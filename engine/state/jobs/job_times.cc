#include "engine/state/jobs/job_times.h"

#include <cstddef>

#include "core/must.h"

namespace subak::state {

const JobTimes::Order& JobTimes::dues(ClusterId cluster) const {
  static const Order none;
  const auto it = dues_.find(cluster);
  return it == dues_.end() ? none : it->second;
}

void JobTimes::set_deadline(Job& job, TimeMs until_ms) {
  must(until_ms == 0 || job.active() || job.waits(), "who runs or is done has no deadline");
  if (job.until_ms != 0) {
    must(deadlines_.erase({job.until_ms, job.id}) == 1, "deadlines are indexed");
  }
  job.until_ms = until_ms;
  if (until_ms != 0) deadlines_.insert({until_ms, job.id});
}

void JobTimes::set_end(Job& job, TimeMs end_ms, TimeMs due_ms) {
  must(due_ms <= end_ms, "an end is looked at before it is past");
  if (end_ms == 0 && job.of_run == nullptr) return;
  Run& run = job.make_run();
  run.end_ms = end_ms;
  if (run.due_ms == due_ms) return;
  Order& dues = dues_[job.id.cluster()];
  if (run.due_ms != 0) must(dues.erase({run.due_ms, job.id}) == 1, "ends are indexed");
  run.due_ms = due_ms;
  if (due_ms != 0) dues.insert({due_ms, job.id});
}

void JobTimes::check(const JobTable& jobs) const {
  std::size_t deadlines = 0, ends = 0, due = 0;
  for (const auto& [id, job] : jobs.all()) {  // any order: each is judged by itself
    const TimeMs due_ms = job.run().due_ms;
    must(job.until_ms == 0 || deadlines_.contains({job.until_ms, id}), "deadlines are indexed");
    must(due_ms == 0 || dues(id.cluster()).contains({due_ms, id}), "ends are indexed");
    deadlines += job.until_ms != 0 ? 1 : 0;
    ends += due_ms != 0 ? 1 : 0;
  }
  for (const auto& [cluster, order] : dues_) due += order.size();
  must(deadlines == deadlines_.size() && ends == due, "no other time is indexed");
}

}  // namespace subak::state
