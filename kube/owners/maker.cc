#include "kube/owners/maker.h"

#include "core/limits.h"
#include "kube/pod.h"

namespace subak {

// People come from an identity provider; names of Kubernetes' own accounts start with "system:".
std::string person_name(std::string_view username) {
  if (username.starts_with("system:")) return {};
  std::string name;
  for (const char c : username) {
    const bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-' || c == '@';
    name += keep ? c : '-';
  }
  return shortened(name, limits::kMaxNameBytes);
}

std::string stamp_of(std::string_view username) {
  if (username.size() <= limits::kMaxTextBytes) return std::string(username);
  return shortened(std::string(username), limits::kMaxNameBytes);
}

bool may_be_controller(std::string_view username, std::string_view ns) {
  constexpr std::string_view kAccount = "system:serviceaccount:";
  if (!username.starts_with("system:")) return false;
  if (!username.starts_with(kAccount)) return true;
  username.remove_prefix(kAccount.size());
  return username.substr(0, username.find(':')) != ns;
}

}  // namespace subak
