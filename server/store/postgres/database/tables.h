// The checks of a database before it is used. Subak's tables must be as they were made, and the
// role must have the service's rights. No check changes the database, and each error names the
// remedy. Checks that a database version does not support are skipped.
// Private to server/store/postgres.
#pragma once

#include <optional>

#include "core/error.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// Checks the role's rights on the tables that exist.
std::optional<Error> check_rights(PgConnection& db);
// Checks that columns, keys and constraints are those of the migrations; further columns and
// indexes are allowed. It also checks that no trigger, rule or row security
// can change or hide rows.
std::optional<Error> check_tables(PgConnection& db);

}  // namespace subak::postgres
