// Migrations of the store's tables. Each runs once, in order, in its own transaction.
// None can be undone.
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
  // Such as "0001_facts". The number is the version, from 1 without a gap.
  std::string_view name;
  // The statements, as one text. The store has a digest of this text.
  std::string_view sql;
};

// The migrations built into this program (migrations/sqlite/*.sql).
// Number i + 1 at index i.
const std::vector<Migration>& sqlite_migrations();

// Checks a migration that a store has applied as number `version`, after `done` others. It must be
// the next of `all`, with the same text.
// `checksum`: sha256_hex() of its text. A refusal is kPrecondition, field "store.migrations".
std::optional<Error> check_next(std::int64_t version, std::string_view name,
                                std::string_view checksum, std::size_t done,
                                const std::vector<Migration>& all);
// Returns how many migrations the store has. Refuses a store that has a migration which `all`
// lacks, since a newer program wrote it. Also refuses a migration with a different text.
// A damaged row in the table of migrations is damage. So is an empty table in a store with facts.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all);
// As check_applied(), then applies the missing migrations. Returns how many it applied.
// If a migration fails, the ones before it stay applied, and the failed one has no effect. It does
// not compare fact versions.
Result<int> migrate(Connection& db, const std::vector<Migration>& all);

// Return lower-case hexadecimal digits: of the bytes, and of the SHA-256 of the text.
std::string hex(std::string_view bytes);
std::string sha256_hex(std::string_view text);
// Returns 32 random hexadecimal digits, as a unique id.
// They are from OpenSSL's generator, and not in the form of RFC 4122.
std::string random_uuid();

}  // namespace subak
