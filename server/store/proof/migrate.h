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
  std::string_view name;  // "0001_facts": the number is the version, from 1 without a gap
  std::string_view sql;
};

// The migrations built into this program (migrations/sqlite/*.sql).
const std::vector<Migration>& sqlite_migrations();

// Refuses the migration applied as number `version`, after `done` others, unless it is the next of
// `all`, unchanged.
std::optional<Error> check_next(std::int64_t version, std::string_view name,
                                std::string_view checksum, std::size_t done,
                                const std::vector<Migration>& all);
// Returns how many migrations the store has. Refuses a store with a migration that `all` lacks (a
// newer program wrote it), or whose text differs.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all);
// As check_applied(), then applies the missing ones. Returns how many were applied.
Result<int> migrate(Connection& db, const std::vector<Migration>& all);

// Return lower-case hexadecimal: of the bytes, and of the text's SHA-256.
std::string hex(std::string_view bytes);
std::string sha256_hex(std::string_view text);
// Returns 32 hexadecimal digits, unique.
std::string random_uuid();

}  // namespace subak
