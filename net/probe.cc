#include "net/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/socket_address.h"

namespace subak {
namespace {

// Returns the address at which a listener on `host` can be reached.
std::optional<SocketAddress> asked_at(const std::string& host, std::uint16_t port) {
  if (host == "0.0.0.0") return socket_address("127.0.0.1", port);
  return socket_address(host == "::" ? "::1" : host, port);
}

struct Socket {
  explicit Socket(int family) : fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  const int fd;
};

using Kind = ProbeResult::Kind;

std::string why(const char* what, int error = errno) {
  return std::string(what) + ": " + std::strerror(error);
}

// Binds the probe to the listener's own address. Once the port is bound, no other peer can connect
// from it.
std::optional<Peer> bind_to(int fd, SocketAddress own) {
  if (::bind(fd, own.get(), own.size) != 0) return std::nullopt;
  if (::getsockname(fd, own.get(), &own.size) != 0) return std::nullopt;
  return peer_of(*own.get());
}

ProbeResult connected(int error) {
  if (error == 0) return {};
  const bool ours = error == EADDRNOTAVAIL || error == ENOBUFS || error == ENOMEM;
  return {ours ? Kind::kNotAsked : Kind::kShut, why("connect", error)};
}

ProbeResult connect_within(int fd, SocketAddress to, DurationMs patience) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  int error = ::connect(fd, to.get(), to.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd wait{fd, POLLOUT, 0};
    if (::poll(&wait, 1, static_cast<int>(patience)) <= 0) {
      return {Kind::kShut, "connect: no answer in time"};
    }
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::fcntl(fd, F_SETFL, flags);
  return connected(error);
}

}  // namespace

ProbeResult probe(ConnectionLimiter& limiter, const std::string& host, std::uint16_t port,
                  DurationMs patience,
                  const std::function<std::optional<std::string>(int fd)>& ask) {
  const std::optional<SocketAddress> to = asked_at(host, port);
  if (!to) return {Kind::kNotAsked, host + " is no address"};
  const Socket socket(to->family());
  if (socket.fd < 0) return {Kind::kNotAsked, why("socket")};
  const std::optional<Peer> own = bind_to(socket.fd, *asked_at(host, 0));
  if (!own) return {Kind::kNotAsked, why("bind")};
  limiter.expect(*own);
  ProbeResult result = connect_within(socket.fd, *to, patience);
  if (result.kind == Kind::kServes) {
    if (auto wrong = ask(socket.fd)) result = {Kind::kShut, std::move(*wrong)};
  }
  const bool came = limiter.forget(*own);
  if (came && result.kind == Kind::kShut) result.kind = Kind::kSilent;
  return result;
}

}  // namespace subak
