// Checks a SQLite store before it is used. No check changes the store, and each error says what to
// do. Private to server/store. Errors are kPrecondition, and says_damage() is true only for damage.
// Threads: those that may use the connection. Make the checks in this order: check_rights(),
// check_header(), check_log(), check_owner(), check_applied(), check_schema(), check_version(),
// check_content().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/file/connection.h"
#include "server/store/file/refusals.h"

namespace subak {

// Checks that this user may read and write the store, its log and its shared memory file. A missing
// file is accepted.
std::optional<Error> check_rights(const std::string& path);
// Checks the file before SQLite opens it: the file must begin with the magic bytes, and must have
// all pages that its header counts (https://www.sqlite.org/fileformat.html, 1.3). There are these
// exceptions:
// - A missing or empty file is a new store, which is accepted.
// - If there is a log, the file may be shorter than its header says.
// - If there is a journal, the header may be anything.
std::optional<Error> check_header(const std::string& path);
// Checks that the file belongs to Subak and not to another program, by the application id in the
// header (kApplicationId).
std::optional<Error> check_owner(Connection& db, const std::string& path);
// Checks that the tables of this program exist, with exactly the same SQL. To know that SQL, it
// runs the migrations in memory. Further tables and indexes are allowed. Triggers are refused,
// since they could change rows.
std::optional<Error> check_schema(Connection& db, const std::string& path);
// Runs a PRAGMA that must return "ok". `sql`: the complete statement. Any other result is damage,
// and the error has that result.
std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql);
// Reads the whole store, and checks the checksum of each row and that the checkpoint belongs to a
// fact of this history. If `checkpoint` is true, it also checks the rows of the checkpoint, and the
// structure of the whole file. If `checkpoint` is false, it checks only the structure of the tables
// that it reads. The time of the check grows with the store. The store may be in use, since each
// part of the check reads one snapshot.
std::optional<Error> check_content(Connection& db, bool checkpoint);
// Returns the fact version of the store, if that is at most `known`. A newer version is refused,
// but is not damage: a newer program has finalized the store.
Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known);

}  // namespace subak
