// subak job list, get, watch, cancel, hold, release.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/commands/job_parts.h"
#include "cli/text/failure.h"
#include "cli/text/local_time.h"
#include "cli/text/words.h"
#include "core/reason.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

std::string state_text(const v1::Job& job) {
  if (job.state() == v1::JOB_STATE_DONE) return word(job.cause());
  return word(job.state()) + (job.parked() ? ", parked" : "");
}

// Returns "node-3", or "node-3 and 7 more".
std::string nodes_text(const v1::Job& job) {
  if (job.nodes().empty()) return "";
  if (job.node_count() == 1) return job.nodes(0);
  return job.nodes(0) + " +" + std::to_string(job.node_count() - 1);
}

std::string all_nodes_text(const v1::Job& job) {
  std::string text;
  for (const std::string& node : job.nodes()) text += (text.empty() ? "" : ",") + node;
  const int more = job.node_count() - job.nodes_size();
  return more > 0 ? text + ",+" + std::to_string(more) : text;
}

// Returns the time since the job's start, or since its submission if it waits. CSV: seconds.
Cell elapsed_cell(const v1::Job& job, TimeMs now) {
  const bool started = job.has_start_time();
  if (!started && job.has_end_time()) return "-";  // ended without a start
  const TimeMs from = to_ms(started ? job.start_time() : job.submit_time());
  const DurationMs ms = (job.has_end_time() ? to_ms(job.end_time()) : now) - from;
  return {age_text(ms), std::to_string(std::max<DurationMs>(0, ms) / kSecondMs)};
}

// Returns why the job waits. If the job has a deadline, such as the end of its hold, returns that.
std::string reason_text(const v1::Job& job) {
  if (job.waits_for() == enum_name(ReasonToken::kUnschedulable)) {
    return job.waits_for() + ": " + job.waits_for_detail();
  }
  if (!job.has_until()) return job.waits_for();
  return "until " + local_time_text(to_ms(job.until())).substr(11);
}

Table job_table(const v1::ListJobsResponse& answer, TimeMs now) {
  constexpr Align kLeft = Align::kLeft;
  Table table({{"JOB"},
               {"NAME", kLeft, Room::kElastic},
               {"ACCOUNT", kLeft, Room::kElastic},
               {"SHAPE", kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"STATE"},
               {"ELAPSED", Align::kRight},
               {"NODE", kLeft, Room::kElastic},
               {"REASON", kLeft, Room::kElastic},
               time_column("SUBMITTED", Room::kWide),
               time_column("STARTED", Room::kWide),
               time_column("ENDED", Room::kWide),
               {"ORIGIN", kLeft, Room::kWide},
               {"DETAIL", kLeft, Room::kWide},
               {"PRIORITY", Align::kRight, Room::kWide},
               {"BORROWED", Align::kRight, Room::kWide},
               time_column("PREEMPTIBLE FROM", Room::kWide),
               {"CLUSTER", kLeft, Room::kWide}});
  for (const v1::Job& j : answer.jobs()) {
    table.row({j.id(), j.spec().name(), payer_text(j.spec().account(), j.spec().user()),
               shape_text(j.spec().request()), gpus_text(j.milligpu()), state_text(j),
               elapsed_cell(j, now), Cell(nodes_text(j), all_nodes_text(j)), reason_text(j),
               time_cell(j.submit_time()), time_cell(j.start_time()), time_cell(j.end_time()),
               word(j.origin()), j.waits_for_detail(), priority_text(j.spec()),
               gpus_text(j.loan().milligpu()), time_cell(j.loan().preemptible_from()),
               j.spec().cluster()});
  }
  return table;
}

struct ListCommand {
  std::string account;
  std::string user;
  bool me = false;
  std::string state;
  ListOptions list;
  MomentOptions at;
  WatchOptions watch;
};

// Returns the user name with which this person submits jobs.
std::string own_name() {
  if (const char* name = std::getenv("SUBAK_USER"); name != nullptr && *name != '\0') return name;
  const passwd* const entry = ::getpwuid(::geteuid());
  if (entry != nullptr) return entry->pw_name;
  throw usage_failure("--me: your user name is not known here", "name yourself: --user NAME");
}

void list_jobs(Session& s, const ListCommand& o) {
  v1::ListJobsRequest request;
  request.set_account(o.account);
  request.set_user(o.me ? own_name() : o.user);
  request.set_state(job_state_of(o.state));
  const auto answer = all_pages<v1::ListJobsResponse>(
      s, "JobService/ListJobs", request, o.list.limit, [](auto& a) { return a.mutable_jobs(); });
  if (answer.jobs().empty() && (s.form() == Form::kTable || s.form() == Form::kWide)) {
    if (!o.account.empty()) s.must_be_account(o.account);
    const std::string whose = request.user().empty() ? "" : " of user " + request.user();
    s.say("no jobs" + whose + (o.state.empty() ? " (ended ones: --state done)" : ""));
    return;
  }
  s.show(answer, [&] { return job_table(answer, s.present_ms()); });
}

