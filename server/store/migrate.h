// Forward-only migrations of the store's tables, each once, in order, in its own transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "server/store/connection.h"

namespace subak {

struct Migration {
  std::string_view name;  // "0001_facts": the number is the version, from 1 without a gap
  std::string_view sql;
};

// Those that this program was built with (migrations/sqlite/*.sql).
const std::vector<Migration>& sqlite_migrations();

// Refuses what was applied as number `version`, after `done` others, unless it is the next of `all`, unchanged.
std::optional<Error> check_next(std::int64_t version, std::string_view name,
                                std::string_view checksum, std::size_t done,
                                const std::vector<Migration>& all);
// How many the store has. Refuses a store that has one which `all` lacks (a newer program wrote
// it), or whose text differs from what was applied.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all);
// The same, then applies what is missing. Returns how many were applied.
Result<int> migrate(Connection& db, const std::vector<Migration>& all);

// Lower-case hexadecimal, of the bytes and of their SHA-256.
std::string hex(std::string_view bytes);
std::string sha256_hex(std::string_view text);
// 32 hexadecimal digits that nobody else has.
std::string random_uuid();

}  // namespace subak
