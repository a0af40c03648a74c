// The errors with which a store is refused. Each names the file and the remedy. Private to
// server/store, except says_damage().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

class Connection;

// The bytes "SBAK", which are in the header of each file (PRAGMA application_id).
inline constexpr std::int64_t kApplicationId = 0x5342414b;

// Return the error for a store that is refused, and for a store that is damaged.
// Both are kPrecondition, and the field is the path. The remedy of damaged_store()
// is to restore a backup.
Error refuse_store(const std::string& path, std::string got, std::string want);
Error damaged_store(const std::string& path, std::string got);
// Returns the error for a row with a wrong checksum: "row 17 of table facts ...".
Error damaged_row(const std::string& path, std::string_view table, const std::string& which);
// Returns the error for damaged data that can be rebuilt from the facts.
// The remedy is a start with --ignore-checkpoint.
Error damaged_checkpoint(const std::string& path, std::string got);
// Returns the error after a read that returned no row. A full disk or a missing right does not
// count as damage.
// Call it before the connection's next call. If the read succeeded, the row is
// missing, which is damage.
Error unreadable_store(Connection& db, const std::string& path);
// Returns the size in bytes. It is also -1 if the folder cannot be searched.
std::int64_t file_size(const std::string& path);  // -1: there is none

// True if the error says that the store is damaged. Then only an operator can help, not another
// attempt. This works for both kinds of stores: `want` of such an error begins with kWantUndamaged.
bool says_damage(const Error& error);
inline constexpr char kWantUndamaged[] = "want an undamaged store: ";

}  // namespace subak
