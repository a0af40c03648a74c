// The file system under a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Returns the kind of the file system of `path`'s folder, as a number of statfs(2); 0: unknown.
std::uint32_t file_system_of(const std::string& path);
// Refuses network file systems, since other machines share their locks and another machine does
// their sync.
// `kind`: the result of file_system_of(). It refuses NFS, SMB, 9P, AFS, Coda, Ceph and Lustre, and
// accepts all other kinds. It accepts FUSE too, which can be local or remote.
std::optional<Error> check_file_system(const std::string& path, std::uint32_t kind);

}  // namespace subak
