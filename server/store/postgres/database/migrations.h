// Forward-only migrations of the database's tables, each once, in order, in its own transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "server/store/postgres/database/pg_connection.h"
#include "server/store/proof/migrate.h"

namespace subak::postgres {

// The migrations built into this program (migrations/postgres/*.sql).
const std::vector<Migration>& postgres_migrations();

// Applies the missing migrations, under the epoch. Returns how many. Refuses a store with a
// migration that `all` lacks, or whose text differs.
Result<int> migrate(PgConnection& db, const std::vector<Migration>& all, std::int64_t epoch,
                    TimeMs now_ms);

}  // namespace subak::postgres
