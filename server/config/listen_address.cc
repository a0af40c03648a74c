#include <arpa/inet.h>

#include <array>
#include <charconv>

#include "server/config/config.h"

namespace subak {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

Error bad_address(std::string_view text) {
  return {ErrorCode::kInvalid, "", std::string(text),
          "want ADDRESS:PORT, such as 127.0.0.1:9443, 0.0.0.0:9443 or [::1]:0"};
}

}  // namespace

bool ListenAddress::loopback() const { return host.starts_with("127.") || host == "::1"; }

std::string ListenAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) return bad_address(text);
  } else if (host.find(':') != std::string_view::npos) {
    return bad_address(text);
  }
  ListenAddress address{host == "localhost" ? "127.0.0.1" : std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || !is_address(address.host)) {
    return bad_address(text);
  }
  return address;
}

}  // namespace subak
