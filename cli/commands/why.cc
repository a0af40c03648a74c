// subak why: prints all reasons why a job waits, and why it has its position in the queue.
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/namespace_scope.h"
#include "cli/text/table.h"
#include "cli/text/words.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

struct WhyCommand {
  std::string job;
  bool alternatives = false;
  MomentOptions at;
  WatchOptions watch;
  NamespaceOptions where;
};

// Prints when the job's GPUs are expected to be free.
void print_end(Session& s, const v1::Job& job) {
  if (!job.has_planned_end() || job.state() == v1::JOB_STATE_ENDING) return;
  s.out() << "its GPUs are expected to be free by " << time_text(job.planned_end());
  if (!job.spec().has_time_limit()) {
    s.out() << ": no time limit given";
    if (job.has_start_time()) {
      s.out() << ", assuming " << age_text(to_ms(job.planned_end()) - to_ms(job.start_time()));
    }
  } else if (job.limit_enforced()) {
    s.out() << ": its time limit is enforced";
  }
  if (job.overruns() > 0) {
    s.out() << "\nit ran beyond its expected end " << job.overruns()
            << (job.overruns() == 1 ? " time" : " times");
  }
  s.out() << '\n';
}

void print_head(Session& s, const v1::Explanation& e) {
  const v1::Job& job = e.job();
  const v1::JobSpec& spec = job.spec();
  s.out() << "job " << job.id()
          << (spec.name().empty() ? "" : " \"" + printable(spec.name()) + "\"") << " of "
          << printable(payer_text(spec.account(), spec.user())) << ": "
          << shape_text(spec.request()) << ", " << gpus_text(job.milligpu()) << " GPUs, "
          << s.paint(Colour::kBold, word(job.state()));
  if (job.has_start_time() && job.state() != v1::JOB_STATE_ENDING)
    s.out() << " since " << time_text(job.start_time());
  if (job.cause() != v1::CAUSE_UNSPECIFIED) s.out() << ", " << word(job.cause());
  s.out() << '\n';
  if (e.position() > 0) {
    s.out() << "position " << e.position() << " in the queue at " << time_text(e.order_time())
            << ", priority " << priority_text(spec) << ", waiting for "
            << age_text(to_ms(e.time()) - to_ms(job.submit_time())) << '\n';
  }
  if (job.workload().jobs() > 1) s.out() << wrapped(printable(siblings_text(job)), 0, "  ") << '\n';
  if (job.parked()) {
    s.out() << "parked: its pods do not exist, as the object that creates them is suspended until "
               "its\nturn\n";
  }
  if (job.has_until() && job.state() == v1::JOB_STATE_STARTING) {
    s.out() << "its GPUs are held until " << time_text(job.until())
            << ": its pods must be bound by then\n";
  }
  print_end(s, job);
  if (job.has_rejection())
    s.out() << wrapped("rejected by " + rejection_text(job.rejection()), 0, "  ") << '\n';
  if (job.has_compute_domain_state()) {
    s.out() << wrapped(
                   "ComputeDomain " + printable(compute_domain_text(job.compute_domain_state())), 0,
                   "  ")
            << '\n';
  }
  if (job.has_loan()) s.out() << "beyond quota: " << loan_text(job.loan()) << '\n';
  if (job.has_preemption())
    s.out() << wrapped("preempted " + printable(preemption_text(job)), 0, "  ") << '\n';
  if (job.limit_distrusted()) s.out() << distrust_text(job) << '\n';
  if (job.has_end_refused()) {
    s.out() << "its pods must end, but the cluster refused to end them at "
            << time_text(job.end_refused())
            << ":\na disruption budget or a webhook is in the way, see the pods' Events;\n"
               "the job holds its GPUs until its pods end\n";
  }
}

void print_start(Session& s, const v1::ExpectedStart& start) {
  if (start.promised()) {
    s.out() << "it starts by " << time_text(start.latest());
    if (to_ms(start.expected()) < to_ms(start.latest())) {
      s.out() << ", most likely around " << time_text(start.expected());
    }
  } else if (start.has_latest()) {
    s.out() << "it may start around " << time_text(start.expected());
    if (start.calibrated()) {
      s.out() << "\n(nine of ten such jobs: from " << time_text(start.earliest()) << " to "
              << time_text(start.latest()) << ")";
    }
  } else {
    s.out() << "it does not start before " << time_text(start.earliest());
  }
  s.out() << ":\n" << printable(start.assumption()) << '\n';
  if (start.moved_later() == 0) return;
  s.out() << "moved later " << start.moved_later()
          << (start.moved_later() == 1 ? " time" : " times")
          << "; last change: " << printable(start.cause()) << '\n';
}

// Prints the nodes reserved for the job, or when they may be, and its start estimate.
void print_estimate(Session& s, const v1::Explanation& e) {
  if (e.kept_node_count() > 0) {
    s.out() << "\nnodes reserved for it until it starts:";
    for (const std::string& node : e.kept_nodes()) s.out() << ' ' << printable(node);
    const int more = e.kept_node_count() - e.kept_nodes_size();
    if (more > 0) s.out() << " and " << more << " more";
    s.out() << '\n';
  } else if (e.has_patience_until()) {
    s.out()
        << "\npatience until " << time_text(e.patience_until())
        << ":\nif the job does not fit at a turn after this time, Subak may reserve nodes for it\n";
  }
  if (!e.no_estimate().empty()) {
    s.out() << "\nits start is not estimated yet:\n" << printable(e.no_estimate()) << '\n';
  }
  if (!e.has_expected_start()) return;
  s.out() << '\n';
  print_start(s, e.expected_start());
  if (e.has_forecast_time()) s.out() << "forecast of " << time_text(e.forecast_time()) << '\n';
}

