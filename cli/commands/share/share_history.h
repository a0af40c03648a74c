// `subak share ACCOUNT --from TIME`: what an account was due and what it had, over time. Each row
// is the state of one moment, as `subak share ACCOUNT --at TIME` shows it.
// Threads: one at a time.
#pragma once

#include <string>

#include "cli/commands.h"

namespace subak::cli {

// The moments to show, as the command line gives them. All empty: only the present.
struct ShareMoments {
  // The period. An empty `to` is now. An empty `from` is one day before `to`.
  std::string from, to;
  // The time between two moments. Empty: one hour.
  std::string step;
  bool any() const { return !from.empty() || !to.empty() || !step.empty(); }
};
// Adds --from, --to and --step.
void add_share_moments(Command& command, ShareMoments& moments);

// Prints the row of `account` (an account or a user) at the end of each step. It leaves out moments
// before the store's first fact, and before the account was made. Throws Failure if no moment is
// left, or if the period has more than limits::kMaxHistorySteps steps.
int show_share_history(Session& session, const std::string& account, const ShareMoments& moments);

}  // namespace subak::cli
