#include "model/policy.h"

#include <algorithm>

namespace subak {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

bool is_system_namespace(const Policy& policy, std::string_view ns) {
  const auto is_it = [ns](std::string_view pattern) { return matches(pattern, ns); };
  return std::any_of(kSystemNamespaces.begin(), kSystemNamespaces.end(), is_it) ||
         std::any_of(policy.system_namespaces.begin(), policy.system_namespaces.end(), is_it);
}

}  // namespace subak
