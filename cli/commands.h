// Functions that add each family of commands below the root. Threads: none.
#pragma once

#include "cli/command.h"
#include "cli/session.h"

namespace subak::cli {

void add_status(Command root);
void add_account(Command root);
void add_share(Command root);
void add_job(Command root);
void add_queue(Command root);
void add_why(Command root);
void add_plan(Command root);
void add_cluster(Command root);
void add_usage(Command root);
void add_audit(Command root);
void add_admin(Command root);
void add_sim(Command root);
void add_install(Command root);
void add_preflight(Command root);
void add_uninstall(Command root);
// Needs the finished tree: `parser` must outlive the run.
void add_completion(Command root, const Parser& parser);
// A hidden command for completion scripts. It prints names, one a line, and nothing if the service
// is unreachable.
inline constexpr char kCompleteCommand[] = "__complete";
void add_complete(Command root);
void add_version(Command root);

// Options that several commands share.
struct ListOptions {
  std::int64_t limit = 0;
};
void add_limit(Command& command, ListOptions& options);

struct WatchOptions {
  bool watch = false;
  double interval = 2;
  double seconds() const { return watch ? interval : 0; }
};
void add_watch(Command& command, WatchOptions& options);

struct EditOptions {
  std::string reason;
  std::string request_id;
};
void add_reason(Command& command, EditOptions& options);  // required
void add_request_id(Command& command, EditOptions& options);

}  // namespace subak::cli
