#include "engine/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "engine/forecast/run_times.h"
#include "engine/plan/plan_node.h"
#include "engine/plan/plan_rows.h"

namespace subak::derive {
namespace {

using state::Job;
using state::Reservation;

using DomainKey = std::tuple<ClusterId, std::string, std::string, std::string>;

// The forecast or promised hold of a waiting job.
struct Coming {
  TimeMs start_ms = 0, end_ms = 0;
  bool start_assumed = false, end_assumed = false;
  std::vector<Forecast::Place> places;
};

// The predicted starts, ends and places of all jobs, as of one instant.
class Known {
 public:
  Known(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t) : s_(s), t_(t) {
    std::set<JobId> jobs;
    s.allocations().each_node([&](NodeId /*node*/, std::span<const state::PodPlace> places) {
      for (const state::PodPlace& place : places) jobs.insert(place.job);
    });
    for (const auto& [id, cluster] : s.clusters().all()) {
      for (const Reservation& r : cluster.reservations) jobs.insert(r.job);
    }
    run_times_ = run_times(s, t, {jobs.begin(), jobs.end()});
    for (const Forecast::Start& start : forecast.starts()) {
      if (asked.cluster && start.job.cluster() != asked.cluster) continue;
      const Job* const job = s.jobs().find(start.job);
      if (job == nullptr || !job->waits()) continue;
      const auto places = forecast.places(start);
      coming_[start.job] = {std::max(t, start.at_ms),
                            std::max(t, start.end_ms),
                            start.assumed,
                            start.run_assumed,
                            {places.begin(), places.end()}};
    }
    for (const auto& [id, cluster] : s.clusters().all()) {
      if (asked.cluster && id != asked.cluster) continue;
      for (const Reservation& r : cluster.reservations) promise(r);
    }
  }

  // The predicted end of a job that holds something.
  TimeMs end(JobId id) const {
    const TimeMs started_ms = s_.jobs().at(id).run().started_ms;
    must(started_ms <= t_, "a job that holds something began by now");
    return std::max(t_ + 1, (started_ms != 0 ? started_ms : t_) + run_times_.at(id).ms);
  }
  bool is_end_assumed(JobId id) const { return run_times_.at(id).assumed; }
  const std::map<JobId, Coming>& coming() const { return coming_; }
  const Coming* coming(JobId id) const {
    const auto it = coming_.find(id);
    return it == coming_.end() ? nullptr : &it->second;
  }

 private:
  // Places the job of the reservation on its reserved nodes, unless the forecast places the job.
  // The job gets the GPUs that it needs at least.
  void promise(const Reservation& r) {
    Coming* coming = nullptr;
    if (const auto it = coming_.find(r.job); it != coming_.end()) {
      coming = &it->second;
    } else if (r.start_ms < state::kNever) {
      const TimeMs start_ms = std::max(t_, r.start_ms);
      coming = &coming_[r.job];
      const RunTime& run = run_times_.at(r.job);
      *coming = {start_ms, start_ms + run.ms, false, run.assumed, {}};
    }
    if (coming == nullptr || !coming->places.empty()) return;
    MilliGpu left = state::least_milligpu(s_.fleet(), s_.jobs().at(r.job));
    for (const NodeId node : r.nodes) {
      const NodeSpec* const spec = s_.fleet().node(node);
      if (spec == nullptr || left == 0) continue;
      const MilliGpu has = std::min(left, spec->gpus * kMilliPerGpu);
      must(has >= 0 && has <= left, "a node has a part of what is left");
      coming->places.push_back({node, has});
      left -= has;
    }
  }

