// gRPC's own listening sockets: we accept and hand the connections over, so that their number has a
// bound (gRPC 1.51 offers none), an accept that fails is tried again, and the service's own probes
// get in when it is full. See docs/design/0016. Private to server/api.
//
// A handed-over file descriptor is gRPC's. That it has ended is asked of the kernel: its number no
// longer names the same socket.
#pragma once

#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "admission/door.h"
#include "core/error.h"

namespace subak::api {

using HandOver = grpc::experimental::ExternalConnectionAcceptor;

class Acceptor {
 public:
  // A socket to accept from.
  struct Listening {
    int fd = -1;                       // bound, listening and non-blocking; the acceptor closes it
    std::unique_ptr<HandOver> guests;  // who gets what is accepted
    std::function<bool(int fd)> admits;  // false: closed and counted as refused; null: everybody
  };

  explicit Acceptor(DoorLimits limits);
  ~Acceptor();  // stop()
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Before start(). Where the connections go that the door expects.
  void set_own(std::unique_ptr<HandOver> own) { own_ = std::move(own); }
  void add(Listening listening);
  // After the server has started, since until then nothing can be handed over.
  std::optional<Error> start();
  // Closes the listening sockets. Call before the server's shutdown, after which what is handed
  // over would be lost.
  void stop();

  // Threads: any.
  Door& door() { return door_; }
  std::size_t open();

 private:
  struct Held {
    int fd = -1;  // gRPC's: only ever asked about
    dev_t device = 0;
    ino_t inode = 0;
    Peer peer;
    Door::Answer entered = Door::Answer::kGuest;
    bool spoke = false;  // has sent what an HTTP/2 client sends first
    bool leaving = false;
  };

  void run();
  // False: the system has no room, wait a little.
  bool take(const Listening& listening);
  bool is_crowded();  // also after a look at who has left
  std::optional<Door::Answer> let_in(const Peer& peer);
  bool make_room(const Peer& peer, Door::Answer full);
  void hand_over(const Listening& listening, int fd, const Peer& peer, Door::Answer entered);
  void sweep();

  Door door_;
  std::vector<Listening> listening_;
  std::unique_ptr<HandOver> own_;
  std::mutex mutex_;
  std::vector<Held> held_;  // in the order in which they came
  bool swept_ = false;      // since it last woke
  int wake_ = -1;           // an eventfd: stop
  std::thread thread_;
};

// Binds and listens. Port 0: the system chooses; `port` gets the real one. The wildcard "::" takes
// IPv4 too. The error names listenGrpc.
Result<int> listen_tcp(const std::string& host, std::uint16_t& port);

// unix_socket.cc: a Unix socket for admins of the machine. Binds and listens, for everybody: is_one_of()
// decides. A socket that a service left behind is replaced, one that is listened on is not. The error names
// grpcSocket.
Result<int> listen_unix(const std::string& path);
// The process at the other end of `fd` ran as one of these users when it connected, as the kernel tells.
bool is_one_of(int fd, const std::set<uid_t>& users);

}  // namespace subak::api
