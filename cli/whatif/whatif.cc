// subak whatif: what another share, policy or fleet would have done, and would do now.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/replay/store_file.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/words.h"
#include "cli/whatif/change_file.h"
#include "cli/whatif/whatif_text.h"
#include "server/whatif/what_if_run.h"
#include "subak/v1/policy_service.pb.h"

namespace subak::cli {
namespace {

struct WhatIfCommand {
  std::string file, from, state;
};

// Shows the progress on a terminal, in one line.
class ProgressLine {
 public:
  explicit ProgressLine(Session& session) : session_(session) {}
  ~ProgressLine() {
    if (shown_) session_.err() << '\r' << std::string(kWidth, ' ') << '\r' << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& what, int percent) {
    if (!session_.screen().progress) return;
    std::string line = printable(what) + ": " + std::to_string(percent) + " %";
    line.resize(kWidth, ' ');
    session_.err() << '\r' << line << std::flush;
    shown_ = true;
  }

 private:
  static constexpr std::size_t kWidth = 40;
  Session& session_;
  bool shown_ = false;
};

v1::WhatIfReport of_store(const std::string& state, const v1::WhatIfRequest& request,
                          ProgressLine& line) {
  const auto reader = open_store_file(state, "from");
  const auto last = reader->last_seq();
  if (!last.ok()) throw store_failure(last.error(), "from");
  whatif::Caller caller;
  caller.progress = [&line](const char* what, int percent) { line.show(what, percent); };
  auto report = whatif::run_what_if(*reader, *last, request, caller);
  if (!report.ok()) throw store_failure(report.error(), "from");
  return **std::move(report);
}

v1::WhatIfReport of_service(Session& s, const v1::WhatIfRequest& request, ProgressLine& line) {
  v1::WhatIfResponse answer;
  v1::WhatIfReport report;
  bool is_there = false;
  s.client().stream("PolicyService/WhatIf", request, answer, [&] {
    if (answer.has_progress()) line.show(answer.progress().what(), answer.progress().percent());
    if (answer.has_report()) {
      report = answer.report();
      is_there = true;
    }
    return true;
  });
  if (is_there) return report;
  throw Failure{kExitRefused, "the answer ended without a report", "try again"};
}

int what_if(Session& s, const WhatIfCommand& o) {
  if (s.is_csv()) s.show_text(v1::WhatIfReport(), [] {});  // refuses csv before any work
  v1::WhatIfRequest request = parse_change_file(read_input(o.file), o.file);
  if (!o.from.empty()) *request.mutable_from() = instant_of(o.from, "--from", now_ms());
  v1::WhatIfReport report;
  {
    ProgressLine line(s);
    report = o.state.empty() ? of_service(s, request, line) : of_store(o.state, request, line);
  }
  s.show_text(report, [&] { print_what_if(s, report); });
  return kExitDone;
}

}  // namespace

void add_whatif(Command root) {
  auto o = std::make_shared<WhatIfCommand>();
  Command c = root.add(
      "whatif", "what other shares, quotas, policy, nodes or load would have done, and would now");
  c.required_option("-f,--file", o->file, "a YAML file with the change; - for standard input",
                    "FILE");
  c.option("--from", o->from, "the start of the history to replay; default 14d before its end",
           "TIME");
  c.option("--state", o->state,
           "read a backup, or subakd's state file, instead of asking the service", "FILE");
  c.details(
      "The file, in which every key is optional:\n"
      "  accounts:                         # as in the file of account apply\n"
      "    - path: ml.vision\n"
      "      shares: 3\n"
      "  policy:                           # the keys of policy set\n"
      "    halfLife: 3d\n"
      "  nodes:\n"
      "    - {like: node-7, count: +8}     # eight more nodes like node-7; -8: eight less\n"
      "    - {remove: node-3}              # may also have cluster\n"
      "  load:\n"
      "    - {like: ml.vision, times: 0.5} # half of its jobs come twice\n"
      "  seed: 7                           # of the random numbers for load\n"
      "Nothing changes in the service or in the store.");
  c.run([o](Session& s) { return what_if(s, *o); });
}

}  // namespace subak::cli
