// Compares a request's host with the service's own names.
#include <algorithm>
#include <cctype>

#include "net/socket_address.h"
#include "server/http/routes.h"

namespace subak {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  if (a.ends_with('.')) a.remove_suffix(1);
  if (b.ends_with('.')) b.remove_suffix(1);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// Removes the port, and the brackets of an IPv6 address.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.rfind(':'));
}

}  // namespace

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
  if (host.empty()) return true;
  const std::string_view name = without_port(host);
  if (same_name(name, "localhost") || socket_address(std::string(name), 0)) return true;
  return std::any_of(names.begin(), names.end(),
                     [name](const std::string& own) { return same_name(name, own); });
}

}  // namespace subak
