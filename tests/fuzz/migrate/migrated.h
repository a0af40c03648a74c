// Checks what `subak migrate tree` makes of this text. A refusal must name the file. Otherwise a
// second run must give the same account file, `account apply` must read it, and the engine must
// accept each of its accounts. Threads: one at a time.
#pragma once

#include "cli/migrate/migrate.h"
#include "cli/text/account_file.h"
#include "cli/text/failure.h"
#include "server/api/convert/convert.h"
#include "tests/fuzz/common/fuzz.h"

namespace subak {

inline void check_migrated(const std::string& text, const cli::MigrateOptions& options) {
  const auto read = cli::read_migration({{"file", text}}, options);
  if (!read.ok()) {
    fuzz::check_error(read.error());
    assert(read.error().field.starts_with("file:"));
    return;
  }
  const std::string file = cli::migration_text(*read);
  assert(file == cli::migration_text(*cli::read_migration({{"file", text}}, options)));
  assert(cli::share_case_text(*read).starts_with("{\"tree\": ["));
  Engine engine;
  TimeMs now = 1000;
  for (const cli::AccountWish& wish : cli::parse_account_file(file, "migrated")) {
    v1::UpdateAccountRequest request;
    cli::put_wish(wish, "there: ", &request);
    api::Check check;
    const in::UnchangedFields unchanged =
        api::get_unchanged(check, request.account(), request.update_mask());
    AccountSpec spec = api::get(check, request.account(), unchanged);
    assert(check.ok());
    in::SetAccount set{std::move(spec), 0, "fuzz", false, false, false, {}};
    const auto out = engine.apply({++now, "", "fuzz", std::move(set)});
    assert(!out.reply.error);
  }
}

}  // namespace subak
