// A Unix socket for administrators of the machine. The kernel reports the user id of each peer.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "server/api/streams/acceptor.h"

namespace subak::api {
namespace {

constexpr int kBacklog = 128;

Error socket_error(const std::string& path, std::string want) {
  return {ErrorCode::kInvalid, "grpcSocket", path, std::move(want)};
}

bool connects(const sockaddr* address, socklen_t size) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool yes = fd >= 0 && ::connect(fd, address, size) == 0;
  if (fd >= 0) ::close(fd);
  return yes;
}

}  // namespace

Result<int> listen_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return socket_error(
        path, "want a path of at most " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const auto* const named = reinterpret_cast<const sockaddr*>(&address);
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return socket_error(path, "want a path where no file is");
    if (connects(named, sizeof address)) {
      return socket_error(path, "want a path that no other process listens on");
    }
    ::unlink(path.c_str());
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::bind(fd, named, sizeof address) == 0 && ::chmod(path.c_str(), 0666) == 0 &&
      ::listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int why = errno;
  if (fd >= 0) ::close(fd);
  return socket_error(path, std::string("want a path that can be bound: ") + std::strerror(why));
}

bool is_one_of(int fd, const std::set<uid_t>& users) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && users.count(peer.uid) > 0;
}

}  // namespace subak::api
