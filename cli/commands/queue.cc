// subak queue: prints the queue in its order, or with --would the queue of shadow mode.
#include <algorithm>

#include "cli/commands.h"
#include "cli/namespace_scope.h"
#include "cli/text/words.h"
#include "core/reason.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

struct QueueCommand {
  std::string account;
  bool would = false;
  bool expand = false;
  ListOptions list;
  MomentOptions at;
  WatchOptions watch;
  NamespaceOptions where;
};

// The detail of this reason is the message of the cluster's scheduler. It appears nowhere else.
constexpr std::string_view kUnschedulable = enum_name(ReasonToken::kUnschedulable);

// Returns a duration as one number and one unit.
std::string rough_text(DurationMs ms) {
  if (ms < 2 * kMinuteMs) return std::to_string(ms / kSecondMs) + "s";
  if (ms < 2 * kHourMs) return std::to_string((ms + kMinuteMs / 2) / kMinuteMs) + "m";
  if (ms < 2 * kDayMs) return std::to_string((ms + kHourMs / 2) / kHourMs) + "h";
  return std::to_string((ms + kDayMs / 2) / kDayMs) + "d";
}

std::string start_text(const v1::ExpectedStart& start, TimeMs now) {
  const auto from_now = [now](const Timestamp& t) {
    return rough_text(std::max<DurationMs>(0, to_ms(t) - now));
  };
  if (start.promised()) return "by " + from_now(start.latest());
  if (!start.has_latest()) return "after " + from_now(start.earliest());
  const std::string about = "~" + from_now(start.expected());
  if (!start.calibrated()) return about;
  return about + " (" + from_now(start.earliest()) + "-" + from_now(start.latest()) + ")";
}

std::string waits_text(const v1::QueueRow& row) {
  if (!row.has_waits_for()) return "(why " + row.job().id() + ")";
  if (row.waits_for().token() == kUnschedulable) {
    return row.waits_for().token() + ": " + row.waits_for().detail();
  }
  const std::string& subject = row.waits_for().subject();
  return row.waits_for().token() + (subject.empty() ? "" : " " + subject);
}

Table queue_table(const v1::ListQueueResponse& answer) {
  const bool planned = std::any_of(
      answer.rows().begin(), answer.rows().end(),
      [](const v1::QueueRow& r) { return r.has_expected_start() || !r.no_estimate().empty(); });
  const auto has_siblings = [](const v1::QueueRow& r) { return r.job().workload().jobs() > 1; };
  const bool workloads = std::any_of(answer.rows().begin(), answer.rows().end(), has_siblings);
  std::vector<Column> columns{{"POS", Align::kRight},
                              {"JOB"},
                              {"NAME", Align::kLeft, Room::kWide},
                              {"ACCOUNT", Align::kLeft, Room::kElastic},
                              {"SHAPE", Align::kLeft, Room::kElastic},
                              {"GPUS", Align::kRight},
                              {"WAIT", Align::kRight},
                              {"PRIORITY", Align::kRight, Room::kWide},
                              {"WAITS FOR", Align::kLeft, Room::kElastic},
                              {"DETAIL", Align::kLeft, Room::kWide}};
  if (planned) columns.push_back({"STARTS IN", Align::kLeft});
  if (workloads) columns.push_back({"WORKLOAD", Align::kLeft, Room::kElastic});
  Table table(columns);
  for (const v1::QueueRow& r : answer.rows()) {
    const v1::JobSpec& spec = r.job().spec();
    std::vector<Cell> cells{r.position() == 0 ? "-" : std::to_string(r.position()),
                            r.job().id(),
                            spec.name(),
                            payer_text(spec.account(), spec.user()),
                            r.shape(),
                            gpus_text(r.job().milligpu()),
                            age_text(to_ms(r.wait())) + (r.job().parked() ? " parked" : ""),
                            priority_text(spec),
                            waits_text(r),
                            r.waits_for().detail()};
    if (planned) {
      cells.push_back(r.has_expected_start() ? start_text(r.expected_start(), to_ms(answer.time()))
                                             : (r.no_estimate().empty() ? "-" : "no estimate"));
    }
    if (workloads) cells.push_back(has_siblings(r) ? workload_text(r.job().workload()) : "-");
    table.row(std::move(cells));
  }
  return table;
}

