// Forward-only migrations of the database's tables, each once, in order, in its own transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "server/store/migrate.h"
#include "server/store/postgres/pg_connection.h"

namespace subak::postgres {

// Those that this program was built with (migrations/postgres/*.sql).
const std::vector<Migration>& postgres_migrations();

// Applies what is missing, under the epoch. Returns how many. Refuses a store that has one which `all` lacks, or
// whose text differs from what was applied.
Result<int> migrate(PgConnection& db, const std::vector<Migration>& all, std::int64_t epoch,
                    TimeMs now_ms);

}  // namespace subak::postgres
