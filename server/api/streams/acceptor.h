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

// One thread accepts for all sockets. Owner: the server, which stops it before gRPC's shutdown. It
// reads nothing from a connection: gRPC does, with and without TLS.
class Acceptor {
 public:
  // A socket to accept connections from.
  struct Listening {
    int fd = -1;                       // bound, listening, non-blocking; the acceptor closes it
    std::unique_ptr<HandOver> guests;  // receives the accepted connections
    // Called on the accepting thread, must not block.
    std::function<bool(int fd)> admits;  // false: closed and counted as refused; null: admits all
  };

  // `limits`: connections in all and per address, see ConnectionLimiter.
  explicit Acceptor(ListenerLimits limits);
  ~Acceptor();  // stop()
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Sets where expected connections of the service itself go. Call before start().
  // Required if limiter() is used to reserve a connection: such connections go there.
  void set_own(std::unique_ptr<HandOver> own) { own_ = std::move(own); }
  // Call before start(): the accepting thread reads the list without a lock.
  void add(Listening listening);
  // Starts the accepting thread. Call after the server has started: before, gRPC takes no
  // connection.
  // kPrecondition, field listenGrpc: the system has no eventfd left. Call it once.
  std::optional<Error> start();
  // Closes the listening sockets. Call before the server's shutdown: connections handed over later
  // would be lost.
  // Joins the accepting thread. Connections that gRPC has stay open. Idempotent.
  void stop();

  // Returns the connection limits. Threads: any.
  ConnectionLimiter& limiter() { return limiter_; }
  // Returns the number of connections that gRPC has and that still live. Costs a system call for
  // each. Threads: any.
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
  // True: accept nothing now, so many connections were asked to leave and have not.
  bool is_crowded();  // checks for ended connections before it answers
  // nullopt: the limit is reached and no connection could be closed for this one.
  std::optional<ConnectionLimiter::Answer> let_in(const Peer& peer);
  // Shuts down the oldest connection that has sent nothing; of the same address if that address is
  // at its limit. False: there is none. A Unix socket counts as one that has sent.
  bool make_room(const Peer& peer, ConnectionLimiter::Answer full) SUBAK_REQUIRES(mutex_);
  // gRPC owns `fd` from here on.
  void hand_over(const Listening& listening, int fd, const Peer& peer,
                 ConnectionLimiter::Answer entered);
  // Forgets the connections that have ended, and reports them to the limiter.
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
// `host`: an IP address without brackets. Returns the listening, non-blocking descriptor, which the
// caller owns. kPrecondition: it is no IP address, or the system refuses (the text says why).
Result<int> listen_tcp(const std::string& host, std::uint16_t& port);

// Binds and listens on a Unix socket for administrators of the machine (unix_socket.cc). Every user
// may connect; is_one_of() decides who is admitted. Replaces a socket that a stopped service left
// behind, but not one with a listener. The error names grpcSocket.
// Returns the descriptor, which the caller owns. The file stays when it is closed. kInvalid: the
// path is too long for sockaddr_un, is another kind of file, has a listener, or cannot be bound.
Result<int> listen_unix(const std::string& path);
// True if the process at the other end of `fd` ran as one of `users` when it connected. The kernel
// says so.
// From SO_PEERCRED, unix(7). False also if the kernel does not say.
bool is_one_of(int fd, const std::set<uid_t>& users);

}  // namespace subak::api
