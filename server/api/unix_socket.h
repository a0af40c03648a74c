// A Unix socket for admins of the machine:
// who connects is known by the user id that the kernel tells.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "core/error.h"

namespace subak::api {

// Binds and listens, for everybody: is_one_of() decides. A socket that a service left behind is
// replaced, one that is listened on is not. The error names grpcSocket.
Result<int> listen_unix(const std::string& path);
// The process at the other end of `fd` ran as one of these users when it connected.
bool is_one_of(int fd, const std::set<uid_t>& users);

}  // namespace subak::api
