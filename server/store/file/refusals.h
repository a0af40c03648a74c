// The errors with which a store is refused. Each names the file and the remedy. Private to
// server/store, except says_damage().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace subak {

class Connection;

// "SBAK". It is in the header of each file (PRAGMA application_id).
inline constexpr std::int64_t kApplicationId = 0x5342414b;

// The error for a store that is refused, and for one that is damaged.
// Both are kPrecondition with the path as field. damaged_store() advises to restore a backup.
Error refuse_store(const std::string& path, std::string got, std::string want);
Error damaged_store(const std::string& path, std::string got);
// A row with a wrong checksum: "row 17 of table facts ...".
Error damaged_row(const std::string& path, std::string_view table, const std::string& which);
// Damage of data that can be rebuilt from the facts.
// It advises a start with --ignore-checkpoint.
Error damaged_checkpoint(const std::string& path, std::string got);
// The error after a read that returned nothing. A full disk or a missing right is no damage.
// Call it before the connection's next call. Success counts as a missing row, and thus as damage.
Error unreadable_store(Connection& db, const std::string& path);
// In bytes. Also -1 if its folder cannot be searched.
std::int64_t file_size(const std::string& path);  // -1: there is none

// True if the store is damaged: another attempt does not help, only an operator does. For both
// stores; `want` of their errors begins with kWantUndamaged.
bool says_damage(const Error& error);
inline constexpr char kWantUndamaged[] = "want an undamaged store: ";

}  // namespace subak
