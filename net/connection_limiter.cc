#include "net/connection_limiter.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace subak {
Peer peer_of(const sockaddr& address) {
  Peer peer;
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&v4.sin_addr);
    peer.address[10] = peer.address[11] = 0xff;
    std::copy(bytes, bytes + 4, peer.address.begin() + 12);
    peer.port = ntohs(v4.sin_port);
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&v6.sin6_addr);
    std::copy(bytes, bytes + peer.address.size(), peer.address.begin());
    peer.port = ntohs(v6.sin6_port);
  }
  return peer;
}

ConnectionLimiter::Answer ConnectionLimiter::ask(const Peer& peer) {
  const MutexLock lock(mutex_);
  const auto expected = expected_.find(peer);
  if (expected != expected_.end()) {
    expected->second = true;  // even if its slots are full: the listener accepts
    if (own_ >= limits::kReservedConnections) return Answer::kFull;
    ++own_;
    return Answer::kReserved;
  }
  const auto known = guests_.find(peer.address);
  if (known != guests_.end() && known->second >= limits_.per_peer) return Answer::kPeerFull;
  if (all_ >= limits_.all) return Answer::kFull;
  ++guests_[peer.address];
  ++all_;
  ++counters_.accepted;
  return Answer::kAdmitted;
}

void ConnectionLimiter::left(const Peer& peer, Answer entered, bool evicted) {
  const MutexLock lock(mutex_);
  if (entered == Answer::kReserved) {
    --own_;
    return;
  }
  if (evicted) {
    --leaving_;
    return;
  }
  release(peer);
}

void ConnectionLimiter::release(const Peer& guest) {
  --all_;
  const auto known = guests_.find(guest.address);
  if (--known->second == 0) guests_.erase(known);
}

bool ConnectionLimiter::evict(const Peer& guest) {
  const MutexLock lock(mutex_);
  if (leaving_ >= limits::kMaxLeavingConnections) return false;
  ++leaving_;
  ++counters_.evicted;
  release(guest);
  return true;
}

bool ConnectionLimiter::crowded() const {
  const MutexLock lock(mutex_);
  return leaving_ >= limits::kMaxLeavingConnections;
}

void ConnectionLimiter::expect(const Peer& own) {
  const MutexLock lock(mutex_);
  expected_[own] = false;
}

bool ConnectionLimiter::forget(const Peer& own) {
  const MutexLock lock(mutex_);
  const auto found = expected_.find(own);
  const bool came = found != expected_.end() && found->second;
  if (found != expected_.end()) expected_.erase(found);
  return came;
}

std::size_t ConnectionLimiter::open() const {
  const MutexLock lock(mutex_);
  return all_ + own_ + leaving_;
}

}  // namespace subak
