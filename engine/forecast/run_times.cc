#include "engine/forecast/run_times.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/must.h"
#include "engine/state/planned_end.h"

namespace subak::derive {
namespace {

using state::Job;

// The mean of the last two runs: of their run times, and of their parts of their limits.
class LastTwo {
 public:
  void add(DurationMs ran_ms, DurationMs limit_ms) {
    must(ran_ms > 0 && limit_ms >= 0, "an ended run took time");
    ran_.add(static_cast<double>(ran_ms));
    if (limit_ms != 0) part_.add(static_cast<double>(ran_ms) / static_cast<double>(limit_ms));
  }
  // The prediction for a job with this limit; 0: it has none.
  DurationMs run_ms(DurationMs limit_ms) const {
    const bool by_part = limit_ms != 0 && part_.last;
    return static_cast<DurationMs>(by_part ? static_cast<double>(limit_ms) * part_.mean()
                                           : ran_.mean());
  }

 private:
  struct Values {
    std::optional<double> last, before;
    void add(double value) {
      before = last;
      last = value;
    }
    double mean() const {
      must(last.has_value(), "a mean is of some runs");
      return before ? (*before + *last) / 2 : *last;
    }
  };
  Values ran_, part_;
};

class Templates {
 public:
  Templates(const State& s, const std::vector<EndedRun>& ended) {
    for (const EndedRun& run : ended) {
      const ShapeId shape = s.fleet().shapes().find(run.cluster, *run.asked);
      if (!shape) continue;  // no present job has this request
      by_name_[{run.leaf, shape, run.name}].add(run.ran_ms, run.limit_ms);
      by_shape_[{run.leaf, shape}].add(run.ran_ms, run.limit_ms);
    }
  }
  std::optional<DurationMs> of(const Job& job) const {
    const ShapeId shape = job.shape;
    if (const auto it = by_name_.find({job.leaf, shape, state::without_digits(job.name)});
        it != by_name_.end()) {
      return it->second.run_ms(job.time_limit_ms);
    }
    if (const auto it = by_shape_.find({job.leaf, shape}); it != by_shape_.end()) {
      return it->second.run_ms(job.time_limit_ms);
    }
    return std::nullopt;
  }

 private:
  std::map<std::tuple<AccountId, ShapeId, std::string>, LastTwo> by_name_;
  std::map<std::pair<AccountId, ShapeId>, LastTwo> by_shape_;
};

// Returns the job's time limit, or else the default that an operator chose. 0: neither is set.
DurationMs said_length(const State& s, const Job& job) {
  if (job.time_limit_ms != 0) return job.time_limit_ms;
  const DurationMs usual = state::default_limit(s, job.leaf);
  return usual == limits::kGuessedRunMs ? 0 : usual;
}

RunTime run_time(const State& s, const Templates& templates, const Job& job, TimeMs t) {
  const TimeMs started_ms = job.run().started_ms;
  const DurationMs past = started_ms == 0 ? 0 : t - started_ms;
  must(past >= 0 && job.state != JobState::kDone, "a live job began by now");
  if (job.state == JobState::kEnding) return {past + limits::kEndingMs};
  const DurationMs said = said_length(s, job);
  const std::optional<DurationMs> like_it = templates.of(job);
  // At least 1 ms: a small part of a short limit may round to 0, and doubling 0 stays 0.
  DurationMs run =
      std::max<DurationMs>(1, like_it.value_or(said != 0 ? said : limits::kGuessedRunMs));
  if (state::trusts_limit(s, job)) run = std::min(run, job.time_limit_ms);
  while (run <= past) run *= 2;
  if (state::enforces_limit(s, job)) {
    run = std::min(run, state::planned_end(s, job, t - past, 0) - (t - past));
  }
  return {std::max(run, past), said == 0 && !like_it};
}

}  // namespace

std::vector<EndedRun> ended_runs(const State& s) {
  std::vector<const Job*> done;
  for (const JobId id : s.jobs().table().done()) {
    const Job& job = s.jobs().at(id);
    if (job.asked && job.ran_its_course()) done.push_back(&job);
  }
  std::sort(done.begin(), done.end(), [](const Job* a, const Job* b) {
    return std::tie(a->run().ended_ms, a->id) < std::tie(b->run().ended_ms, b->id);
  });
  std::vector<EndedRun> out;
  out.reserve(done.size());
  std::transform(done.begin(), done.end(), std::back_inserter(out), [](const Job* job) {
    const state::Run& run = job->run();
    must(run.ended_ms > run.started_ms, "a run that counts took time");
    return EndedRun{job->leaf,
                    job->id.cluster(),
                    state::without_digits(job->name),
                    job->asked,
                    run.ended_ms - run.started_ms,
                    job->time_limit_ms};
  });
  return out;
}

RunTimes run_times(const State& s, const std::vector<EndedRun>& ended, TimeMs t) {
  const Templates templates(s, ended);
  RunTimes out;
  out.reserve(s.jobs().table().all().size() - s.jobs().sets().count(JobState::kDone));
  for (const auto& [id, job] : s.jobs().table().all()) {  // any order: each by itself
    if (job.state != JobState::kDone) out.emplace(id, run_time(s, templates, job, t));
  }
  must(out.size() + s.jobs().sets().count(JobState::kDone) == s.jobs().table().all().size(),
       "each job that is not done has a run time");
  return out;
}

RunTimes run_times(const State& s, TimeMs t, const std::vector<JobId>& of) {
  const Templates templates(s, ended_runs(s));
  RunTimes out;
  for (const JobId id : of) out.emplace(id, run_time(s, templates, s.jobs().at(id), t));
  return out;
}

}  // namespace subak::derive
