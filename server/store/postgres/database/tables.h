// The checks of a database before it is used: Subak's tables as they were made, and a role with the
// service's rights. No check changes the database, and each error names the remedy. Questions that
// a database version cannot answer are skipped. Private to server/store/postgres.
#pragma once

#include <optional>

#include "core/error.h"
#include "server/store/postgres/database/pg_connection.h"

namespace subak::postgres {

// Checks the rights on the tables that exist.
std::optional<Error> check_rights(PgConnection& db);
// Checks that columns, keys and checks are those of the migrations; further columns and indexes are
// allowed. No trigger, rule or row security may change or hide rows.
std::optional<Error> check_tables(PgConnection& db);

}  // namespace subak::postgres
