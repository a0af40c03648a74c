// Applies the migrations of the store's tables. Each migration runs once, in order, in its own
// transaction. No migration can be undone. Threads: those that may use the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "server/store/file/connection.h"

namespace subak {

// One migration.
struct Migration {
  // The name, such as "0001_facts". Its number is the version; versions count from 1 without a gap.
  std::string_view name;
  // The statements, as one text. The store has a digest of this text for each migration that was
  // applied.
  std::string_view sql;
};

// Returns the migrations that are built into this program (migrations/sqlite/*.sql). The migration
// of version i + 1 has the index i.
const std::vector<Migration>& sqlite_migrations();

// Checks one row of the table of applied migrations. The row says that the store has applied the
// migration `name` as number `version`. `done`: how many rows come before this row. `checksum`:
// sha256_hex() of the text of that migration. The migration of the row must be the next migration
// of `all`, with the same text. A refusal is kPrecondition, with the field "store.migrations".
std::optional<Error> check_next(std::int64_t version, std::string_view name,
                                std::string_view checksum, std::size_t done,
                                const std::vector<Migration>& all);
// Returns how many migrations the store has applied. It refuses a store with a migration that `all`
// lacks, since a newer program wrote that store. It also refuses a migration whose text differs
// from that in `all` now. A bad row in the table of migrations is damage, and so is an empty table
// in a store that has facts.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all);
// Does what check_applied() does, and then applies the migrations that the store lacks. Returns how
// many it applied. If a migration fails, it has no effect, and the migrations before it stay
// applied. It does not compare fact versions.
Result<int> migrate(Connection& db, const std::vector<Migration>& all);

// Returns the SHA-256 of the text as hexadecimal digits.
std::string sha256_hex(std::string_view text);
// Returns a unique id of 32 random hexadecimal digits. OpenSSL's generator makes them. The id does
// not have the form of RFC 4122.
std::string random_uuid();

}  // namespace subak
