// Checks the file system on which a store is. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Returns the kind of the file system of the folder that has `path`, as a number of statfs(2); 0:
// the kind is unknown.
std::uint32_t file_system_of(const std::string& path);
// Refuses network file systems. On such file systems, locks depend on other machines, and another
// machine does the sync. `kind`: the result of file_system_of(). It refuses NFS, SMB, 9P, AFS,
// Coda, Ceph and Lustre. It accepts all other kinds, even FUSE, which can be local or remote.
std::optional<Error> check_file_system(const std::string& path, std::uint32_t kind);

}  // namespace subak
