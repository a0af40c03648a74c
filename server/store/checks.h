// What is said about a store before it is used. Each check changes nothing and its error says what
// to do. Private to server/store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "server/store/connection.h"

namespace subak {

inline constexpr std::int64_t kApplicationId = 0x5342414b;  // "SBAK", in the header of our files

Error refuse_store(const std::string& path, std::string got, std::string want);
Error damaged_store(const std::string& path, std::string got);
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
// Runs a PRAGMA that answers "ok".
std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql);
// The version of its facts, if it is at most `known`.
Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known);

}  // namespace subak
