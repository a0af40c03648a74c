// What is said about a store before it is used. Each check changes nothing and its error says what
// to do. Private to server/store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "server/store/connection.h"
#include "server/store/sqlite_store.h"

namespace subak {

inline constexpr std::int64_t kApplicationId = 0x5342414b;  // "SBAK", in the header of our files

Error refuse_store(const std::string& path, std::string got, std::string want);
Error damaged_store(const std::string& path, std::string got);
// A row that is not what was written: "row 17 of table facts ...".
Error damaged_row(const std::string& path, std::string_view table, const std::string& which);
// Damage of what can be made again from the facts.
Error damaged_checkpoint(const std::string& path, std::string got);
// After a read that gave nothing: a full disk or a missing right is no damage.
Error unreadable_store(Connection& db, const std::string& path);
std::int64_t file_size(const std::string& path);  // -1: there is none

// The files that are there may be read and written by this user.
std::optional<Error> check_rights(const std::string& path);
// What can be said before SQLite touches the file: it has the magic words, and all the pages that
// its header counts. A file that is missing or empty is new, and good.
std::optional<Error> check_header(const std::string& path);
// It is ours, not another program's.
std::optional<Error> check_owner(Connection& db, const std::string& path);
// The tables that this program makes are there, to the letter.
std::optional<Error> check_schema(Connection& db, const std::string& path);
// Runs a PRAGMA that answers "ok".
std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql);
// Reads all that a store has and proves each row; `checkpoint`: that one's rows and the whole
// file's structure too, without it only the structure of the tables that are read.
std::optional<Error> check_content(Connection& db, bool checkpoint);
// The version of its facts, if it is at most `known`.
Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known);

}  // namespace subak