  const State& s_;
  const TimeMs t_;
  RunTimes run_times_;
  std::map<JobId, Coming> coming_;  // by job, so that the order on each node is fixed
};

const std::string& rack_of(const NodeSpec& spec) {
  return spec.level(0).empty() ? spec.clique : spec.level(0);
}

bool is_asked_for(const NodeSpec& spec, const std::string& name) {
  return name.empty() || spec.name == name || spec.clique == name ||
         std::find(spec.levels.begin(), spec.levels.end(), name) != spec.levels.end();
}

// True if only Subak's own drain keeps pods from the node.
bool is_only_drained(const State& s, NodeId id) {
  const NodeSpec& spec = *s.fleet().node(id);
  return s.fleet().drained(id) && spec.ready && spec.unfit.empty() && !spec.unschedulable;
}

// Sets the time in which the node takes no pods. If only Subak's drain keeps pods from the node,
// the drain says when this time ends; in all other cases the end is unknown.
void close(const State& s, NodeId id, NodeTime& node) {
  const state::DrainTimes drain = s.nodes().drain_times(id);
  const bool takes_pods = s.fleet().takes_pods(id);
  if (takes_pods && drain.from_ms == 0) return;
  const bool ends = drain.until_ms != 0 && (takes_pods || is_only_drained(s, id));
  node.closed_from_ms = takes_pods ? drain.from_ms : 0;
  node.closed_until_ms = ends ? drain.until_ms : state::kNever;
  must(node.closed_from_ms <= node.closed_until_ms, "a node opens after it closed");
}

// Returns the requested nodes by id, each with the inputs of its timeline.
std::map<NodeId, NodeTime> nodes_by_time(const State& s, const PlanAsked& asked,
                                         const Known& known) {
  std::map<NodeId, NodeTime> out;
  for (const auto& [key, id] : s.nodes().all()) {
    const NodeSpec& spec = *s.fleet().node(id);
    if ((asked.cluster && key.first != asked.cluster) || spec.gpus == 0) continue;
    if (!is_asked_for(spec, asked.domain)) continue;
    NodeTime& node = out[id];
    const NodeLevels levels = s.fleet().levels(id);
    node.installed = levels.installed;
    close(s, id, node);
    node.lost = levels.stranded + spec.unhealthy_gpus * kMilliPerGpu;
    for (const auto& [job, rank] : s.allocations().on(id)) {  // by job
      const MilliGpu milligpu = s.jobs().at(job).pods[rank].slot.milligpu;
      must(node.runs.empty() || !(job < node.runs.back().job), "holds on a node are by job");
      if (node.runs.empty() || node.runs.back().job != job) {
        node.runs.push_back({job, 0, 0, known.end(job)});
      }
      node.runs.back().milligpu += milligpu;
    }
  }
  for (const auto& [job, coming] : known.coming()) {
    for (const Forecast::Place& place : coming.places) {
      const auto it = out.find(place.node);
      if (it == out.end()) continue;
      it->second.coming.push_back({job, place.milligpu, coming.start_ms, coming.end_ms});
    }
  }
  for (const auto& [id, cluster] : s.clusters().all()) {
    for (const Reservation& r : cluster.reservations) {
      const Coming* const coming = known.coming(r.job);
      for (const NodeId node : r.nodes) {
        const auto it = out.find(node);
        if (it == out.end()) continue;
        it->second.reserved_for = r.job;
        it->second.reserved_until_ms = coming != nullptr ? coming->start_ms : state::kNever;
      }
    }
  }
  return out;
}

// Returns the time at which nine of ten known holds have ended and all reserved starts have come.
// If the longest hold counted, a job that runs for days would compress all other jobs into one
// column.
TimeMs known_until(const std::map<NodeId, NodeTime>& nodes, TimeMs t) {
  std::vector<TimeMs> ends{t};
  TimeMs kept = t;
  for (const auto& [id, node] : nodes) {
    for (const NodeTime::Hold& hold : node.runs) ends.push_back(hold.to_ms);
    for (const NodeTime::Hold& hold : node.coming) ends.push_back(hold.to_ms);
    if (node.reserved_until_ms < state::kNever) kept = std::max(kept, node.reserved_until_ms);
  }
  const auto most = ends.begin() + static_cast<std::ptrdiff_t>((ends.size() * 9 + 9) / 10 - 1);
  must(most < ends.end(), "nine of ten are not more than all");
  std::nth_element(ends.begin(), most, ends.end());
  return std::max(*most, kept);
}

// Joins pieces that differ only in their amount.
void join(std::vector<PlanPiece>& pieces) {
  std::sort(pieces.begin(), pieces.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    PlanPiece& last = pieces[kept == 0 ? 0 : kept - 1];
    const PlanPiece& one = pieces[i];
    if (kept > 0 && last.kind == one.kind && last.job == one.job && last.from_ms == one.from_ms &&
        last.to_ms == one.to_ms) {
      last.milligpu += one.milligpu;
    } else {
      pieces[kept++] = one;
    }
  }
  must(kept <= pieces.size(), "joined pieces are not more than before");
  pieces.resize(kept);
}

std::vector<PlanDomain> domains_of(const State& s, const PlanAsked& asked,
                                   const std::map<NodeId, NodeTime>& nodes, TimeMs from_ms,
                                   TimeMs to_ms) {
  std::map<DomainKey, PlanDomain> found;
  for (const auto& [id, node] : nodes) {
    const NodeSpec& spec = *s.fleet().node(id);
    // A request for one domain shows the nodes in it.
    const bool alone = spec.clique.empty() || !asked.domain.empty();
    const ClusterId cluster = s.fleet().cluster_of(id);
    PlanDomain& domain =
        found[{cluster, spec.product, alone ? "node" : "clique", alone ? spec.name : spec.clique}];
    domain.cluster = cluster;
    domain.product = spec.product;
    domain.kind = alone ? "node" : "clique";
    domain.name = alone ? spec.name : spec.clique;
    domain.rack = rack_of(spec);
    must(!domain.name.empty(), "a domain has a name");
    domain.nodes += 1;
    domain.installed += node.installed;
    for (const PlanPiece& piece : pieces_of(node, from_ms, to_ms)) domain.pieces.push_back(piece);
  }
  std::vector<PlanDomain> out;
  for (auto& [key, domain] : found) {
    join(domain.pieces);
    out.push_back(std::move(domain));
  }
  std::stable_sort(out.begin(), out.end(), [](const PlanDomain& a, const PlanDomain& b) {
    if (a.cluster != b.cluster) return a.cluster < b.cluster;
    if (a.product != b.product) return a.product < b.product;
    return is_before(a.name, b.name);
  });
  return out;
}

// --- jobs ----------------------------------------------------------------------------------------

// The jobs of the shown nodes, with their milli-GPU: jobs that run, and jobs for which reserved
// GPUs are idle. `to_come` has the jobs that start on these nodes later.
struct Shown {
  std::map<JobId, MilliGpu> run, idle;
  std::set<JobId> to_come;
};

Shown shown(const std::map<NodeId, NodeTime>& nodes, TimeMs from_ms, TimeMs to_ms) {
  Shown out;
  for (const auto& [id, node] : nodes) {
    MilliGpu left = node.installed;
    for (const NodeTime::Hold& hold : node.runs) {
      out.run[hold.job] += hold.milligpu;
      left -= hold.milligpu;
    }
    for (const NodeTime::Hold& hold : node.coming) {
      if (hold.from_ms < to_ms) out.to_come.insert(hold.job);
    }
    if (!node.reserved_for) continue;
    left = node.is_closed(from_ms) ? 0 : std::max<MilliGpu>(0, left - node.lost);
    out.idle[node.reserved_for] += node.reserved_until_ms > from_ms ? left : 0;
  }
  return out;
}

std::vector<NodeId> nodes_of(const Job& job) {
  std::vector<NodeId> out;
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot()) out.push_back(pod.slot.node);
  }
  return out;
}