// --- --would -------------------------------------------------------------------------------------

std::string nodes_text(const v1::Job& job) {
  if (job.node_count() == 1 && job.nodes_size() == 1) return job.nodes(0);
  return std::to_string(job.node_count()) + " nodes";
}

Table would_table(const v1::ListQueueResponse& answer) {
  Table table({{"POS", Align::kRight},
               {"JOB"},
               {"NAME", Align::kLeft, Room::kElastic},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"SHAPE", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"WAIT", Align::kRight},
               {"NEXT PASS", Align::kLeft, Room::kElastic},
               {"DETAIL", Align::kLeft, Room::kWide}});
  for (const v1::QueueRow& r : answer.rows()) {
    const v1::JobSpec& spec = r.job().spec();
    table.row({r.position() == 0 ? "-" : std::to_string(r.position()),
               r.pending() ? "-" : r.job().id(), spec.name(),
               payer_text(spec.account(), spec.user()), r.shape(), gpus_text(r.job().milligpu()),
               age_text(to_ms(r.wait())),
               r.would_start() ? "would start on " + nodes_text(r.job()) : waits_text(r),
               r.waits_for().detail()});
  }
  return table;
}

// Prints notes about the clusters, which the rows do not show.
void say_of_clusters(Session& s, const v1::ListQueueResponse& answer) {
  if (answer.observed_clusters().empty()) {
    s.say("no namespace is in mode observe or warn: this is the queue as it is");
  }
  for (const std::string& cluster : answer.partial_clusters()) {
    s.say("not all pods of cluster " + cluster +
          " are known:\nno edge watches it, its list is in progress, or too many pods wait");
  }
}

// Pods of starting or ending jobs may still have Subak's gate.
std::string nothing_waits(const v1::ListQueueResponse& answer) {
  const std::int64_t jobs = answer.unsettled_jobs();
  if (jobs == 0) return "nothing waits";
  return "no job is waiting; " + std::to_string(jobs) + (jobs == 1 ? " job is" : " jobs are") +
         " starting or ending";
}

void show_queue(Session& s, const QueueCommand& o) {
  v1::ListQueueRequest request;
  request.set_account(o.account);
  request.set_would(o.would);
  request.set_expand(o.expand);
  const auto answer = all_pages<v1::ListQueueResponse>(
      s, "JobService/ListQueue", request, o.list.limit, [](auto& a) { return a.mutable_rows(); });
  if (answer.rows().empty() && (s.form() == Form::kTable || s.form() == Form::kWide)) {
    if (!o.account.empty()) s.must_be_account(o.account);
    s.say(o.would ? "nothing would wait" : nothing_waits(answer));
  } else {
    s.show(answer, [&] { return o.would ? would_table(answer) : queue_table(answer); });
  }
  if (o.would) say_of_clusters(s, answer);
}

}  // namespace

void add_queue(Command root, Program program) {
  auto o = std::make_shared<QueueCommand>();
  Command c =
      root.add("queue", "list all waiting jobs, the next job first, and what each job waits for");
  c.option("--account", o->account, "only jobs of this account and the accounts below it", "PATH");
  c.flag("--expand", o->expand,
         "show a row for each job, instead of one row for all waiting jobs of a Deployment or of "
         "another workload");
  c.flag(
      "--would", o->would,
      "show the queue as if every namespace were in mode enforce, and which jobs would start next");
  add_limit(c, o->list);
  add_at(c, o->at);
  add_watch(c, o->watch);
  if (program == Program::kKubectl) add_namespace(c, o->where, true);
  c.run([o, program](Session& s) {
    if (program == Program::kKubectl && o->account.empty()) o->account = account_of(s, o->where);
    return draw_at(s, o->at, o->watch, [&] { show_queue(s, *o); });
  });
}

}  // namespace subak::cli
