// Checks a database before it is used. Subak's tables must be as the migrations made them, and the
// role must have the rights of the service. No check changes the database, and each error says what
// to do. A check that this version of PostgreSQL does not support is skipped. Private to
// server/store/postgres. Threads: those that may use the connection.
#pragma once

#include <optional>

#include "core/error.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// Checks the role's rights on the tables that exist.
std::optional<Error> check_rights(PgConnection& db);
// Checks that the columns, keys and constraints of the migrations exist; further columns and
// indexes are allowed. It also checks that no trigger, rule or row security can change or hide
// rows.
std::optional<Error> check_tables(PgConnection& db);

}  // namespace subak::postgres