// Returns the needed and the available amount. Their unit depends on the reason; most often it is
// GPUs.
std::string quantity_text(const v1::WaitReason& r) {
  if (r.need() == 0 && r.have() == 0) return "";
  return " (needs " + std::to_string(r.need()) + ", has " + std::to_string(r.have()) + ")";
}

void print_reasons(Session& s, const v1::Explanation& e) {
  if (e.reasons().empty()) return;
  s.out() << "\nit waits because of\n";
  for (const v1::WaitReason& r : e.reasons()) {
    const std::string subject = r.subject().empty() ? "" : " " + printable(r.subject());
    s.out() << "  " << s.paint(Colour::kYellow, printable(r.token())) << subject;
    const std::size_t used = 2 + display_width(r.token()) + display_width(subject);
    s.out() << (r.detail().empty() ? quantity_text(r)
                                   : wrapped(": " + printable(r.detail()), used, "    "))
            << '\n';
    if (r.blockers().empty()) continue;
    s.out() << "    in the way:";
    for (const std::string& blocker : r.blockers()) s.out() << ' ' << printable(blocker);
    s.out() << '\n';
  }
}

void print_idle_holders(Session& s, const v1::Explanation& e) {
  if (e.idle_holders().empty()) return;
  s.out() << "\nidle GPUs of the cluster are held by\n";
  for (const v1::IdleHolder& holder : e.idle_holders()) {
    s.out() << "  job " << holder.job_id() << " of " << printable(payer_text(holder.account(), ""))
            << ": " << gpus_text(holder.milligpu()) << " GPUs, idle since "
            << time_text(holder.idle_since()) << '\n';
  }
}

Table step_table(const v1::RankStep& step) {
  constexpr Align kRight = Align::kRight;
  Table table({{""},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"SHARE", kRight},
               {"TARGET", kRight},
               {"HAS GPUS", kRight},
               {"NEXT / 2", kRight},
               {"QUOTA", kRight},
               {"USED GPU-H", kRight},
               {"ABOVE QUOTA", kRight}});
  for (const auto& entry : step.entries()) {
    table.row({entry.on_path() ? "*" : "", entry.path(), fixed_text(entry.shares() * 100, 1) + " %",
               fixed_text(entry.target() * 100, 1) + " %", gpus_text(entry.allocated_milligpu()),
               entry.next_milligpu() == 0 ? "-" : gpus_text(entry.next_milligpu() / 2),
               gpus_text(entry.quota_milligpu()), fixed_text(entry.usage_gpu_seconds() / 3600, 2),
               fixed_text(entry.surplus_gpu_seconds() / 3600, 2)});
  }
  return table;
}

void print_ranking(Session& s, const v1::Explanation& e) {
  for (const v1::RankStep& step : e.ranking()) {
    s.out() << "\nwho comes first below "
            << (step.parent() == "(root)" ? "the root" : printable(step.parent()))
            << " (* holds this job; SHARE and TARGET are of the whole fleet)\n";
    step_table(step).print(s.out(), s.form() == Form::kWide);
  }
}

void print_alternatives(Session& s, const v1::Explanation& e) {
  if (e.alternatives().empty()) {
    s.out() << "\nno change of topology, segments, product or time limit would start it sooner\n";
    return;
  }
  s.out() << "\nsubmitted again, it would start sooner with\n";
  for (const auto& a : e.alternatives()) {
    s.out() << "  " << printable(a.change()) << ": around " << time_text(a.start()) << '\n';
  }
}

void explain(Session& s, const WhyCommand& o) {
  v1::ExplainJobRequest request;
  request.set_job_id(o.job);
  request.set_alternatives(o.alternatives);
  const auto e = s.call<v1::Explanation>("JobService/ExplainJob", request);
  s.show_text(e, [&] {
    print_head(s, e);
    print_reasons(s, e);
    print_idle_holders(s, e);
    print_estimate(s, e);
    print_ranking(s, e);
    if (o.alternatives) print_alternatives(s, e);
  });
}

}  // namespace

void add_why(Command root, Program program) {
  auto o = std::make_shared<WhyCommand>();
  Command c = root.add("why", "why a job waits: every reason, and the jobs that come before it");
  const bool is_plugin = program == Program::kKubectl;
  c.argument(
      "JOB", o->job,
      is_plugin ? "such as 1-42, or the name of a job or pod of the namespace" : "such as 1-42");
  c.flag("--alternatives", o->alternatives,
         "also show changes to the job that would start it sooner");
  add_at(c, o->at);
  add_watch(c, o->watch);
  if (is_plugin) add_namespace(c, o->where, false);
  c.run([o, is_plugin](Session& s) {
    if (is_plugin) o->job = job_of(s, o->where, o->job);
    return draw_at(s, o->at, o->watch, [&] { explain(s, *o); });
  });
}

}  // namespace subak::cli
