// Forward-only migrations of the store's tables, each once, in order, in its own transaction.
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
  // "0001_facts". The number is the version, from 1 without a gap.
  std::string_view name;
  // The statements, as one text. A digest of it is stored.
  std::string_view sql;
};

// The migrations built into this program (migrations/sqlite/*.sql).
// Number i + 1 at index i.
const std::vector<Migration>& sqlite_migrations();

// Refuses the migration applied as number `version`, after `done` others, unless it is the next of
// `all`, unchanged.
// `checksum`: sha256_hex() of its text. kPrecondition, field "store.migrations".
std::optional<Error> check_next(std::int64_t version, std::string_view name,
                                std::string_view checksum, std::size_t done,
                                const std::vector<Migration>& all);
// Returns how many migrations the store has. Refuses a store with a migration that `all` lacks (a
// newer program wrote it), or whose text differs.
// A table of migrations with a damaged row, or without rows in a store with facts, is damage.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all);
// As check_applied(), then applies the missing ones. Returns how many were applied.
// After an error the migrations before it stay applied, and the failed one left no trace. It does
// not compare fact versions.
Result<int> migrate(Connection& db, const std::vector<Migration>& all);

// Return lower-case hexadecimal: of the bytes, and of the text's SHA-256.
std::string hex(std::string_view bytes);
std::string sha256_hex(std::string_view text);
// Returns 32 hexadecimal digits, unique.
// From OpenSSL's generator. Not in the form of RFC 4122.
std::string random_uuid();

}  // namespace subak
