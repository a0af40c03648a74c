// The listening sockets of the gRPC API. The acceptor accepts connections itself and hands them to
// gRPC. gRPC 1.51 offers no bound on the number of connections; the acceptor has one. It also
// retries a failed accept, and lets the service's own probes in when the limit is reached. See
// docs/design/0016. Private to server/api.
//
// gRPC owns a file descriptor once it was handed over. The acceptor finds out from the kernel that
// such a connection has ended: its number no longer names the same socket.
#pragma once

#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "net/connection_limiter.h"
#include "threads/mutex.h"

namespace subak::api {

using HandOver = grpc::experimental::ExternalConnectionAcceptor;

class Acceptor {
 public:
  // A socket to accept connections from.
  struct Listening {
    int fd = -1;                         // bound, listening, non-blocking; the acceptor closes it
    std::unique_ptr<HandOver> guests;    // receives the accepted connections
    std::function<bool(int fd)> admits;  // false: closed and counted as refused; null: admits all
  };

  explicit Acceptor(ListenerLimits limits);
  ~Acceptor();  // stop()
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Sets where expected connections of the service itself go. Call before start().
  void set_own(std::unique_ptr<HandOver> own) { own_ = std::move(own); }
  void add(Listening listening);
  // Starts the accepting thread. Call after the server has started: before, gRPC takes no
  // connection.
  std::optional<Error> start();
  // Closes the listening sockets. Call before the server's shutdown: connections handed over later
  // would be lost.
  void stop();

  // Returns the connection limits. Threads: any.
  ConnectionLimiter& limiter() { return limiter_; }
  std::size_t open();

 private:
  struct Held {
    int fd = -1;  // owned by gRPC; the acceptor only inspects it
    dev_t device = 0;
    ino_t inode = 0;
    Peer peer;
    ConnectionLimiter::Answer entered = ConnectionLimiter::Answer::kAdmitted;
    bool spoke = false;  // has sent the first bytes of an HTTP/2 client
    bool leaving = false;
  };

  void run();
  // Accepts one connection. False: the system has no room, wait a little.
  bool take(const Listening& listening);
  bool is_crowded();  // checks for ended connections before it answers
  std::optional<ConnectionLimiter::Answer> let_in(const Peer& peer);
  bool make_room(const Peer& peer, ConnectionLimiter::Answer full) SUBAK_REQUIRES(mutex_);
  void hand_over(const Listening& listening, int fd, const Peer& peer,
                 ConnectionLimiter::Answer entered);
  void sweep() SUBAK_REQUIRES(mutex_);

  ConnectionLimiter limiter_;
  std::vector<Listening> listening_;
  std::unique_ptr<HandOver> own_;
  Mutex mutex_;
  std::vector<Held> held_ SUBAK_GUARDED_BY(mutex_);  // in order of arrival
  bool swept_ = false;                               // since the thread last woke
  int wake_ = -1;                                    // an eventfd that ends the thread
  std::thread thread_;
};

// Binds and listens. With port 0 the system chooses one, and `port` gets it. The wildcard "::" also
// takes IPv4. The error names listenGrpc.
Result<int> listen_tcp(const std::string& host, std::uint16_t& port);

// Binds and listens on a Unix socket for administrators of the machine (unix_socket.cc). Every user
// may connect; is_one_of() decides who is admitted. Replaces a socket that a stopped service left
// behind, but not one with a listener. The error names grpcSocket.
Result<int> listen_unix(const std::string& path);
// True if the process at the other end of `fd` ran as one of `users` when it connected. The kernel
// says so.
bool is_one_of(int fd, const std::set<uid_t>& users);

}  // namespace subak::api
