// The checks of a store before it is used. No check changes the store, and each error names the
// remedy. Private to server/store.
// Errors are kPrecondition; says_damage() is true only for damage. Make the checks in this order:
// rights, header, log (check_log()), owner, migrations, schema, version, content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/file/connection.h"
#include "server/store/file/refusals.h"

namespace subak {

// Checks that this user may read and write the store, its log and its shared memory file.
// It accepts missing files.
std::optional<Error> check_rights(const std::string& path);
// Checks the file before SQLite opens it: it must have the magic bytes and all pages that its
// header counts. A missing or empty file is a new store, and accepted.
// Source: SQLite's file format, https://www.sqlite.org/fileformat.html, 1.3. A file with a log may
// be shorter than its header says. A file with a journal may have any header.
std::optional<Error> check_header(const std::string& path);
// Checks by the application id in the header (kApplicationId) that the file is Subak's and not
// another program's.
std::optional<Error> check_owner(Connection& db, const std::string& path);
// Checks that the tables of this program exist, with exactly the same SQL.
// It compares them with the tables that the migrations make in memory. It allows further tables and
// indexes. It refuses triggers, since they could change rows.
std::optional<Error> check_schema(Connection& db, const std::string& path);
// Runs a PRAGMA that must answer "ok".
// `sql`: the whole statement. Any other answer is damage, and the error has that answer.
std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql);
// Reads the whole store and checks the checksum of each row. With `checkpoint` it also checks the
// checkpoint's rows and the structure of the whole file. Without it, it checks only the structure
// of the tables that it reads.
// The checkpoint must belong to a fact of this history. The time grows with the store. The store
// may be in use: each part of the check reads one snapshot.
std::optional<Error> check_content(Connection& db, bool checkpoint);
// Returns the version of the store's facts, if it is at most `known`.
// A newer version is a refusal, not damage, since a newer program has finalized the store.
Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known);

}  // namespace subak
