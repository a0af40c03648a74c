// The parts that several commands of `subak account` share. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text/account_fields.h"

namespace subak::cli {

// The options of each command that edits one account.
struct AccountEditOptions {
  EditOptions edit;
  // The revision that the account must have; 0: any.
  std::int64_t revision = 0;
  // True: the service checks the edit and shows the diff, but changes nothing.
  bool dry_run = false;
  // True: the service makes the edit although another caller manages the account.
  bool override_managed = false;
};
// Puts the options into the request of an edit. `Request`: any request with these fields.
template <class Request>
void put_options(const AccountEditOptions& options, Request& request) {
  request.set_revision(options.revision);
  request.set_reason(options.edit.reason);
  request.set_request_id(options.edit.request_id);
  request.set_validate_only(options.dry_run);
  request.set_override_managed(options.override_managed);
}
// Adds --reason, --request-id, --revision, --dry-run and --override.
void add_edit_options(Command& command, AccountEditOptions& options);

// Prints the result of an edit: the diff for people, or `answer` itself for programs. Returns the
// exit code.
int show_edit(Session& session, const std::string& path, const v1::EditAccountResponse& answer,
              bool dry_run);
// Adds --override, for edits of accounts that another caller manages.
void add_override(Command& command, bool& override_managed);
// Adds the removal of an account to an edit.
void add_removal(const std::string& path, v1::ApplyAccountsRequest* request);
// Prints a title and the diff: old values in red, new values in green.
void print_diff(Session& session, const std::string& title, const std::vector<DiffLine>& lines);

// Adds set, hold, drain, resume and delete.
void add_account_edits(Command account);
// Adds apply and diff, which read a file of accounts, and move and undo.
void add_account_files(Command account);
// Adds suggest, which writes a file of accounts from the namespaces of a cluster.
void add_account_suggest(Command account);

}  // namespace subak::cli
