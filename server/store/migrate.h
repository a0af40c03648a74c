// Forward-only migrations of the store's tables, each once, in order, in its own transaction.
#pragma once

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

// How many the store has. Refuses a store that has one which `all` lacks (a newer program wrote
// it), or whose text differs from what was applied.
Result<std::size_t> check_applied(Connection& db, const std::vector<Migration>& all);
// The same, then applies what is missing. Returns how many were applied.
Result<int> migrate(Connection& db, const std::vector<Migration>& all);

// Lower-case hexadecimal, of the bytes and of their SHA-256.
std::string hex(std::string_view bytes);
std::string sha256_hex(std::string_view text);

}  // namespace subak