std::vector<NodeId> nodes_of(const Coming& coming) {
  std::vector<NodeId> out;
  for (const Forecast::Place& place : coming.places) out.push_back(place.node);
  return out;
}

class JobList {
 public:
  JobList(const State& s, const Known& known, const PlanAsked& asked, FleetPlan& plan)
      : s_(s), known_(known), asked_(asked), plan_(plan) {}

  void add(const Shown& shown) {
    add_first(idle(shown));
    add_first(running(shown));
    add_first(to_come(shown));
  }

 private:
  using Ranked = std::vector<std::pair<std::int64_t, PlanJob>>;  // the smallest number first

  void add_first(Ranked ranked) {
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second.job) < std::tie(b.first, b.second.job);
    });
    const std::size_t shown = std::min(ranked.size(), asked_.jobs);
    must(std::none_of(ranked.begin(), ranked.end(), [](const auto& r) { return !r.second.job; }),
         "each row is of a job");
    plan_.jobs_left_out += ranked.size() - shown;
    for (std::size_t i = 0; i < shown; ++i) plan_.jobs.push_back(whole(ranked[i].second));
  }
  PlanJob whole(PlanJob job) const {
    if (job.kind == PlanKind::kRuns) job.nodes = nodes_of(s_.jobs().at(job.job));
    if (job.kind == PlanKind::kIdle) job.nodes = s_.clusters().reservation_of(job.job)->nodes;
    if (job.kind == PlanKind::kForecast) job.nodes = nodes_of(*known_.coming(job.job));
    std::sort(job.nodes.begin(), job.nodes.end());
    job.nodes.erase(std::unique(job.nodes.begin(), job.nodes.end()), job.nodes.end());
    return job;
  }
  static void take_times(const Coming& coming, PlanJob& job) {
    job.start_ms = coming.start_ms;
    job.end_ms = coming.end_ms;
    job.start_assumed = coming.start_assumed;
    job.end_assumed = coming.end_assumed;
  }
  Ranked idle(const Shown& shown) const {
    Ranked out;
    for (const auto& [id, milligpu] : shown.idle) {
      const Coming* const coming = known_.coming(id);
      PlanJob job;
      job.kind = PlanKind::kIdle;
      job.job = id;
      job.idle = milligpu;
      if (coming != nullptr) take_times(*coming, job);
      out.push_back({coming != nullptr ? coming->start_ms : state::kNever, std::move(job)});
    }
    return out;
  }
  Ranked running(const Shown& shown) const {
    Ranked out;
    for (const auto& [id, milligpu] : shown.run) {
      PlanJob job;
      job.job = id;
      job.start_ms = s_.jobs().at(id).run().started_ms;
      job.end_ms = known_.end(id);
      job.end_assumed = known_.is_end_assumed(id);
      out.push_back({-milligpu, std::move(job)});
    }
    return out;
  }
  Ranked to_come(const Shown& shown) const {
    Ranked out;
    for (const auto& [id, coming] : known_.coming()) {
      if (coming.start_ms >= plan_.until_ms || shown.idle.contains(id)) continue;
      // A start without a known placement belongs to the whole fleet, but to no single domain.
      if (!asked_.domain.empty() && !shown.to_come.contains(id)) continue;
      PlanJob job;
      job.kind = PlanKind::kForecast;
      job.job = id;
      take_times(coming, job);
      out.push_back({coming.start_ms, std::move(job)});
    }
    return out;
  }

  const State& s_;
  const Known& known_;
  const PlanAsked& asked_;
  FleetPlan& plan_;
};

}  // namespace

