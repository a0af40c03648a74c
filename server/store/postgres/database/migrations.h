// Applies the migrations of the database's tables. Each migration runs once, in order, in its own
// transaction. No migration can be undone. Threads: those that may use the connection.
#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "server/store/postgres/database/pg_connection.h"
#include "server/store/proof/migrate.h"

namespace subak::postgres {

// Returns the migrations that are built into this program (migrations/postgres/*.sql).
const std::vector<Migration>& postgres_migrations();

// Applies the migrations that the store lacks. `epoch`: the number of this process's leadership; if
// another process leads, no migration takes effect. Returns how many it applied. It refuses a store
// with a migration that `all` lacks, or that has another text in `all`.
Result<int> migrate(PgConnection& db, const std::vector<Migration>& all, std::int64_t epoch,
                    TimeMs now_ms);

}  // namespace subak::postgres
