// The file system under a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Returns the kind of the file system of `path`'s folder, as statfs(2) numbers them; 0: unknown.
std::uint32_t file_system_of(const std::string& path);
// Refuses network file systems: their locks are not those of one machine, and their sync depends on
// another machine.
// `kind`: of file_system_of(). Known are NFS, SMB, 9P, AFS, Coda, Ceph and Lustre. An unknown kind
// passes. So does FUSE, under which anything can lie.
std::optional<Error> check_file_system(const std::string& path, std::uint32_t kind);

}  // namespace subak
