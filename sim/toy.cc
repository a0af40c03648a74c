#include "sim/toy.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "core/duration.h"
#include "sim/driver.h"
#include "sim/engine_port.h"
#include "sim/read/rng.h"

namespace subak::sim {
namespace {

constexpr std::int64_t kNodeGpus = 8;
// How many jobs of each team wait. A team never runs out of waiting jobs, because fewer jobs than
// these can end within one millisecond.
constexpr std::int64_t kBacklog = 64;

class ShareError {
 public:
  ShareError(const std::vector<std::int64_t>& shares, std::int64_t gpus, TimeMs from, TimeMs to)
      : gpus_(static_cast<double>(gpus)),
        from_(from),
        to_(to),
        since_(from),
        teams_(shares.size()) {
    const auto all =
        static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}));
    for (std::size_t i = 0; i < shares.size(); ++i) {
      teams_[i].share = static_cast<double>(shares[i]) / all;
    }
  }
  // The state was unchanged from the last call until `t`.
  void stood_until(TimeMs t, const std::vector<std::int64_t>& running) {
    t = std::min(t, to_);
    while (since_ < t) {
      const TimeMs hour_end = from_ + ((since_ - from_) / kHourMs + 1) * kHourMs;
      const TimeMs next = std::min(t, hour_end);
      add(static_cast<double>(next - since_), running);
      since_ = next;
      if (next == hour_end) close_hour();
    }
  }
  ToyResult worst() const {
    ToyResult r;
    const auto length = static_cast<double>(to_ - from_);
    for (const Team& team : teams_) {
      r.mean = std::max(r.mean, 100 * team.error / length);
      r.max = std::max(r.max, 100 * team.max);
      if (hours_ > 0) {
        r.hour_mean = std::max(r.hour_mean, 100 * team.hour_errors / static_cast<double>(hours_));
      }
    }
    return r;
  }

 private:
  struct Team {
    double share = 0, error = 0, max = 0, hour = 0, hour_errors = 0;
  };
  void add(double length, const std::vector<std::int64_t>& running) {
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      const double part = static_cast<double>(running[i]) / gpus_;
      const double error = std::abs(part - teams_[i].share);
      teams_[i].error += error * length;
      teams_[i].max = std::max(teams_[i].max, error);
      teams_[i].hour += part * length;
    }
  }
  void close_hour() {
    for (Team& team : teams_) {
      team.hour_errors += std::abs(team.hour / double{kHourMs} - team.share);
      team.hour = 0;
    }
    ++hours_;
  }
  double gpus_;
  TimeMs from_, to_, since_;
  std::vector<Team> teams_;
  std::size_t hours_ = 0;
};

class Toy {
 public:
  explicit Toy(const ToyOptions& options)
      : options_(options),
        rng_(options.seed),
        port_(engine_),
        error_(options.shares, options.gpus, kTraceEpochMs + options.warm_up_ms,
               kTraceEpochMs + options.warm_up_ms + options.measured_ms),
        queued_(options.shares.size()),
        running_(options.shares.size()) {}

  ToyResult run() {
    set_up();
    const TimeMs end = kTraceEpochMs + options_.warm_up_ms + options_.measured_ms;
    for (std::size_t team = 0; team < queued_.size(); ++team) {
      top_up(team, options_.gpus / gang_of(team) + kBacklog);
    }
    settle();
    while (now_ < end) {
      const TimeMs event = ends_.top().first;
      const TimeMs next = std::min(event, port_.next_deadline().value_or(event));
      error_.stood_until(next, running_);
      const bool ticked = next >= port_.next_deadline().value_or(next + 1);
      now_ = next;
      if (ticked) port_.tick(now_);
      for (; !ends_.empty() && ends_.top().first <= now_; ends_.pop()) finish(ends_.top().second);
      settle();
      for (std::size_t team = 0; team < queued_.size(); ++team) top_up(team, kBacklog);
    }
    ToyResult result = error_.worst();
    result.jobs = finished_;
    return result;
  }

 private:
  void send(in::Body body) {
    const Reply reply = port_.send(now_, std::move(body));
    assert(!reply.error);
  }
  std::int64_t gang_of(std::size_t team) const {
    return options_.gangs.empty() ? 1 : options_.gangs[team];
  }
  static std::string account(std::size_t team) { return "t" + std::to_string(100 + team); }

