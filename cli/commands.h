// Functions that add each family of commands below the root (`subak account`, `subak job`, ...),
// and the options that several families share. run_cli() calls them before it parses the command
// line. Each function registers its commands with Command::run(). The option values live as long as
// the tree.
// Threads: one at a time.
#pragma once

#include "cli/command.h"
#include "cli/session.h"

namespace subak::cli {

void add_status(Command root);
void add_account(Command root);
// With Program::kKubectl, the command is about the account of one namespace.
void add_share(Command root, Program program);
void add_budget(Command root);
void add_job(Command root);
void add_queue(Command root, Program program);
void add_claims(Command root);
void add_why(Command root, Program program);
void add_plan(Command root);
void add_cluster(Command root);
// Adds `subak cluster map`.
void add_cluster_map(Command cluster);
void add_usage(Command root);
void add_audit(Command root);
void add_policy(Command root);
void add_admin(Command root);
void add_sim(Command root);
void add_replay(Command root);
void add_whatif(Command root);
void add_migrate(Command root);
void add_install(Command root);
void add_preflight(Command root);
void add_uninstall(Command root);
// Adds the completion command. Call this function last, because the command needs the finished
// tree. `parser` must outlive the run.
void add_completion(Command root, const Parser& parser);
// A hidden command for completion scripts. It prints names, one on each line. If the service is
// unreachable, it prints nothing.
inline constexpr char kCompleteCommand[] = "__complete";
void add_complete(Command root);
void add_version(Command root);

// The number of rows of a list.
struct ListOptions {
  // 0: all rows.
  std::int64_t limit = 0;
};
// Adds --limit.
void add_limit(Command& command, ListOptions& options);

// The options of a command that repeats its output with repeat() of cli/session.h.
struct WatchOptions {
  // True: the command repeats its output until the user interrupts it.
  bool watch = false;
  // Seconds between two updates.
  double interval = 2;
  // Returns the seconds between two updates; 0: the command runs once.
  double seconds() const { return watch ? interval : 0; }
};
// Adds --watch and --interval.
void add_watch(Command& command, WatchOptions& options);

// The option of a read that can show an earlier moment.
struct MomentOptions {
  // The number of a fact, or a time as instant_of() reads it. Empty: the present.
  std::string at;
};
// Adds --at.
void add_at(Command& command, MomentOptions& options);
// Runs `draw` about the present, and again as `watch` says, or once about the moment of `at`. Then
// it also prints which moment that is. Throws Failure (usage) if both options are set, or if the
// moment has another form.
int draw_at(Session& session, const MomentOptions& at, const WatchOptions& watch,
            const std::function<void()>& draw);

// The reason that every edit writes to the audit log, and the id that makes a retry safe.
struct EditOptions {
  // Why the user makes the edit, for the audit log.
  std::string reason;
  // The id of this edit. Empty: the service treats a retry as another edit.
  std::string request_id;
};
// Adds a required --reason, and --request-id.
void add_reason(Command& command, EditOptions& options);
// Adds --request-id alone, for edits that need no reason.
void add_request_id(Command& command, EditOptions& options);

}  // namespace subak::cli
