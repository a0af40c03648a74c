// Counts the connections of one listener (net/listener.h) against its limits: a total, a
// number per address, and reserved connections for the service's own probes
// (docs/design/0016).
// The listener asks the ConnectionLimiter about each new connection. When a limit is reached,
// the listener chooses the connection to close; the limiter only counts.
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/limits.h"
#include "threads/mutex.h"

struct sockaddr;

namespace subak {

// The address of a connection. An IPv4 address has its mapped form. An address that is not an IP
// address is all zero.
struct Peer {
  std::array<std::uint8_t, 16> address{};
  // The port in the machine's own byte order; 0 if `address` is not an IP address.
  std::uint16_t port = 0;
  auto operator<=>(const Peer&) const = default;
};
// Returns the address and port of a socket address of any family.
Peer peer_of(const sockaddr& address);

// How many connections a listener may have at once. Reserved connections do not count.
struct ListenerLimits {
  // The limit for all addresses together.
  std::size_t all = limits::kMaxHttpConnections;
  // The limit for one address.
  std::size_t per_peer = limits::kMaxHttpConnectionsPerPeer;
};

// A copy of the counts of one listener, for the metrics page. The counters begin at the start of
// the listener.
struct ConnectionStats {
  // `open` counts reserved and closing connections too, so it may exceed `limit`.
  std::size_t open = 0, limit = 0;
  // The same figures as in LimiterCounters.
  std::uint64_t accepted = 0, refused = 0, evicted = 0;
};

// Counts since the start. They only grow.
struct LimiterCounters {
  // Connections that were let in. Connections in reserved slots do not count.
  std::atomic<std::uint64_t> accepted{0};
  // New connections that were closed at once, because a limit was reached and no other connection
  // could be closed.
  std::atomic<std::uint64_t> refused{0};
  // Connections closed to make room.
  std::atomic<std::uint64_t> evicted{0};
};

// Counts the open connections of one listener. Each admitted connection occupies one slot until
// evict() or left() frees it. The listener reports the end of each connection to left() once.
class ConnectionLimiter {
 public:
  // The answer to a new connection.
  enum class Answer {
    // The connection is let in.
    kAdmitted,
    // The connection is let in to a reserved slot, because it is an expected probe.
    kReserved,
    // The connection is not let in: its address already has as many connections as it may have.
    kPeerFull,
    // The connection is not let in: all slots are in use, or, for an expected probe, all reserved
    // slots.
    kFull,
  };

  // True if the connection was let in, so that left() must be called for it.
  static bool enters(Answer answer) {
    return answer == Answer::kAdmitted || answer == Answer::kReserved;
  }

  // Begins without open connections. The limits never change.
  explicit ConnectionLimiter(ListenerLimits limits) : limits_(limits) {}

  // Admits and counts the connection, or returns why it is not let in.
  Answer ask(const Peer& peer);
  // Records that the connection has ended. `entered`: the answer of ask(). `evicted`: evict() was
  // called for the connection.
  void left(const Peer& peer, Answer entered, bool evicted);
  // Frees the slot of a connection that the listener is about to close for a new one. If
  // limits::kMaxLeavingConnections evicted connections have not ended yet, it returns false and
  // frees nothing.
  bool evict(const Peer& guest);
  // True if so many evicted connections are still closing that evict() would return false. A new
  // connection then waits in the kernel's queue until one of the evicted connections has ended.
  bool crowded() const;
  // Counts a new connection that was closed at once.
  void refused() { ++counters_.refused; }

  // Announces a connection that this process will make to its own listener. `own` has the address
  // and port of the connecting socket. The process has bound this port, so no other peer can
  // connect from it.
  void expect(const Peer& own);
  // Stops expecting the connection from the address and port `own`. Returns true if the connection
  // has arrived.
  bool forget(const Peer& own);

  // The counters may be read at any time, without a lock.
  const LimiterCounters& counters() const { return counters_; }
  // Returns the number of connections that have not ended: admitted, reserved and closing
  // connections.
  std::size_t open() const;
  const ListenerLimits& limits() const { return limits_; }

 private:
  // Frees the slot of an admitted connection.
  void release(const Peer& guest) SUBAK_REQUIRES(mutex_);

  const ListenerLimits limits_;
  LimiterCounters counters_;
  mutable Mutex mutex_;
  // The number of admitted connections by address. Evicted connections do not count. Each number is
  // above 0.
  std::map<std::array<std::uint8_t, 16>, std::size_t> guests_ SUBAK_GUARDED_BY(mutex_);
  // Probes that this process has announced with expect(). True: the probe has arrived.
  std::map<Peer, bool> expected_ SUBAK_GUARDED_BY(mutex_);
  // The sum of the numbers in guests_.
  std::size_t all_ SUBAK_GUARDED_BY(mutex_) = 0;
  // Connections in reserved slots.
  std::size_t own_ SUBAK_GUARDED_BY(mutex_) = 0;
  // Evicted connections that have not ended.
  std::size_t leaving_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak
