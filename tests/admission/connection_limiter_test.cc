#include "net/connection_limiter.h"

#include <gtest/gtest.h>

#include "net/socket_address.h"

namespace subak {
namespace {

using Answer = ConnectionLimiter::Answer;

Peer from(const std::string& host, std::uint16_t port) {
  return peer_of(*socket_address(host, port)->get());
}

TEST(ConnectionLimiter, CountsInAllAndByAddress) {
  ConnectionLimiter limiter({3, 2});
  EXPECT_EQ(limiter.ask(from("10.0.0.1", 1)), Answer::kAdmitted);
  EXPECT_EQ(limiter.ask(from("::ffff:10.0.0.1", 2)), Answer::kAdmitted);  // the same address
  EXPECT_EQ(limiter.ask(from("10.0.0.1", 3)), Answer::kPeerFull);
  EXPECT_EQ(limiter.ask(from("fd00::1", 1)), Answer::kAdmitted);
  EXPECT_EQ(limiter.ask(from("fd00::2", 1)), Answer::kFull);
  limiter.left(from("10.0.0.1", 1), Answer::kAdmitted, false);
  EXPECT_EQ(limiter.ask(from("10.0.0.1", 3)), Answer::kAdmitted);
  EXPECT_EQ(limiter.open(), 3u);
}

TEST(ConnectionLimiter, WhatIsExpectedHasRoomOfItsOwn) {
  ConnectionLimiter limiter({1, 1});
  EXPECT_EQ(limiter.ask(from("127.0.0.1", 1)), Answer::kAdmitted);
  std::uint16_t port = 100;
  for (std::size_t i = 0; i < limits::kReservedConnections; ++i) {
    const Peer own = from("127.0.0.1", port++);
    EXPECT_EQ(limiter.ask(own), Answer::kPeerFull);
    limiter.expect(own);
    EXPECT_EQ(limiter.ask(own), Answer::kReserved);
    EXPECT_TRUE(limiter.forget(own));
    EXPECT_EQ(limiter.ask(own), Answer::kPeerFull);
  }
  const Peer beyond = from("127.0.0.1", port);
  limiter.expect(beyond);
  EXPECT_EQ(limiter.ask(beyond), Answer::kFull);
  EXPECT_TRUE(limiter.forget(beyond));  // it came, though there was no room: the listener accepts
  EXPECT_FALSE(limiter.forget(beyond));
  limiter.left(from("127.0.0.1", 100), Answer::kReserved, false);
  limiter.expect(beyond);
  EXPECT_EQ(limiter.ask(beyond), Answer::kReserved);
}

TEST(ConnectionLimiter, WhoIsToldToGoMakesRoomUntilTooManyHaveNotGone) {
  ConnectionLimiter limiter({1, 1});
  const Peer guest = from("10.0.0.1", 1);
  EXPECT_EQ(limiter.ask(guest), Answer::kAdmitted);
  for (std::size_t i = 0; i < limits::kMaxLeavingConnections; ++i) {
    EXPECT_TRUE(limiter.evict(guest));
    EXPECT_EQ(limiter.ask(guest), Answer::kAdmitted);
  }
  EXPECT_FALSE(limiter.evict(guest));
  EXPECT_EQ(limiter.open(), 1 + limits::kMaxLeavingConnections);
  limiter.left(guest, Answer::kAdmitted, true);
  EXPECT_TRUE(limiter.evict(guest));
  EXPECT_EQ(limiter.counters().evicted, 1 + limits::kMaxLeavingConnections);
}

}  // namespace
}  // namespace subak
