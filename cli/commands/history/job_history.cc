// subak job history: prints what happened to a job.
#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/commands/job_parts.h"
#include "cli/text/table.h"
#include "cli/text/words.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

struct HistoryCommand {
  std::string id;
  ListOptions list;
};

// Returns "n0, n1 and 6 more" with at most `most` names; empty if there are no names.
template <class Names>
std::string names_text(const Names& names, int count, int most = 4) {
  const int shown = std::min(most, names.size());
  std::string text;
  for (int i = 0; i < shown; ++i) text += (text.empty() ? "" : ", ") + names[i];
  const int more = count - shown;
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

std::string event_line(const v1::JobEvent& e) {
  std::string line = e.text();
  if (!e.account().empty()) line += "; account " + e.account();
  if (e.node_count() > 0) line += "; on " + names_text(e.nodes(), e.node_count());
  if (e.job_count() > 0) line += "; for " + names_text(e.jobs(), e.job_count());
  if (e.kind() == v1::JOB_EVENT_KIND_CLAIMED) {
    line = e.text() + ": " + names_text(e.jobs(), e.job_count());
  }
  return line;
}

void print_events(Session& s, const v1::GetJobHistoryResponse& answer) {
  constexpr std::size_t kIndent = 2;
  int attempt = -1;
  for (const v1::JobEvent& e : answer.events()) {
    if (e.attempt() != attempt && e.attempt() > 0) {
      s.out() << s.paint(Colour::kBold, "attempt " + std::to_string(e.attempt())) << '\n';
    }
    attempt = e.attempt();
    std::string time = time_text(e.time());
    if (e.has_last_time()) {
      const TimeMs took = to_ms(e.last_time()) - to_ms(e.time());
      if (took >= kSecondMs) time += " +" + age_text(took);
    }
    const std::string head = std::string(kIndent, ' ') + time + "  ";
    s.out() << head
            << wrapped(printable(event_line(e)), display_width(head), std::string(kIndent * 4, ' '))
            << '\n';
  }
}

Table event_table(const v1::GetJobHistoryResponse& answer) {
  constexpr Align kLeft = Align::kLeft, kRight = Align::kRight;
  Table table({time_column("TIME"),
               {"EVENT"},
               {"ATTEMPT", kRight},
               {"PODS", kRight},
               {"STATE"},
               {"CAUSE"},
               {"WHAT", kLeft, Room::kElastic},
               {"NODES", kLeft, Room::kElastic},
               {"JOBS", kLeft, Room::kWide},
               {"ACTOR", kLeft, Room::kWide},
               time_column("LAST", Room::kWide),
               time_column("START", Room::kWide),
               time_column("UNTIL", Room::kWide),
               {"FACT", kRight, Room::kWide}});
  for (const v1::JobEvent& e : answer.events()) {
    table.row(
        {time_cell(e.time()), word(e.kind()), e.attempt() > 0 ? std::to_string(e.attempt()) : "",
         e.pods() > 0 ? std::to_string(e.pods()) : "",
         e.state() == v1::JOB_STATE_UNSPECIFIED ? "" : word(e.state()),
         e.cause() == v1::CAUSE_UNSPECIFIED ? "" : word(e.cause()), e.text(),
         names_text(e.nodes(), e.node_count(), e.nodes_size()),
         names_text(e.jobs(), e.job_count(), e.jobs_size()), e.actor(), time_cell(e.last_time()),
         time_cell(e.start()), time_cell(e.until()), std::to_string(e.sequence())});
  }
  return table;
}

// Reads all pages, since a page may be short although more events follow.
v1::GetJobHistoryResponse read_history(Session& s, const HistoryCommand& o) {
  v1::GetJobHistoryRequest request;
  request.set_job_id(o.id);
  using Answer = v1::GetJobHistoryResponse;
  return all_pages<Answer>(
      s, "JobService/GetJobHistory", request, o.list.limit,
      [](Answer& all) { return all.mutable_events(); },
      [](const Answer& all, Answer& page) {
        page.set_facts_read(all.facts_read() + page.facts_read());
      });
}

}  // namespace

void add_job_history(Command job) {
  auto o = std::make_shared<HistoryCommand>();
  Command c = job.add("history", "what happened to a job, with causes, oldest event first");
  c.argument("JOB", o->id, "such as 1-42; also a job that ended long ago");
  add_limit(c, o->list);
  c.run([o](Session& s) {
    const v1::GetJobHistoryResponse answer = read_history(s, *o);
    if (s.is_csv() || s.form() == Form::kWide) {
      s.show(answer, [&] { return event_table(answer); });
    } else {
      s.show_text(answer, [&] { print_events(s, answer); });
    }
    return 0;
  });
}

}  // namespace subak::cli
