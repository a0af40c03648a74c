#include "net/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace subak {

std::optional<SocketAddress> socket_address(const std::string& host, std::uint16_t port) {
  SocketAddress out;
  auto& v4 = reinterpret_cast<sockaddr_in&>(out.bytes);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out.bytes);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    out.size = sizeof v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    out.size = sizeof v6;
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace subak
