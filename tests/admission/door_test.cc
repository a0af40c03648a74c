#include "net/door.h"

#include <gtest/gtest.h>

#include "net/socket_address.h"

namespace subak {
namespace {

using Answer = Door::Answer;

Peer from(const std::string& host, std::uint16_t port) {
  return peer_of(*socket_address(host, port)->get());
}

TEST(Door, CountsInAllAndByAddress) {
  Door door({3, 2});
  EXPECT_EQ(door.ask(from("10.0.0.1", 1)), Answer::kGuest);
  EXPECT_EQ(door.ask(from("::ffff:10.0.0.1", 2)), Answer::kGuest);  // the same address
  EXPECT_EQ(door.ask(from("10.0.0.1", 3)), Answer::kPeerFull);
  EXPECT_EQ(door.ask(from("fd00::1", 1)), Answer::kGuest);
  EXPECT_EQ(door.ask(from("fd00::2", 1)), Answer::kFull);
  door.left(from("10.0.0.1", 1), Answer::kGuest, false);
  EXPECT_EQ(door.ask(from("10.0.0.1", 3)), Answer::kGuest);
  EXPECT_EQ(door.open(), 3u);
}

TEST(Door, WhatIsExpectedHasRoomOfItsOwn) {
  Door door({1, 1});
  EXPECT_EQ(door.ask(from("127.0.0.1", 1)), Answer::kGuest);
  std::uint16_t port = 100;
  for (std::size_t i = 0; i < limits::kReservedConnections; ++i) {
    const Peer own = from("127.0.0.1", port++);
    EXPECT_EQ(door.ask(own), Answer::kPeerFull);
    door.expect(own);
    EXPECT_EQ(door.ask(own), Answer::kOwn);
    EXPECT_TRUE(door.forget(own));
    EXPECT_EQ(door.ask(own), Answer::kPeerFull);
  }
  const Peer beyond = from("127.0.0.1", port);
  door.expect(beyond);
  EXPECT_EQ(door.ask(beyond), Answer::kFull);
  EXPECT_TRUE(door.forget(beyond));  // it came, though there was no room: the listener accepts
  EXPECT_FALSE(door.forget(beyond));
  door.left(from("127.0.0.1", 100), Answer::kOwn, false);
  door.expect(beyond);
  EXPECT_EQ(door.ask(beyond), Answer::kOwn);
}

TEST(Door, WhoIsToldToGoMakesRoomUntilTooManyHaveNotGone) {
  Door door({1, 1});
  const Peer guest = from("10.0.0.1", 1);
  EXPECT_EQ(door.ask(guest), Answer::kGuest);
  for (std::size_t i = 0; i < limits::kMaxLeavingConnections; ++i) {
    EXPECT_TRUE(door.evict(guest));
    EXPECT_EQ(door.ask(guest), Answer::kGuest);
  }
  EXPECT_FALSE(door.evict(guest));
  EXPECT_EQ(door.open(), 1 + limits::kMaxLeavingConnections);
  door.left(guest, Answer::kGuest, true);
  EXPECT_TRUE(door.evict(guest));
  EXPECT_EQ(door.counters().evicted, 1 + limits::kMaxLeavingConnections);
}

}  // namespace
}  // namespace subak
