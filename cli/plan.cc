// subak plan: the fleet by time.
#include <fstream>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/plan_parts.h"
#include "cli/words.h"
#include "core/limits.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::cli {
namespace {

constexpr int kPictureColumns = 160;

struct PlanCommand {
  std::string cluster, domain, until, file;
  std::int64_t rows = 24, lanes = 3, jobs = 12;
  WatchOptions watch;
};

std::int32_t count_of(std::int64_t value, const char* flag, std::int32_t most) {
  if (value >= 1 && value <= most) return static_cast<std::int32_t>(value);
  throw usage_failure(
      std::string(flag) + ": was " + std::to_string(value) + ", want 1 to " + std::to_string(most),
      "leave it away for the usual");
}

v1::Plan ask(Session& s, const PlanCommand& o) {
  v1::GetPlanRequest request;
  request.set_cluster(o.cluster);
  request.set_domain(o.domain);
  if (!o.until.empty()) *request.mutable_until() = instant_to_come(o.until, "--until", now_ms());
  request.set_columns(s.form() == Form::kSvg ? kPictureColumns : kPlanBarColumns);
  request.set_rows(count_of(o.rows, "--rows", limits::kMaxPlanRows));
  request.set_lanes(count_of(o.lanes, "--lanes", limits::kMaxPlanLanes));
  request.set_jobs(count_of(o.jobs, "--jobs", limits::kMaxPlanJobs));
  try {
    return s.call<v1::Plan>("ClusterService/GetPlan", request);
  } catch (Failure& failure) {
    if (failure.field != "until") throw;
    failure.what =
        "--until: was \"" + o.until + "\", want a time to come, or how long: at most 30 days";
    failure.todo = "--until 12h, or a time as 2026-02-01T08:00";
    throw;
  }
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) throw Failure{kExitUsage, "--file " + path + ": cannot be written", "", "", ""};
}

void show_plan(Session& s, const PlanCommand& o) {
  if (!o.file.empty() && s.form() != Form::kSvg) {
    throw usage_failure("--file is for --output svg", "redirect the output of the other forms");
  }
  const v1::Plan plan = ask(s, o);
  if (s.form() == Form::kSvg) {
    if (o.file.empty()) {
      s.out() << plan_svg(plan);
    } else {
      write_file(o.file, plan_svg(plan));
    }
    return;
  }
  if (s.form() == Form::kTable || s.form() == Form::kWide) {
    print_plan(s, plan);
    s.out() << '\n';
    if (plan.jobs().empty()) return s.say("nobody holds GPUs, and nobody is to come");
  }
  s.show(plan, [&] { return plan_job_table(plan); });
  if (plan.jobs_left_out() > 0) {
    s.say("and " + std::to_string(plan.jobs_left_out()) + " more jobs: --jobs N shows more");
  }
}

}  // namespace

void add_plan(Command root) {
  auto o = std::make_shared<PlanCommand>();
  Command c = root.add("plan", "the fleet by time: what runs where until when, and what comes");
  c.option("--cluster", o->cluster, "only this one", "NAME");
  c.option("--domain", o->domain, "only the NVLink domain, rack or node of this name", "NAME");
  c.option("--until", o->until,
           "how far to look: 12h ahead, or a time; else until most have ended, at most 24h",
           "DURATION|TIME");
  c.option("--rows", o->rows,
           "domains that do the same share a row; if these are more, all of a rack or product do",
           "N");
  c.option("--lanes", o->lanes, "jobs of each kind that have a line of their own in a row", "N");
  c.option("--jobs", o->jobs, "jobs of each kind in the list below", "N");
  c.option("--file", o->file, "where the picture of --output svg goes; else to the screen", "FILE");
  c.draws();
  add_watch(c, o->watch);
  c.run([o](Session& s) { return repeat(s, o->watch.seconds(), [&] { show_plan(s, *o); }); });
}

}  // namespace subak::cli