void add_list(Command job) {
  auto o = std::make_shared<ListCommand>();
  Command c = job.add("list", "list jobs that have not ended, by id");
  c.option("--account", o->account, "only jobs of this account and the accounts below it", "PATH");
  c.option("--user", o->user, "only jobs of this user, in every account", "NAME");
  c.flag("--me", o->me,
         "only your own jobs: those of the user in SUBAK_USER, else of your login name");
  c.choice("--state", o->state, "only jobs in this state",
           {"incomplete", "queued", "paused", "starting", "running", "ending", "done"});
  add_limit(c, o->list);
  add_at(c, o->at);
  add_watch(c, o->watch);
  c.run([o](Session& s) { return draw_at(s, o->at, o->watch, [&] { list_jobs(s, *o); }); });
}

// Returns the numbers of the set bits of a mask: "0-3,7".
std::string gpu_indexes(std::uint64_t mask) {
  std::string text;
  for (unsigned i = 0; i < 64; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    unsigned last = i;
    while (last + 1 < 64 && (mask >> (last + 1) & 1U) != 0) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(i);
    if (last > i) text += "-" + std::to_string(last);
    i = last;
  }
  return text.empty() ? "-" : text;
}

Table pod_table(const v1::Job& job) {
  Table table({{"RANK", Align::kRight},
               {"STATE"},
               {"NODE", Align::kLeft, Room::kElastic},
               {"GPU INDEXES"},
               {"GPUS", Align::kRight},
               {"GATE", Align::kLeft, Room::kWide},
               time_column("SINCE"),
               {"POD", Align::kLeft, Room::kElastic},
               {"UID", Align::kLeft, Room::kWide}});
  for (const v1::JobPod& p : job.pods()) {
    table.row({std::to_string(p.rank()), word(p.state()), p.node().empty() ? "-" : p.node(),
               gpu_indexes(p.gpu_mask()), gpus_text(p.milligpu()), word(p.gate()),
               time_cell(p.since()), p.name(), p.uid()});
  }
  return table;
}

struct Until {
  const char* name;
  const char* then;
};

Until until_of(v1::JobState state) {
  if (state == v1::JOB_STATE_INCOMPLETE)
    return {"waits", "; it has no pods, and ends then unless one comes"};
  if (state == v1::JOB_STATE_PAUSED) return {"paused", "; queued again then"};
  if (state == v1::JOB_STATE_ENDING) return {"ending", "; its pods should be gone by then"};
  return {"held", "; its pods must be bound by then"};
}

// Returns "idle 3.20 GPU-hours, 1 to 25 % 0.10, above 4.00, unknown 0.02; all GPUs idle since ...".
std::string activity_text(const v1::Job& job) {
  const v1::Activity& a = job.activity();
  std::string text = "idle " + gpu_hours_text(a.idle()) + " GPU-hours, 1 to 25 % " +
                     gpu_hours_text(a.low()) + ", above " + gpu_hours_text(a.active()) +
                     ", unknown " + gpu_hours_text(a.unknown());
  const double kwh = static_cast<double>(a.energy_joules()) / 3.6e6;
  if (a.energy_joules() > 0) text += "; " + fixed_text(kwh, 3) + " kWh";
  if (job.has_idle_since()) text += "; all GPUs idle since " + time_text(job.idle_since());
  return text;
}

void print_job(Session& s, const v1::Job& j) {
  constexpr std::size_t kHead = 14;
  const auto line = [&s](const std::string& name, const std::string& value) {
    std::string head = "  " + name + ":";
    head.resize(kHead, ' ');
    if (!value.empty() && value != "-") s.out() << head << printable(value) << '\n';
  };
  s.out() << "job " << j.id() << ' ' << s.paint(Colour::kBold, state_text(j)) << '\n';
  line("name", j.spec().name());
  line("account", payer_text(j.spec().account(), j.spec().user()));
  line("shape", shape_text(j.spec().request()) + ", " + gpus_text(j.milligpu()) + " GPUs");
  line("cluster", j.spec().cluster());
  if (j.spec().priority() != 0 || !j.spec().priority_class().empty())
    line("priority", priority_text(j.spec()));
  if (j.spec().has_time_limit()) {
    line("time limit", age_text(to_ms(j.spec().time_limit())) +
                           (j.limit_enforced() ? ", enforced" : "") +
                           (j.limit_distrusted() ? "; " + distrust_text(j) : ""));
  }
  const bool ending = j.state() == v1::JOB_STATE_ENDING;
  if (j.has_planned_end() && !ending) line("free by", time_text(j.planned_end()));
  if (j.overruns() > 0) line("overruns", std::to_string(j.overruns()));
  if (j.has_loan()) line("borrowed", loan_text(j.loan()));
  if (j.has_preemption()) {
    const std::string text = wrapped(printable(preemption_text(j)), kHead, std::string(kHead, ' '));
    s.out() << "  preempted:  " << text << '\n';
  }
  if (j.has_rejection()) {
    const std::string text = wrapped(rejection_text(j.rejection()), kHead, std::string(kHead, ' '));
    s.out() << "  rejected by " << text << '\n';
  }
  if (j.has_compute_domain_state()) line("domain", compute_domain_text(j.compute_domain_state()));
  if (j.has_activity()) {
    const std::string text = wrapped(activity_text(j), kHead, std::string(kHead, ' '));
    s.out() << "  activity:   " << text << '\n';
  }
  line("origin", word(j.origin()));
  line("submitted", time_text(j.submit_time()));
  const bool is_told = ending && j.preemption().has_by();  // by the line "preempted"
  if (j.has_until() && !is_told) {
    const Until until = until_of(j.state());
    line(until.name, "until " + time_text(j.until()) + until.then);
  }
  line("started", time_text(j.start_time()));
  line("ended", time_text(j.end_time()));
  if (j.attempt() > 1) line("attempt", std::to_string(j.attempt()));
  if (j.cause() != v1::CAUSE_UNSPECIFIED) line("cause", word(j.cause()));
  if (j.pods().empty()) return;
  s.out() << '\n';
  pod_table(j).print(s.out(), s.form() == Form::kWide);
}

