// The connection limits of one listener (class `ConnectionLimiter`): a total, a number per address,
// and connections reserved for the service's own probes (docs/design/0016). It only counts; the
// listener chooses which connection to close when it is full.
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

// The address of a connection. IPv4 in its mapped form; all zero if it is not an IP address.
struct Peer {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  auto operator<=>(const Peer&) const = default;
};
Peer peer_of(const sockaddr& address);

struct ListenerLimits {
  std::size_t all = limits::kMaxHttpConnections;
  std::size_t per_peer = limits::kMaxHttpConnectionsPerPeer;
};

// For the metrics page.
struct ConnectionStats {
  std::size_t open = 0, limit = 0;
  std::uint64_t accepted = 0, refused = 0, evicted = 0;
};

struct LimiterCounters {
  std::atomic<std::uint64_t> accepted{0};  // let in
  std::atomic<std::uint64_t> refused{0};   // closed at once: full, and none could be closed
  std::atomic<std::uint64_t> evicted{0};   // closed to make room
};

class ConnectionLimiter {
 public:
  enum class Answer {
    kAdmitted,  // let in
    kReserved,  // let in: an expected probe
    kPeerFull,  // its address holds as many as it may
    kFull,
  };

  static bool enters(Answer answer) {
    return answer == Answer::kAdmitted || answer == Answer::kReserved;
  }

  explicit ConnectionLimiter(ListenerLimits limits) : limits_(limits) {}

  // Admits and counts the connection, or returns why not.
  Answer ask(const Peer& peer);
  // The connection has ended. `evicted`: evict() was called for it.
  void left(const Peer& peer, Answer entered, bool evicted);
  // The connection was told to close and will end soon: another may take its slot. Returns false,
  // and counts nothing, if too many of those have not ended yet.
  bool evict(const Peer& guest);
  // True if so many connections are closing that evict() would return false. A new connection then
  // waits in the kernel's queue until one of them has ended.
  bool crowded() const;
  void refused() { ++counters_.refused; }

  // Expects a connection that this process will make from this port. The process has bound the
  // port, so no other peer can come from there.
  void expect(const Peer& own);
  // Stops expecting it; true if it has come.
  bool forget(const Peer& own);

  const LimiterCounters& counters() const { return counters_; }
  std::size_t open() const;
  const ListenerLimits& limits() const { return limits_; }

 private:
  void release(const Peer& guest) SUBAK_REQUIRES(mutex_);

  const ListenerLimits limits_;
  LimiterCounters counters_;
  mutable Mutex mutex_;
  // by address
  std::map<std::array<std::uint8_t, 16>, std::size_t> guests_ SUBAK_GUARDED_BY(mutex_);
  std::map<Peer, bool> expected_ SUBAK_GUARDED_BY(mutex_);  // true: it came
  std::size_t all_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::size_t own_ SUBAK_GUARDED_BY(mutex_) = 0;
  std::size_t leaving_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak
