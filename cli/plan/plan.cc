// subak plan: prints the plan of the fleet.
#include <algorithm>
#include <limits>

#include "cli/commands.h"
#include "cli/plan/plan_parts.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/words.h"
#include "core/limits.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

constexpr int kPictureColumns = 160;
constexpr std::int64_t kRows = 15, kJobs = 15;
constexpr std::int64_t kLanes = 3, kPictureRows = 24;

constexpr std::int64_t kUnsaid = std::numeric_limits<std::int64_t>::min();

struct PlanCommand {
  std::string cluster, domain, until, file;
  std::int64_t rows = kUnsaid, lanes = kUnsaid, jobs = kUnsaid;
  bool all = false;
  WatchOptions watch;
};

// The sizes of the chart that the options give.
struct Sizes {
  std::int64_t rows = kRows, lanes = kLanes, jobs = kJobs;
};

void check_count(std::int64_t value, const char* flag, std::int64_t most) {
  if (value >= 1 && value <= most) return;
  throw usage_failure(
      std::string(flag) + ": was " + std::to_string(value) + ", want 1 to " + std::to_string(most),
      "omit it for the default");
}

Sizes sizes_of(Session& s, const PlanCommand& o) {
  Sizes out;
  if (s.form() == Form::kSvg) out.rows = kPictureRows;
  if (o.all) out = {limits::kMaxPlanRows, out.lanes, limits::kMaxPlanJobs};
  if (o.rows != kUnsaid) out.rows = o.rows;
  if (o.lanes != kUnsaid) out.lanes = o.lanes;
  if (o.jobs != kUnsaid) out.jobs = o.jobs;
  check_count(out.rows, "--rows", limits::kMaxPlanRows);
  check_count(out.lanes, "--lanes", limits::kMaxPlanLanes);
  check_count(out.jobs, "--jobs", limits::kMaxPlanJobs);
  return out;
}

v1::Plan ask(Session& s, const PlanCommand& o, const Sizes& sizes) {
  v1::GetPlanRequest request;
  request.set_cluster(o.cluster);
  request.set_domain(o.domain);
  if (!o.until.empty()) *request.mutable_until() = instant_to_come(o.until, "--until", now_ms());
  request.set_columns(s.form() == Form::kSvg ? kPictureColumns : kPlanBarColumns);
  request.set_rows(static_cast<std::int32_t>(sizes.rows));
  request.set_lanes(static_cast<std::int32_t>(sizes.lanes));
  request.set_jobs(static_cast<std::int32_t>(sizes.jobs));
  try {
    return s.call<v1::Plan>("ClusterService/GetPlan", request);
  } catch (Failure& failure) {
    if (failure.field != "until") throw;
    failure.what =
        "--until: was \"" + o.until + "\", want a future time or a duration, at most 30 days";
    failure.todo = "--until 12h, or a time as 2026-02-01T08:00";
    throw;
  }
}

void show_plan(Session& s, const PlanCommand& o) {
  if (!o.file.empty() && s.form() != Form::kSvg) {
    throw usage_failure("--file is for --output svg", "redirect the output of the other forms");
  }
  const Sizes sizes = sizes_of(s, o);
  const v1::Plan plan = ask(s, o, sizes);
  if (s.form() == Form::kSvg) {
    if (o.file.empty()) {
      s.out() << plan_svg(plan);
    } else {
      write_output("--file", o.file, plan_svg(plan));
    }
    return;
  }
  if (s.form() == Form::kTable || s.form() == Form::kWide) {
    const auto rows = static_cast<std::size_t>(sizes.rows);
    print_plan(s, plan, rows, o.lanes != kUnsaid || plan_lines(plan) <= rows);
    s.out() << '\n';
    if (plan.jobs().empty()) return s.say("no job holds GPUs, and no job is expected to start");
  }
  const std::vector<int> shown = plan_jobs_shown(plan, static_cast<std::size_t>(sizes.jobs));
  s.show(plan, [&] { return plan_job_table(plan, shown); });
  const std::int64_t more = plan.jobs_left_out() + plan.jobs_size() - std::ssize(shown);
  if (more > 0) s.say("and " + std::to_string(more) + " more jobs: --jobs N shows more");
  if (plan_is_assumed(plan)) s.say("* no time limit given: assuming 24 h");
}

}  // namespace

void add_plan(Command root) {
  auto o = std::make_shared<PlanCommand>();
  Command c = root.add(
      "plan",
      "a chart of the fleet over time: what runs where and until when, and what starts next");
  c.option("--cluster", o->cluster, "only this cluster", "NAME");
  c.option("--domain", o->domain, "only the NVLink domain, rack or node of this name", "NAME");
  c.option("--until", o->until,
           "how far to look: a duration such as 12h, or a time; default until most jobs have "
           "ended, at most 24h",
           "DURATION|TIME");
  c.option("--rows", o->rows,
           "the most rows of the chart, default 15. Domains with the same jobs share a row. If "
           "there are still too many rows, all domains of a rack or of a product share a row",
           "N");
  c.option("--lanes", o->lanes,
           "how many jobs of each kind (running, reserved, forecast) get a line of their own in a "
           "row, default 3. Without this option, each row is one line if the chart would have more "
           "lines than --rows",
           "N");
  c.option("--jobs", o->jobs, "jobs in the list below the chart, default 15", "N");
  c.flag("--all", o->all,
         "show all that the service sends in one answer: 200 rows, and 1000 jobs of each kind");
  c.option("--file", o->file, "where to write the chart of --output svg; default standard output",
           "FILE");
  c.draws();
  add_watch(c, o->watch);
  c.run([o](Session& s) { return repeat(s, o->watch.seconds(), [&] { show_plan(s, *o); }); });
}

}  // namespace subak::cli
