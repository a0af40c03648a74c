// The listening sockets of the gRPC API. The acceptor accepts connections and hands them to gRPC.
// gRPC 1.51 cannot limit the number of connections; the acceptor does. It also retries a failed
// accept, and admits the service's own probes when the limit is reached. See docs/design/0016.
// Private to server/api.
//
// gRPC owns a file descriptor that was handed over. The acceptor asks the kernel whether such a
// connection has ended: then the descriptor's number no longer names the same socket.
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

// Accepts connections for all sockets, on one thread. The server owns the acceptor, and stops it
// before gRPC's shutdown. Only gRPC reads from the connections, with and without TLS.
class Acceptor {
 public:
  // A socket to accept connections from.
  struct Listening {
    // A bound, listening, non-blocking socket. The acceptor owns and closes it.
    int fd = -1;
    // Receives the accepted connections; never nullptr.
    std::unique_ptr<HandOver> guests;
    // Decides about a connection, on the accepting thread; must not block.
    // False: the acceptor closes the connection and counts it as refused. null:
    // all connections are admitted.
    std::function<bool(int fd)> admits;
  };

  // `limits`: connections in all and per address, see ConnectionLimiter.
  explicit Acceptor(ListenerLimits limits);
  ~Acceptor();  // stop()
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Sets the receiver of the connections that the service makes to itself. Call it before start().
  // It is required if limiter() is used to expect such a connection.
  void set_own(std::unique_ptr<HandOver> own) { own_ = std::move(own); }
  // Adds a socket. Call it before start(), since the accepting thread reads
  // the list without a lock.
  void add(Listening listening);
  // Starts the accepting thread. Call it once, after the server has started, since gRPC takes no
  // connection before.
  // Fails with kPrecondition, field listenGrpc, if the system has no eventfd left.
  std::optional<Error> start();
  // Closes the listening sockets and joins the accepting thread. Call it before the server's
  // shutdown: a connection handed over later would be lost.
  // Connections that gRPC has stay open. Idempotent.
  void stop();

  // Returns the connection limits. Threads: any.
  ConnectionLimiter& limiter() { return limiter_; }
  // Returns the number of connections that gRPC has and that have not ended. Costs a system call
  // for each. Threads: any.
  std::size_t open();

 private:
  struct Held {
    // The descriptor, which gRPC owns. The acceptor only inspects it, or shuts the connection down.
    int fd = -1;
    // Device and inode of the socket. If `fd` has others now, it is another socket.
    dev_t device = 0;
    ino_t inode = 0;
    // The other end. A Unix socket has no address.
    Peer peer;
    // The limiter's answer: which limit counts this connection.
    ConnectionLimiter::Answer entered = ConnectionLimiter::Answer::kAdmitted;
    // True: it has sent the first bytes of an HTTP/2 client, or it is a Unix socket.
    bool spoke = false;
    // True: it was shut down to make room, and has not ended yet.
    bool leaving = false;
  };

  // The accepting thread's work, until stop(). The sockets take turns.
  void run();
  // Accepts one connection. False: the system lacks resources, so wait a little.
  bool take(const Listening& listening);
  // True if so many shut-down connections have not ended yet that the
  // acceptor must accept none now.
  // It first forgets ended connections.
  bool is_crowded();
  // Asks the limiter, and makes room if a limit is reached. nullopt: no other connection could be
  // closed for this one.
  std::optional<ConnectionLimiter::Answer> let_in(const Peer& peer);
  // Shuts down the oldest connection that has sent nothing. If the peer's address is at its limit,
  // it chooses among connections of that address. False: there is none. A Unix socket counts as one
  // that has sent.
  bool make_room(const Peer& peer, ConnectionLimiter::Answer full) SUBAK_REQUIRES(mutex_);
  // Hands `fd` to gRPC, which then owns it.
  void hand_over(const Listening& listening, int fd, const Peer& peer,
                 ConnectionLimiter::Answer entered);
  // Forgets the connections that have ended, and reports them to the limiter.
  void sweep() SUBAK_REQUIRES(mutex_);

  ConnectionLimiter limiter_;
  std::vector<Listening> listening_;
  // Receives the service's own connections; nullptr: none are expected.
  std::unique_ptr<HandOver> own_;
  Mutex mutex_;
  // The connections that gRPC has, in the order of their arrival.
  std::vector<Held> held_ SUBAK_GUARDED_BY(mutex_);
  // True: sweep() has run since the thread last woke. Only the accepting thread uses it.
  bool swept_ = false;
  // An eventfd that ends the thread; -1 before start().
  int wake_ = -1;
  std::thread thread_;
};

// Binds and listens. Returns the listening, non-blocking descriptor, which the caller owns. With
// port 0 the system chooses a port, which `port` gets. The wildcard "::" also takes IPv4.
// `host`: an IP address without brackets. Fails with kPrecondition, field listenGrpc, if `host` is
// no IP address, or if the system refuses (the text says why).
Result<int> listen_tcp(const std::string& host, std::uint16_t& port);

// Binds and listens on a Unix socket for administrators of the machine (unix_socket.cc). Every user
// may connect; is_one_of() decides who is admitted. Replaces a socket that a stopped service left
// behind, but not one with a listener.
// Returns the descriptor, which the caller owns. The file stays when the descriptor is closed.
// Fails with kInvalid, field grpcSocket, if the path is too long for sockaddr_un, is another kind
// of file, has a listener, or cannot be bound.
Result<int> listen_unix(const std::string& path);
// True if the process at the other end of `fd` ran as one of `users` when it connected.
// The kernel says so (SO_PEERCRED, unix(7)). Also false if the kernel does not say.
bool is_one_of(int fd, const std::set<uid_t>& users);

}  // namespace subak::api