DurationMs plan_span(DurationMs known_ms) {
  must(known_ms >= 0, "what is known lies ahead");
  for (const DurationMs span :
       {limits::kLeastPlanMs, 15 * kMinuteMs, 20 * kMinuteMs, 30 * kMinuteMs, 45 * kMinuteMs,
        kHourMs, 90 * kMinuteMs, 2 * kHourMs, 3 * kHourMs, 4 * kHourMs, 6 * kHourMs, 8 * kHourMs,
        12 * kHourMs, 18 * kHourMs}) {
    if (known_ms <= span) return span;
  }
  return limits::kPlanAheadMs;
}

FleetPlan plan(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t) {
  const Known known(s, asked, forecast, t);
  const std::map<NodeId, NodeTime> nodes = nodes_by_time(s, asked, known);
  FleetPlan out;
  out.from_ms = t;
  const DurationMs span =
      asked.until_ms == 0 ? plan_span(known_until(nodes, t) - t) : asked.until_ms - t;
  const auto columns = static_cast<DurationMs>(asked.columns);
  must(columns > 0 && span >= 0, "a plan has columns and looks ahead");
  out.step_ms = std::max<DurationMs>(1, (span + columns - 1) / columns);
  out.until_ms = t + columns * out.step_ms;
  must(out.until_ms > t && out.until_ms >= t + span, "a plan shows all of the time ahead");
  add_rows(domains_of(s, asked, nodes, out.from_ms, out.until_ms), asked, out);
  JobList(s, known, asked, out).add(shown(nodes, out.from_ms, out.until_ms));
  return out;
}

}  // namespace subak::derive
