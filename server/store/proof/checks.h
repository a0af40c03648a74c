// The checks of a store before it is used. No check changes the store, and each error names the
// remedy. Private to server/store.
// Errors are kPrecondition; says_damage() tells damage from a refusal. The order of use: rights,
// header, log (check_log()), owner, migrations, schema, version, content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/file/connection.h"
#include "server/store/file/refusals.h"

namespace subak {

// Checks that this user may read and write the files that exist.
// Of the store, its log and its shared memory file; missing ones are good.
std::optional<Error> check_rights(const std::string& path);
// Checks the file before SQLite opens it: it has the magic bytes and all pages that its header
// counts. A missing or empty file is new, and good.
// By SQLite's file format, https://www.sqlite.org/fileformat.html, 1.3. A file with a log may be
// shorter than its header says, and one with a journal has any header.
std::optional<Error> check_header(const std::string& path);
// Checks that it is Subak's file, not another program's.
// By the application id in its header (kApplicationId).
std::optional<Error> check_owner(Connection& db, const std::string& path);
// Checks that the tables of this program exist, to the letter.
// Compares with the tables that the migrations make in memory. More tables and indexes are allowed.
// A trigger is not, since it could change rows.
std::optional<Error> check_schema(Connection& db, const std::string& path);
// Runs a PRAGMA that answers "ok".
// `sql`: the whole statement. Any other answer is damage, with that answer as text.
std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql);
// Reads the whole store and proves each row by its checksum. With `checkpoint` it also proves that
// checkpoint's rows and the structure of the whole file. Without it, only the structure of the
// tables that are read.
// The checkpoint must continue from a fact of this history. Time grows with the store. The store
// may be in use: each part reads one snapshot.
std::optional<Error> check_content(Connection& db, bool checkpoint);
// Returns the version of the store's facts, if it is at most `known`.
// A newer version is a refusal, not damage: a newer program finalized the store.
Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known);

}  // namespace subak
