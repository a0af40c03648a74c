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
    // A bound, listening, non-blocking socket. The acceptor owns and closes it.
    int fd = -1;
    // Receives the accepted connections; never nullptr.
    std::unique_ptr<HandOver> guests;
    // Called on the accepting thread, must not block.
    // False: the connection is closed and counts as refused. null: admits all.
    std::function<bool(int fd)> admits;
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
    // gRPC owns it. The acceptor only inspects it, or shuts the connection down.
    int fd = -1;
    // Device and inode of the socket: the same number with others is another socket.
    dev_t device = 0;
    ino_t inode = 0;
    // The other end. A Unix socket has no address.
    Peer peer;
    // The limit that the connection counts in.
    ConnectionLimiter::Answer entered = ConnectionLimiter::Answer::kAdmitted;
    // It has sent the first bytes of an HTTP/2 client, or is a Unix socket.
    bool spoke = false;
    // It was shut down to make room, and has not ended yet.
    bool leaving = false;
  };

  // The accepting thread, until stop(). The sockets take turns.
  void run();
  // Accepts one connection. False: the system has no room, wait a little.
  bool take(const Listening& listening);
  // True: accept nothing now, so many connections were asked to leave and have not.
  // It forgets ended connections before it answers.
  bool is_crowded();
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
  // Receives the service's own connections; nullptr: none are expected.
  std::unique_ptr<HandOver> own_;
  Mutex mutex_;
  // In order of arrival.
  std::vector<Held> held_ SUBAK_GUARDED_BY(mutex_);
  // sweep() has run since the thread last woke. The thread's.
  bool swept_ = false;
  // An eventfd that ends the thread; -1 before start().
  int wake_ = -1;
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
