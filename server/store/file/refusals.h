// Makes the errors with which a store is refused. Each error names the file and says what to do.
// Private to server/store, except says_damage(). Threads: any; pure functions, but
// unreadable_store() needs a thread that may use the connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

class Connection;

// The bytes "SBAK", which are in the header of each file (PRAGMA application_id).
inline constexpr std::int64_t kApplicationId = 0x5342414b;

// refuse_store() returns the error for a store that is refused, and damaged_store() that for a
// damaged store. Both errors are kPrecondition, and the field is the path. The error of
// damaged_store() says that a backup must be restored.
Error refuse_store(const std::string& path, std::string got, std::string want);
Error damaged_store(const std::string& path, std::string got);
// Returns the error for a row with a wrong checksum, such as "row 17 of table facts ...".
Error damaged_row(const std::string& path, std::string_view table, const std::string& which);
// Returns the error for a damaged checkpoint, which can be made again from the facts. The error
// says that a start with --ignore-checkpoint does that.
Error damaged_checkpoint(const std::string& path, std::string got);
// Returns the error after a read that returned no row. If SQLite reports an error, such as a full
// disk or a missing right, the result is that error. Otherwise the row is missing, which counts as
// damage. Call it before the connection's next call.
Error unreadable_store(Connection& db, const std::string& path);
// Returns the size of the file in bytes; -1: the file does not exist, or its folder cannot be
// searched.
std::int64_t file_size(const std::string& path);

// True if the error says that the store is damaged. Another attempt does not help then; an operator
// must act. This works for both kinds of stores: the `want` of such an error begins with
// kWantUndamaged.
bool says_damage(const Error& error);
inline constexpr char kWantUndamaged[] = "want an undamaged store: ";

}  // namespace subak
