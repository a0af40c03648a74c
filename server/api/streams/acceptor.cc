#include "server/api/streams/acceptor.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/socket_address.h"
#include "server/log/thread_name.h"

namespace subak::api {
namespace {

constexpr std::uint64_t kPrefaceBytes = 24;  // "PRI * HTTP/2.0 ...": every client sends at least
                                             // these
constexpr int kRetryMs = 20;                 // after an accept that the system had no room for
constexpr int kAcceptsAtOnce = 64;           // then the other sockets have their turn

bool is_same(int fd, dev_t device, ino_t inode) {
  struct stat now {};
  return ::fstat(fd, &now) == 0 && S_ISSOCK(now.st_mode) && now.st_dev == device &&
         now.st_ino == inode;
}

// True if the peer has sent a client's first bytes. A socket that cannot be asked (a Unix socket)
// counts as such.
bool has_spoken(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_bytes_received >= kPrefaceBytes;
}

// True for errors of one connection, after which the next may be accepted at once (accept(2)).
bool is_of_the_connection(int error) {
  return error == EINTR || error == ECONNABORTED || error == ENETDOWN || error == EPROTO ||
         error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
         error == EOPNOTSUPP || error == ENETUNREACH;
}

}  // namespace

Acceptor::Acceptor(ListenerLimits limits) : limiter_(limits) {}

Acceptor::~Acceptor() {
  stop();
  for (const Listening& listening : listening_) ::close(listening.fd);
}

void Acceptor::add(Listening listening) { listening_.push_back(std::move(listening)); }

std::optional<Error> Acceptor::start() {
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) {
    return Error{ErrorCode::kPrecondition, "listenGrpc", std::strerror(errno), "want an eventfd"};
  }
  thread_ = std::thread([this] { run(); });
  return std::nullopt;
}

void Acceptor::stop() {
  if (!thread_.joinable()) return;
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
  for (const Listening& listening : listening_) ::close(listening.fd);
  listening_.clear();
}

void Acceptor::run() {
  name_thread("grpc-accept");
  std::vector<pollfd> asked{{wake_, POLLIN, 0}};
  for (const Listening& listening : listening_) asked.push_back({listening.fd, POLLIN, 0});
  bool room = true;
  while (true) {
    if (::poll(asked.data(), room ? asked.size() : 1, room ? -1 : kRetryMs) < 0) continue;
    if (asked[0].revents != 0) return;
    room = true;
    swept_ = false;
    for (const Listening& listening : listening_) room = take(listening) && room;
  }
}

bool Acceptor::take(const Listening& listening) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    if (is_crowded()) return false;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    auto* const address = reinterpret_cast<sockaddr*>(&from);
    const int fd = ::accept4(listening.fd, address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      if (is_of_the_connection(errno)) continue;
      return false;
    }
    const Peer peer = peer_of(*address);
    const bool admitted = !listening.admits || listening.admits(fd);
    const std::optional<ConnectionLimiter::Answer> entered = admitted ? let_in(peer) : std::nullopt;
    if (entered) {
      hand_over(listening, fd, peer, *entered);
    } else {
      limiter_.refused();
      ::close(fd);
    }
  }
  return true;
}

bool Acceptor::is_crowded() {
  if (!limiter_.crowded()) return false;
  const MutexLock lock(mutex_);
  sweep();
  return limiter_.crowded();
}

std::optional<ConnectionLimiter::Answer> Acceptor::let_in(const Peer& peer) {
  ConnectionLimiter::Answer answer = limiter_.ask(peer);
  if (ConnectionLimiter::enters(answer)) return answer;
  const MutexLock lock(mutex_);
  if (!std::exchange(swept_, true)) sweep();
  answer = limiter_.ask(peer);
  if (!ConnectionLimiter::enters(answer) && make_room(peer, answer)) answer = limiter_.ask(peer);
  if (ConnectionLimiter::enters(answer)) return answer;
  return std::nullopt;
}

// Evicts only connections that have not sent anything: any other connection may carry a waiting
// stream.
bool Acceptor::make_room(const Peer& peer, ConnectionLimiter::Answer full) {
  for (Held& held : held_) {
    if (held.spoke || held.leaving || held.entered == ConnectionLimiter::Answer::kReserved)
      continue;
    if (full == ConnectionLimiter::Answer::kPeerFull && held.peer.address != peer.address) continue;
    held.spoke = has_spoken(held.fd);
    if (held.spoke || !is_same(held.fd, held.device, held.inode)) continue;
    held.leaving = limiter_.evict(held.peer);
    // Never close a copy of the descriptor: if the number now belongs to the store's file, that
    // would drop the file's locks. shutdown() can at worst hit another connection.
    if (held.leaving) ::shutdown(held.fd, SHUT_RDWR);
    return held.leaving;
  }
  return false;
}

void Acceptor::hand_over(const Listening& listening, int fd, const Peer& peer,
                         ConnectionLimiter::Answer entered) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // as gRPC sets it; without TCP no
                                                               // matter
  struct stat now {};
  ::fstat(fd, &now);
  {
    const MutexLock lock(mutex_);
    held_.push_back({fd, now.st_dev, now.st_ino, peer, entered, false, false});
  }
  HandOver::NewConnectionParameters connection;
  connection.listener_fd = listening.fd;
  connection.fd = fd;
  HandOver& to = entered == ConnectionLimiter::Answer::kReserved ? *own_ : *listening.guests;
  to.HandleNewConnection(&connection);
}

void Acceptor::sweep() {
  std::erase_if(held_, [this](const Held& held) {
    if (is_same(held.fd, held.device, held.inode)) return false;
    limiter_.left(held.peer, held.entered, held.leaving);
    return true;
  });
}

std::size_t Acceptor::open() {
  const MutexLock lock(mutex_);
  sweep();
  return held_.size();
}

Result<int> listen_tcp(const std::string& host, std::uint16_t& port) {
  const auto refused = [&](const char* want) {
    const bool v6 = host.find(':') != std::string::npos;
    return Error{ErrorCode::kPrecondition, "listenGrpc",
                 (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port), want};
  };
  std::optional<SocketAddress> address = socket_address(host, port);
  if (!address) return refused("want an IP address and a port");
  const int fd = ::socket(address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return refused(std::strerror(errno));
  const int on = 1, off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->family() == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd, address->get(), address->size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, address->get(), &address->size) != 0) {
    Error error = refused(std::strerror(errno));
    ::close(fd);
    return error;
  }
  port = peer_of(*address->get()).port;
  return fd;
}

}  // namespace subak::api
