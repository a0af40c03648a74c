// The checks of a store before it is used. No check changes the store, and each error names the
// remedy. Private to server/store.
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
std::optional<Error> check_rights(const std::string& path);
// Checks the file before SQLite opens it: it has the magic bytes and all pages that its header
// counts. A missing or empty file is new, and good.
std::optional<Error> check_header(const std::string& path);
// Checks that it is Subak's file, not another program's.
std::optional<Error> check_owner(Connection& db, const std::string& path);
// Checks that the tables of this program exist, to the letter.
std::optional<Error> check_schema(Connection& db, const std::string& path);
// Runs a PRAGMA that answers "ok".
std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql);
// Reads the whole store and proves each row by its checksum. With `checkpoint` it also proves that
// checkpoint's rows and the structure of the whole file. Without it, only the structure of the
// tables that are read.
std::optional<Error> check_content(Connection& db, bool checkpoint);
// Returns the version of the store's facts, if it is at most `known`.
Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known);

}  // namespace subak