void add_get(Command job) {
  struct Get {
    std::string id;
    MomentOptions at;
    WatchOptions watch;
  };
  auto o = std::make_shared<Get>();
  Command c = job.add("get", "show one job with its pods and their nodes");
  c.argument("JOB", o->id, "such as 1-42");
  add_at(c, o->at);
  add_watch(c, o->watch);
  c.run([o](Session& s) {
    return draw_at(s, o->at, o->watch, [&] {
      v1::GetJobRequest request;
      request.set_job_id(o->id);
      request.set_include_pods(true);
      const auto j = s.call<v1::Job>("JobService/GetJob", request);
      if (s.is_csv()) {
        pod_table(j).print_csv(s.out());
        return;
      }
      s.show_text(j, [&] { print_job(s, j); });
    });
  });
}

void print_change(Session& s, const v1::Job& j) {
  s.out() << time_text(to_timestamp(now_ms())) << "  " << j.id() << "  "
          << printable(payer_text(j.spec().account(), j.spec().user())) << "  "
          << shape_text(j.spec().request()) << "  " << state_text(j) << '\n';
}

void add_job_watch(Command job) {
  struct Watch {
    std::string id, account;
  };
  auto o = std::make_shared<Watch>();
  Command c =
      job.add("watch", "show changes of jobs when they happen; with JOB, until that job ends");
  c.optional_argument("JOB", o->id, "only this job");
  c.option("--account", o->account, "only jobs of this account and the accounts below it", "PATH");
  c.run([o](Session& s) {
    if (s.is_csv())
      throw usage_failure("--output csv: a watch has no table", "use table, json or yaml");
    v1::WatchJobsRequest request;
    request.set_job_id(o->id);
    request.set_account(o->account);
    v1::WatchJobsResponse answer;
    bool seen = false;
    s.client().stream("JobService/WatchJobs", request, answer, [&] {
      if (answer.listed()) return o->id.empty() || seen;
      seen = true;
      s.show_one_of_many(answer.job(), [&] { print_change(s, answer.job()); });
      return static_cast<bool>(s.out()) &&
             (o->id.empty() || answer.job().state() != v1::JOB_STATE_DONE);
    });
    if (!o->id.empty() && !seen) {
      throw Failure{kExitNotFound, "job " + o->id + ": there is no such job",
                    "subak job list shows the jobs, with --state done those that ended"};
    }
    return 0;
  });
}

struct EditCommand {
  std::string id;
  EditOptions edit;
};

template <class Request>
void add_edit(Command job, const std::string& name, const std::string& help,
              const std::string& method, const std::string& done) {
  auto o = std::make_shared<EditCommand>();
  Command c = job.add(name, help);
  c.argument("JOB", o->id, "such as 1-42");
  c.option("--reason", o->edit.reason, "why you do this; the audit log keeps it", "TEXT");
  add_request_id(c, o->edit);
  c.run([o, method, done](Session& s) {
    Request request;
    request.set_job_id(o->id);
    request.set_reason(o->edit.reason);
    request.set_request_id(o->edit.request_id);
    const auto answer = s.call<v1::EditJobResponse>(method, request);
    s.show_text(answer, [&] {
      s.out() << "job " << printable(o->id) << ' ' << (answer.repeated_request() ? "was " : "")
              << done << (answer.repeated_request() ? " before\n" : "\n");
    });
    return 0;
  });
}

}  // namespace

void add_job_edits(Command job) {
  add_edit<v1::CancelJobRequest>(job, "cancel", "end a job, waiting or running",
                                 "JobService/CancelJob", "cancelled");
  add_edit<v1::HoldJobRequest>(job, "hold", "stop a waiting job from starting",
                               "JobService/HoldJob", "held");
  add_edit<v1::ReleaseJobRequest>(job, "release", "let a held job start again",
                                  "JobService/ReleaseJob", "released");
}

void add_job(Command root) {
  Command job = root.add("job", "submit, list, inspect, hold and cancel jobs");
  add_job_submit(job);
  add_list(job);
  add_get(job);
  add_job_edits(job);
  add_job_watch(job);
  add_job_history(job);
}

}  // namespace subak::cli
