// The offline commands, `subak sim run|compare|share|toy`, without a command-line library: plain
// options in, text to streams, an exit code out (0 done, 1 refused, 2 usage, 4 file not found).
// Errors: two lines on `err`, the problem and the remedy.
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "model/policy.h"

namespace subak::sim {

// Values as written on the command line; empty means not given.
struct SimOptions {
  std::string trace;                                   // --trace T.csv[.gz]
  std::string nodes;                                   // --nodes N.csv or 80x8
  std::vector<std::string> policies{"target-share"};   // --policy P, --policies a,b,c
  std::vector<std::string> backfill;                   // --backfill a,b,c: for each policy
  std::optional<double> from_day, to_day;              // --from-day A --to-day B
  std::string half_life = "7d";                        // --half-life
  std::string patience;                                // --patience: Policy::patience_ms
  std::uint64_t reserve_jobs = Policy().reserve_jobs;  // --reserve-jobs
  std::string weights, quota;                          // --weights W.csv, --quota Q.csv
  double load = 1;                                     // --load X
  std::string teams;                                   // --teams random:N
  bool limits = false;                                 // --limits
  std::uint64_t short_limits = 0;                      // --short-limits: percent
  std::uint64_t eta = 200;                             // --eta N: jobs that get a start estimate
  std::string run_times = "predicted";                 // --run-times predicted|limits|exact
  std::uint64_t seed = 1;                              // --seed S
  std::string charge_end = "yes";                      // --charge-end yes|no, usage-tick only
  std::string output = "table";                        // --output table|json
  std::string plot;                                    // --plot DIR, made if missing
  bool progress = false;                               // show a progress bar on `err`
};

struct ShareOptions {
  std::string case_path;
  std::string policy = "fair-tree";  // --policy fair-tree|classic
  std::string output = "table";
};

struct ToyCommandOptions {
  double days = 5;          // --days measured
  double warm_up_days = 7;  // --warm-up-days
  std::uint64_t seed = 1;
  bool progress = false;  // show a progress bar on `err`
};

// Both take several policies; they differ only in the form of the output. `compare` prints one
// column per policy.
int sim_run(const SimOptions& options, std::ostream& out, std::ostream& err);
int sim_compare(const SimOptions& options, std::ostream& out, std::ostream& err);
int sim_share(const ShareOptions& options, std::ostream& out, std::ostream& err);
int sim_toy(const ToyCommandOptions& options, std::ostream& out, std::ostream& err);

}  // namespace subak::sim
