// An IP address and a port in the form that system calls take, for code that uses sockets without
// Asio, such as net/probe.h.
// Threads: any; plain values.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace subak {

// An IPv4 or IPv6 address with its size, as for bind() and connect().
// Calls that fill in the address (getsockname(2)) may change `size`.
struct SocketAddress {
  // The address in network byte order; its first bytes name the family.
  sockaddr_storage bytes{};
  // The number of bytes in use, for the calls that want a length.
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  // AF_INET or AF_INET6.
  int family() const { return bytes.ss_family; }
};

// Returns the address, or nothing if `host` is not an IP address. IPv6 has no brackets. The
// function asks no name server. `port` is in the machine's own byte order.
std::optional<SocketAddress> socket_address(const std::string& host, std::uint16_t port);

}  // namespace subak