  void set_up() {
    in::SetCluster cluster;
    cluster.name = kClusterName;
    cluster.mode = Mode::kEnforce;
    cluster.reason = "toy";
    send(cluster);
    in::ImportNodes nodes;
    nodes.cluster = kClusterName;
    nodes.reason = "toy";
    for (std::int64_t left = options_.gpus; left > 0; left -= kNodeGpus) {
      NodeSpec& node = nodes.nodes.emplace_back();
      node.name = "node-" + std::to_string(nodes.nodes.size());
      node.product = "GPU";
      node.gpus = std::min(left, kNodeGpus);
    }
    send(std::move(nodes));
    send(in::SetPolicy{options_.policy, {}});
    for (std::size_t i = 0; i < options_.shares.size(); ++i) {
      in::SetAccount set;
      set.spec.path = account(i);
      set.spec.shares = options_.shares[i];
      set.reason = "toy";
      send(std::move(set));
    }
  }
  void submit(std::size_t team) {
    in::SubmitJob job;
    job.cluster = kClusterName;
    job.account = account(team);
    job.request.groups.resize(1);
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = 1;
    job.request.groups[0].count = static_cast<std::uint32_t>(gang_of(team));
    const Reply reply = port_.send(now_, std::move(job));
    assert(!reply.error && reply.job.sequence() == teams_.size() + 1);
    teams_.push_back(static_cast<std::uint32_t>(team));
    ++queued_[team];
  }
  void top_up(std::size_t team, std::int64_t backlog) {
    while (queued_[team] < backlog) submit(team);
  }
  void settle() {
    for (auto effects = port_.pass(now_); !effects.empty(); effects = port_.pass(now_)) {
      for (const Effect& effect : effects) {
        assert(effect.kind == EffectKind::kOpenGate);
        const std::uint32_t team = teams_[effect.job.sequence() - 1];
        for (const EffectPod& pod : effect.pods) {
          send(in::PodBound{kClusterName, {"", effect.job, pod.rank}, pod.node, 0});
          send(in::PodRunning{kClusterName, {"", effect.job, pod.rank}, 0});
        }
        --queued_[team];
        running_[team] += gang_of(team);
        const double length = rng_.exponential(static_cast<double>(options_.mean_job_ms));
        ends_.emplace(now_ + 1 + static_cast<DurationMs>(length), effect.job);
      }
    }
  }
  void finish(JobId job) {
    const std::uint32_t team = teams_[job.sequence() - 1];
    for (std::uint32_t rank = 0; rank < gang_of(team); ++rank) {
      send(in::PodGone{kClusterName, {"", job, rank}, 0, Cause::kFinished});
    }
    running_[team] -= gang_of(team);
    ++finished_;
  }

  using End = std::pair<TimeMs, JobId>;
  const ToyOptions& options_;
  Rng rng_;
  Engine engine_;
  EnginePort port_;
  ShareError error_;
  TimeMs now_ = kTraceEpochMs;
  std::vector<std::int64_t> queued_, running_;  // by team
  std::vector<std::uint32_t> teams_;            // by job sequence - 1
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t finished_ = 0;
};

}  // namespace

ToyResult run_toy(const ToyOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  ToyResult result = Toy(options).run();
  result.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::vector<ToyRow> run_toy_table(const ToyTableOptions& options) {
  std::vector<std::int64_t> uneven(20);
  std::iota(uneven.begin(), uneven.end(), 1);
  std::vector<std::int64_t> every_second(20, 1);
  for (std::size_t i = 1; i < every_second.size(); i += 2) every_second[i] = kToyGang;
  struct World {
    const char* name;
    std::vector<std::int64_t> shares, gangs;
  };
  const World worlds[] = {{"2 equal", {1, 1}, {}},
                          {"2 uneven 3:1", {3, 1}, {}},
                          {"20 equal", std::vector<std::int64_t>(20, 1), {}},
                          {"20 uneven 1..20", uneven, {}},
                          {"20 at 1..20, gangs of 64", uneven, every_second}};
  const std::size_t toys = std::size(worlds) * options.mean_jobs.size() * options.policies.size();
  std::size_t done = 0;
  std::vector<ToyRow> rows;
  for (const auto& [name, shares, gangs] : worlds) {
    for (const DurationMs mean : options.mean_jobs) {
      ToyRow& row = rows.emplace_back();
      row.what = std::string(name) + ", " + format_duration(mean);
      for (const OrderPolicy policy : options.policies) {
        ToyOptions toy;
        toy.shares = shares;
        toy.gangs = gangs;
        toy.mean_job_ms = mean;
        toy.warm_up_ms = options.warm_up_ms;
        toy.measured_ms = options.measured_ms;
        toy.seed = options.seed;
        toy.policy.order = policy;
        row.policies.emplace_back(enum_name(policy));
        row.results.push_back(run_toy(toy));
        ++done;
        if (options.progress) {
          options.progress(static_cast<double>(done) / static_cast<double>(toys));
        }
      }
    }
  }
  return rows;
}

}  // namespace subak::sim
