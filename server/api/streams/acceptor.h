// The listening sockets of the gRPC API. The acceptor accepts connections and hands them to gRPC.
// The acceptor limits the number of connections, since gRPC 1.51 cannot do that. The acceptor also
// retries a failed accept, and admits the service's own probes even when the limit is reached. See
// docs/design/0016. Private to server/api.
//
// gRPC owns each file descriptor that was handed over. The acceptor asks the kernel whether such a
// connection has ended. The connection has ended if the number of the descriptor no longer stands
// for the same socket.
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
// before gRPC's shutdown. Only gRPC reads from the connections.
class Acceptor {
 public:
  // A socket from which the acceptor accepts connections.
  struct Listening {
    // A bound, listening, non-blocking socket. The acceptor owns and closes it.
    int fd = -1;
    // Receives the accepted connections; never nullptr.
    std::unique_ptr<HandOver> guests;
    // Decides whether to admit a connection. It runs on the accepting thread and must not block.
    // False: the acceptor closes the connection and counts it as refused. null: all connections are
    // admitted.
    std::function<bool(int fd)> admits;
  };

  // `limits`: the limits on connections in all and from one address (ConnectionLimiter).
  explicit Acceptor(ListenerLimits limits);
  ~Acceptor();  // stop()
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Sets the receiver of the connections that the service makes to itself. Call it before start().
  // Without this receiver, do not call ConnectionLimiter::expect().
  void set_own(std::unique_ptr<HandOver> own) { own_ = std::move(own); }
  // Adds a socket. Call it before start(), since the accepting thread reads the list of sockets
  // without a lock.
  void add(Listening listening);
  // Starts the accepting thread. Call it once, after the server has started, since gRPC takes no
  // connections before that. It fails with kPrecondition, with the field listenGrpc, if the system
  // has no eventfd left.
  std::optional<Error> start();
  // Closes the listening sockets and joins the accepting thread. Connections that gRPC has stay
  // open. Call it before the server's shutdown, since gRPC would lose a connection that is handed
  // over after that. A second call does nothing.
  void stop();

  // Returns the connection limits. Threads: any.
  ConnectionLimiter& limiter() { return limiter_; }
  // Returns the number of connections that gRPC has and that have not ended. It makes a system call
  // for each of them. Threads: any.
  std::size_t open();

 private:
  struct Held {
    // The descriptor, which gRPC owns. The acceptor only inspects the descriptor, or shuts the
    // connection down.
    int fd = -1;
    // The device and the inode of the socket. If `fd` now has another device or inode, `fd` stands
    // for another socket.
    dev_t device = 0;
    ino_t inode = 0;
    // The other end of the connection. A Unix socket has no address.
    Peer peer;
    // The limiter's answer for this connection. The answer says under which limit the connection
    // counts.
    ConnectionLimiter::Answer entered = ConnectionLimiter::Answer::kAdmitted;
    // True: the other end has sent the first bytes of an HTTP/2 client, or the connection is on a
    // Unix socket.
    bool spoke = false;
    // True: the connection was shut down to make room, and has not ended yet.
    bool leaving = false;
  };

  // The main function of the accepting thread, until stop(). The sockets take turns.
  void run();
  // Accepts waiting connections of one socket, up to a number that lets the other sockets have
  // their turn. False: the system lacks resources, so the thread must wait a little.
  bool take(const Listening& listening);
  // True if the acceptor must accept no connection now, because too many connections that it shut
  // down have not ended yet. Before that, it forgets the connections that have ended.
  bool is_crowded();
  // Asks the limiter for room for a connection. If a limit is reached, it closes another
  // connection. nullopt: no other connection can be closed for this one.
  std::optional<ConnectionLimiter::Answer> let_in(const Peer& peer);
  // Shuts down the oldest connection that has sent nothing. `full`: the limit that is reached. If
  // this is the limit for the peer's address, only connections of that address are considered. A
  // connection on a Unix socket counts as a connection that has sent something. False: there is no
  // such connection.
  bool make_room(const Peer& peer, ConnectionLimiter::Answer full) SUBAK_REQUIRES(mutex_);
  // Hands `fd` to gRPC, which then owns the descriptor.
  void hand_over(const Listening& listening, int fd, const Peer& peer,
                 ConnectionLimiter::Answer entered);
  // Forgets the connections that have ended, and reports them to the limiter.
  void sweep() SUBAK_REQUIRES(mutex_);

  ConnectionLimiter limiter_;
  std::vector<Listening> listening_;
  // Receives the connections that the service makes to itself; nullptr: no such connections are
  // expected.
  std::unique_ptr<HandOver> own_;
  Mutex mutex_;
  // The connections that gRPC has, in the order of their arrival.
  std::vector<Held> held_ SUBAK_GUARDED_BY(mutex_);
  // True: sweep() has run since the thread last woke. Only the accepting thread uses `swept_`.
  bool swept_ = false;
  // An eventfd that ends the thread; -1 before start().
  int wake_ = -1;
  std::thread thread_;
};

// Binds a TCP socket and listens on it. Returns the listening, non-blocking descriptor, which the
// caller owns. `host`: an IP address without brackets; "::" also takes IPv4 connections. If `port`
// is 0, the system chooses a port, and the function sets `port` to its number. If `host` is no IP
// address, or if the system refuses, it fails with kPrecondition and the field listenGrpc. The text
// says why.
Result<int> listen_tcp(const std::string& host, std::uint16_t& port);

// Binds a Unix socket for administrators of the machine and listens on it (unix_socket.cc). Every
// user may connect; is_one_of() decides which user is admitted. It replaces a socket file that a
// stopped service has left, but not one on which a process listens. Returns the descriptor, which
// the caller owns. The file stays when the descriptor is closed. It fails with kInvalid, with the
// field grpcSocket, in these cases:
// - The path is too long for sockaddr_un.
// - The path is another kind of file.
// - Another process listens on the socket.
// - The socket cannot be bound.
Result<int> listen_unix(const std::string& path);
// True if the process at the other end of `fd` ran as one of `users` when it connected, as the
// kernel says (SO_PEERCRED, unix(7)). If the kernel does not say, the result is false.
bool is_one_of(int fd, const std::set<uid_t>& users);

}  // namespace subak::api
