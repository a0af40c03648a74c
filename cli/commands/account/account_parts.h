// The shared parts of the account commands. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text/account_fields.h"

namespace subak::cli {

struct AccountEditOptions {
  EditOptions edit;
  std::int64_t revision = 0;
  bool dry_run = false;
};
void add_edit_options(Command& command, AccountEditOptions& options);

// Prints the diff for people, or the message for programs; returns the exit code.
int show_edit(Session& session, const std::string& path, const v1::EditAccountResponse& answer,
              bool dry_run);
void print_diff(Session& session, const std::string& title, const std::vector<DiffLine>& lines);

void add_account_edits(Command account);  // set, hold, drain, resume, delete
void add_account_files(Command account);  // apply, diff
void add_account_suggest(Command account);

}  // namespace subak::cli
