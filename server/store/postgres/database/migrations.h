// Migrations of the database's tables. Each runs once, in order, in its own transaction. None can
// be undone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "server/store/postgres/database/pg_connection.h"
#include "server/store/proof/migrate.h"

namespace subak::postgres {

// The migrations built into this program (migrations/postgres/*.sql).
const std::vector<Migration>& postgres_migrations();

// Applies the missing migrations while this process leads with `epoch`. Returns how many it
// applied. Refuses a store that has a migration which `all` lacks, or one with a different text.
Result<int> migrate(PgConnection& db, const std::vector<Migration>& all, std::int64_t epoch,
                    TimeMs now_ms);

}  // namespace subak::postgres
