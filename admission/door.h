// Who may hold a connection to one listener: a number in all, a number per address, and room of its
// own for the service's probes (docs/design/0016). It counts; who goes when it is full is the
// listener's to say. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/limits.h"

struct sockaddr;

namespace subak {

// Where a connection comes from. IPv4 in its mapped form; what is no IP address is all zero.
struct Peer {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  auto operator<=>(const Peer&) const = default;
};
Peer peer_of(const sockaddr& address);

struct DoorLimits {
  std::size_t all = limits::kMaxHttpConnections;
  std::size_t per_peer = limits::kMaxHttpConnectionsPerPeer;
};

// For the metrics page.
struct ConnectionStats {
  std::size_t open = 0, limit = 0;
  std::uint64_t accepted = 0, refused = 0, evicted = 0;
};

struct DoorCounters {
  std::atomic<std::uint64_t> accepted{0};  // let in
  std::atomic<std::uint64_t> refused{0};   // closed at once: full, and nobody could go
  std::atomic<std::uint64_t> evicted{0};   // closed to make room
};

class Door {
 public:
  enum class Answer {
    kGuest,     // let in
    kOwn,       // let in: it is expected
    kPeerFull,  // its address holds as many as it may
    kFull,
  };

  static bool enters(Answer answer) { return answer == Answer::kGuest || answer == Answer::kOwn; }

  explicit Door(DoorLimits limits) : limits_(limits) {}

  // Lets it in and counts it, or says why not.
  Answer ask(const Peer& peer);
  // It has ended. `evicted`: evict() was called for it.
  void left(const Peer& peer, Answer entered, bool evicted);
  // It was told to go and will leave soon: another may come in its place. False if too many of
  // those have not left yet; then nothing is counted.
  bool evict(const Peer& guest);
  // So many are on their way out that evict() would say no: who is to come waits in the kernel's
  // queue until one of them has left.
  bool crowded() const;
  void refused() { ++counters_.refused; }

  // A connection that this process will make from this port, which it has bound, so that nobody
  // else can come from there.
  void expect(const Peer& own);
  // Expects it no longer; true if it has come.
  bool forget(const Peer& own);

  const DoorCounters& counters() const { return counters_; }
  std::size_t open() const;
  const DoorLimits& limits() const { return limits_; }

 private:
  void release(const Peer& guest);

  const DoorLimits limits_;
  DoorCounters counters_;
  mutable std::mutex mutex_;
  std::map<std::array<std::uint8_t, 16>, std::size_t> guests_;  // by address
  std::map<Peer, bool> expected_;                               // true: it came
  std::size_t all_ = 0, own_ = 0, leaving_ = 0;
};

}  // namespace subak
