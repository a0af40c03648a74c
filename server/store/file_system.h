// What lies under a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// The kind of the file system that `path`'s folder is on, as statfs(2) numbers them; 0: unknown.
std::uint32_t file_system_of(const std::string& path);
// Refuses those of a network: locks there are not those of one machine, and a sync is a promise of
// somebody else.
std::optional<Error> check_file_system(const std::string& path, std::uint32_t kind);

}  // namespace subak
