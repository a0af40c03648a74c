// subak replay: decides a pass of a store's history again, and compares the facts.
#include "server/past/replay.h"

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/replay/store_file.h"
#include "cli/text/failure.h"
#include "cli/text/table.h"
#include "cli/text/words.h"
#include "server/api/convert/convert.h"
#include "subak/v1/admin_service.pb.h"

namespace subak::cli {
namespace {

struct ReplayCommand {
  std::string state = "var/subak.db";  // subakd has the same
  std::uint64_t decision = 0, from = 0, to = 0;
};

Failure failure_of(const Error& error) { return store_failure(error, "decision"); }

void line(Session& s, const std::string& name, const std::string& value) {
  print_line(s, name, value, 12);
}

// Fills the report with the first difference, or with the one decision of a command.
void put_pass(const Replayed& done, v1::ReplayReport& out) {
  out.set_fact(fact_to_text(done.fact));
  *out.mutable_time() = to_timestamp(done.fact.time_ms);
  out.set_pass_begin(done.begin);
  out.set_pass_end(done.end);
  out.set_stored(done.stored);
  out.set_replayed(done.replayed);
}

// Adds why the job waited in the state before the pass.
void put_reasons(const Replay& replay, const Replayed& done, v1::ReplayReport& out) {
  const Engine* const before = replay.before();
  if (before == nullptr || !done.job) return;
  const TimeMs at = std::max(before->now(), done.fact.time_ms);
  const auto why = before->explain(done.job, at);
  if (!why) return;
  out.set_job_id(text::job_id_text(done.job));
  out.set_position(static_cast<std::int64_t>(why->position));
  for (const Reason& reason : why->reasons) api::put(reason, out.add_reasons());
}

void print_reasons(Session& s, const v1::ReplayReport& report) {
  if (report.job_id().empty()) return;
  s.out() << "\nbefore this pass, job " << report.job_id() << " had "
          << (report.position() == 0 ? "no position in the queue"
                                     : "position " + std::to_string(report.position()))
          << '\n';
  for (const v1::WaitReason& r : report.reasons()) {
    const std::string subject = r.subject().empty() ? "" : " " + printable(r.subject());
    const std::string token = "  " + printable(r.token()) + subject;
    s.out() << token
            << (r.detail().empty() ? ""
                                   : wrapped(": " + printable(r.detail()), token.size(), "    "))
            << '\n';
  }
}

std::string or_none(const std::string& fact) { return fact.empty() ? "no fact" : fact; }

void print_pass(Session& s, const v1::ReplayReport& report) {
  line(s, "fact", report.fact());
  if (report.same()) {
    line(s, "pass",
         "facts " + std::to_string(report.pass_begin()) + " to " +
             std::to_string(report.pass_end()) + " of " + exact_time_text(report.time()));
    line(s, "same", "yes: a pass in the state before makes the same facts");
  } else {
    line(s, "same", "no: no pass in a state before it makes the stored facts");
    line(s, "nearest", "a pass from fact " + std::to_string(report.pass_begin()) + " on");
    line(s, "stored", or_none(report.stored()));
    line(s, "replayed", or_none(report.replayed()));
  }
  print_reasons(s, report);
}

int replay_one(Session& s, const ReplayCommand& o) {
  const auto reader = open_store_file(o.state, "decision");
  Replay replay(*reader);
  const Result<Replayed> done = replay.fact(o.decision);
  if (!done.ok()) throw failure_of(done.error());
  if (done->verdict == ReplayVerdict::kNoPass) {
    throw Failure{kExitUsage, "--decision: no pass made fact " + fact_to_text(done->fact),
                  "name a start, a reservation or a claim of a pass; other facts do not name the "
                  "input that made them"};
  }
  v1::ReplayReport report;
  report.set_same(done->verdict == ReplayVerdict::kSame);
  put_pass(*done, report);
  put_reasons(replay, *done, report);
  s.show_text(report, [&] { print_pass(s, report); });
  return report.same() ? kExitDone : kExitRefused;
}

// Replays each decision of the range, up to the first difference.
int replay_range(Session& s, const ReplayCommand& o) {
  const auto reader = open_store_file(o.state, "decision");
  Replay replay(*reader);
  const Result<ReplayedRange> done = replay.range(o.from, o.to);
  if (!done.ok()) throw failure_of(done.error());
  v1::ReplayReport report;
  report.set_same(!done->different);
  report.set_decisions_same(done->same);
  report.set_decisions_not_of_passes(done->no_pass);
  if (done->different) {
    put_pass(*done->different, report);
    put_reasons(replay, *done->different, report);
  }
  s.show_text(report, [&] {
    line(s, "decisions",
         std::to_string(done->same) + " came out the same, " + std::to_string(done->no_pass) +
             " were made by other inputs than passes");
    if (!report.same()) print_pass(s, report);
  });
  return report.same() ? kExitDone : kExitRefused;
}

int replay(Session& s, const ReplayCommand& o) {
  if (s.is_csv()) s.show_text(v1::ReplayReport(), [] {});  // refuses csv before any work
  const bool is_range = o.from != 0 || o.to != 0;
  if (is_range == (o.decision != 0)) {
    throw usage_failure("--decision: want it, or --from and --to",
                        "name one fact, or the first and the last fact of a range");
  }
  if (!is_range) return replay_one(s, o);
  if (o.from == 0 || o.to < o.from) {
    throw usage_failure(
        "--from: was " + std::to_string(o.from) + ", --to: was " + std::to_string(o.to),
        "name the first and the last fact of a range, from 1");
  }
  return replay_range(s, o);
}

}  // namespace

void add_replay(Command root) {
  auto o = std::make_shared<ReplayCommand>();
  Command c =
      root.add("replay", "decide a pass of a store again: does it make the same facts, and why?");
  c.option("--decision", o->decision, "a fact of the pass: a start, a reservation or a claim",
           "SEQ");
  c.option("--from", o->from, "instead of --decision: replay all decisions from this fact on",
           "SEQ");
  c.option("--to", o->to, "the last fact of the range", "SEQ");
  c.option("--state", o->state, "a backup, or subakd's state file; default var/subak.db", "FILE");
  c.details("Exit code 1: a decision comes out differently.");
  c.run([o](Session& s) { return replay(s, *o); });
}

}  // namespace subak::cli
