// The offline commands, `subak sim run|compare|share|toy`, without a command-line library. The
// functions take plain options, write text to streams, and return an exit code (0 done, 1 refused,
// 2 usage, 4 file not found). cli/commands/sim.cc names the flags.
// Errors: two lines on `err`, the problem and the remedy.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "model/policy.h"

namespace subak::sim {

// The options for quotas, and for how jobs within quota take GPUs back. Empty means that an option
// was not given.
struct QuotaOptions {
  // --quota Q.csv: quotas by team, as read_team_table() reads them. --quota demand:P: quotas from
  // the demand (WorkloadOptions::quota_percent).
  std::string amounts;
  // --reclaim off|on|both: Policy::reclaim. With `both`, the trace is replayed without reclaim and
  // with reclaim.
  std::string reclaim = "off";
  // --reclaim-min-run: Policy::reclaim_min_run_ms, as a duration. Empty: the policy's default.
  std::string min_run;
  // --grace and --checkpoint: VictimModel, as durations. Empty: the defaults of VictimModel.
  std::string grace, checkpoint;
};

// The values as the user wrote them on the command line. Empty means that an option was not given.
struct SimOptions {
  // --trace T.csv[.gz]: the jobs (sim/read/trace.h).
  std::string trace;
  // --nodes N.csv or 80x8: the fleet, in a form that read_nodes() reads.
  std::string nodes;
  // --policy P or --policies a,b,c: names of OrderPolicy.
  std::vector<std::string> policies{"target-share"};
  // --backfill a,b,c: some of none, easy, reserve, all. Each policy is replayed with each of these
  // values.
  std::vector<std::string> backfill;
  // --from-day A, --to-day B: the window, in days of the trace.
  std::optional<double> from_day, to_day;
  // --half-life: Policy::half_life_ms, as a duration.
  std::string half_life = "7d";
  // --patience: Policy::patience_ms, as a duration. Empty: the policy's default.
  std::string patience;
  // --reserve-jobs: QueueSettings::reserve_jobs.
  std::uint64_t reserve_jobs = Policy().queue.reserve_jobs;
  // --weights W.csv: shares by team, as read_team_table() reads them.
  std::string weights;
  QuotaOptions quota;
  // --load X: the factor by which submissions come faster (WorkloadOptions::load).
  double load = 1;
  // --teams random:N: WorkloadOptions::random_teams. Empty: the teams of the trace.
  std::string teams;
  // --limits: each job gets a random time limit (WorkloadOptions::limits).
  bool limits = false;
  // --short-limits: WorkloadOptions::short_limits, the percentage of kinds of jobs with limits that
  // are too short.
  std::uint64_t short_limits = 0;
  // --eta N: about N jobs get a start estimate at submission; 0: none.
  std::uint64_t eta = 200;
  // --run-times predicted|limits|exact: the source for start estimates (sim/report/eta.h).
  std::string run_times = "predicted";
  // --seed S: the seed of all random numbers.
  std::uint64_t seed = 1;
  // --charge-end yes|no: TickSettings::charge_end, only for usage-tick.
  std::string charge_end = "yes";
  // --output table|json.
  std::string output = "table";
  // --plot DIR: writes charts into DIR, and makes the directory if it is missing.
  std::string plot;
  // Shows a progress bar on `err`.
  bool progress = false;
};

// The options of `subak sim share`: the fair-share factors of a tree in a file
// (sim/read/share_case.h).
struct ShareOptions {
  // The path of the file; share_case.h describes its form.
  std::string case_path;
  // --policy fair-tree|classic: the formula.
  std::string policy = "fair-tree";
  // --output table|json.
  std::string output = "table";
};

// The options of `subak sim toy`: the table of the toy world (sim/toy.h).
struct ToyCommandOptions {
  // --days: the length of the measurement, after the warm-up.
  double days = 5;
  // --warm-up-days: the length of the warm-up before the measurement.
  double warm_up_days = 7;
  // --seed: the seed of the random run times.
  std::uint64_t seed = 1;
  // Shows a progress bar on `err`.
  bool progress = false;
};

// Each function runs one command and returns its exit code. sim_run() and sim_compare() differ only
// in the form of the output, and in that sim_run() accepts one policy. Both commands print one
// column for each policy. With `--reclaim both`, target-share has two columns: without and with
// claims.
int sim_run(const SimOptions& options, std::ostream& out, std::ostream& err);
int sim_compare(const SimOptions& options, std::ostream& out, std::ostream& err);
int sim_share(const ShareOptions& options, std::ostream& out, std::ostream& err);
int sim_toy(const ToyCommandOptions& options, std::ostream& out, std::ostream& err);

}  // namespace subak::sim
