// subak sim: commands that work offline, without the service.
#include "cli/commands.h"
#include "cli/text/failure.h"
#include "sim/commands.h"

namespace subak::cli {
namespace {

// Refuses the forms of --output that sim lacks. It writes JSON by itself, and otherwise a table.
std::string sim_form(Session& s) {
  if (s.form() == Form::kJson) return "json";
  if (s.form() == Form::kTable || s.form() == Form::kWide) return "table";
  throw usage_failure("--output: sim prints table, wide or json", "use table or json");
}

void add_workload(Command& c, sim::SimOptions& o) {
  c.required_option("--trace", o.trace, "jobs: a CSV, plain or gzip", "T.csv[.gz]");
  c.required_option("--nodes", o.nodes, "fleet: a CSV, a nodes.json, or a size such as 80x8",
                    "N.csv");
  c.option("--from-day", o.from_day, "first day of the window", "A");
  c.option("--to-day", o.to_day, "end of the window", "B");
  c.option("--half-life", o.half_life, "half-life of past usage", "DURATION");
  c.option("--patience", o.patience, "how long a job waits before nodes may be reserved for it",
           "DURATION");
  c.option("--reserve-jobs", o.reserve_jobs,
           "the most jobs that may have reserved nodes at the same time", "N");
  c.option("--weights", o.weights, "CSV of team,share", "W.csv");
  c.option("--quota", o.quota.amounts,
           "CSV of team,gpus; or demand:P, which gives P % of the fleet to teams by their demand",
           "Q.csv");
  c.choice(
      "--reclaim", o.quota.reclaim,
      "whether jobs within quota take GPUs back from jobs beyond quota; both: simulate both cases",
      {"off", "on", "both"});
  c.option("--reclaim-min-run", o.quota.min_run,
           "with --reclaim: how long a job runs before it may be asked to give GPUs back",
           "DURATION");
  c.option("--grace", o.quota.grace,
           "with --reclaim: how long the pods of a preempted job stay; default 30s", "DURATION");
  c.option("--checkpoint", o.quota.checkpoint,
           "with --reclaim: jobs save their work at this interval; default: a preempted job starts "
           "from zero",
           "DURATION");
  c.option("--load", o.load, "divide submit times by X; a value above 1 means more load", "X");
  c.option("--teams", o.teams, "spread the jobs over N teams at random", "random:N");
  c.flag("--limits", o.limits, "give each job a random time limit");
  c.option("--short-limits", o.short_limits,
           "with --limits: the limits of P % of the pairs of team and job size are too short", "P");
  c.option("--eta", o.eta, "estimate the start of about N jobs when they are submitted; 0: none",
           "N");
  c.option("--run-times", o.run_times,
           "run times that the estimates use: predicted, limits or exact", "WHICH");
  c.option("--seed", o.seed, "seed of all random choices", "S");
  c.choice("--charge-end", o.charge_end,
           "with usage-tick: charge the remaining usage when a job ends", {"yes", "no"});
  c.option("--plot", o.plot, "write SVG plots to this folder", "DIR");
}

void add_run_and_compare(Command& sim) {
  struct Run {
    sim::SimOptions options;
    std::string policy = "target-share";
  };
  auto run = std::make_shared<Run>();
  Command r = sim.add("run", "replay a trace on a fleet under one policy");
  add_workload(r, run->options);
  r.choice("--policy", run->policy, "order of the queue",
           {"target-share", "exact", "usage-tick", "drf", "fifo"});
  r.run([run](Session& s) {
    run->options.policies = {run->policy};
    run->options.output = sim_form(s);
    run->options.progress = s.screen().progress;
    return sim::sim_run(run->options, s.out(), s.err());
  });
  auto many = std::make_shared<sim::SimOptions>();
  many->policies.clear();
  Command c = sim.add("compare", "replay a trace under several policies, side by side");
  add_workload(c, *many);
  c.list_option("--policies", many->policies, "orders to compare", "a,b,c");
  c.list_option("--backfill", many->backfill,
                "which jobs get reserved nodes: none, easy (the first job that does not fit), "
                "reserve (as configured), all",
                "a,b,c");
  c.run([many](Session& s) {
    if (many->policies.empty() && !many->backfill.empty()) many->policies = {"target-share"};
    if (many->policies.empty())
      many->policies = {"target-share", "exact", "usage-tick", "drf", "fifo"};
    many->output = sim_form(s);
    many->progress = s.screen().progress;
    return sim::sim_compare(*many, s.out(), s.err());
  });
}

}  // namespace

void add_sim(Command root) {
  Command sim = root.add("sim", "replay job traces and compare policies; needs no service");
  add_run_and_compare(sim);
  auto share = std::make_shared<sim::ShareOptions>();
  Command h = sim.add("share", "compute the fair-share factors of a tree in a file");
  h.argument("CASE", share->case_path, "a tree with shares and raw usage, JSON");
  h.choice("--policy", share->policy, "fair-tree or the classic factor", {"fair-tree", "classic"});
  h.run([share](Session& s) {
    share->output = sim_form(s);
    return sim::sim_share(*share, s.out(), s.err());
  });
  auto toy = std::make_shared<sim::ToyCommandOptions>();
  Command t = sim.add(
      "toy",
      "simulate a small fleet that is always full, and show how evenly each policy shares it");
  t.option("--days", toy->days,
           "days to measure, default 5; the simulation of a day takes 1 to 2 minutes", "D");
  t.option("--warm-up-days", toy->warm_up_days,
           "days to simulate before the measured days; default 7", "D");
  t.option("--seed", toy->seed, "seed of job lengths", "S");
  t.run([toy](Session& s) {
    if (s.form() != Form::kTable && s.form() != Form::kWide) {
      throw usage_failure("--output: sim toy prints only a table", "omit --output");
    }
    toy->progress = s.screen().progress;
    return sim::sim_toy(*toy, s.out(), s.err());
  });
}

}  // namespace subak::cli
