// What a database must be before it is used: our tables as they were made, and a role that may do what the service does.
// Each check changes nothing, and its error says what to do. Where a database does not know what is asked, nothing is
// said. Private to server/store/postgres.
#pragma once

#include <optional>

#include "core/error.h"
#include "server/store/postgres/pg_connection.h"

namespace subak::postgres {

// Of the tables that are there.
std::optional<Error> check_rights(PgConnection& db);
// Columns, keys and checks are those of the migrations; further columns and indexes may be there. No trigger, rule or
// row security may change or hide rows.
std::optional<Error> check_tables(PgConnection& db);

}  // namespace subak::postgres
