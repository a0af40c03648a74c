// Short functions that write pods as JSON, for tests of kube/, the webhook and the edge.
#pragma once

#include <string>
#include <string_view>

namespace subak::test {

// Returns a container with `amount` of `resource`, 8 CPUs and 64Gi; requests equal limits.
inline std::string container(std::string_view resource, std::string_view amount,
                             std::string_view more = "") {
  const std::string q = "\"" + std::string(resource) + "\":\"" + std::string(amount) + "\"";
  const std::string list = R"({"cpu":"8","memory":"64Gi",)" + q + "}";
  return R"({"name":"main","image":"i","resources":{"limits":)" + list + R"(,"requests":)" + list +
         "}" + std::string(more) + "}";
}

inline std::string pod(std::string_view containers, std::string_view metadata = R"("name":"p")",
                       std::string_view spec = "") {
  return R"({"metadata":{)" + std::string(metadata) + R"(},"spec":{"containers":[)" +
         std::string(containers) + "]" + std::string(spec) + "}}";
}

}  // namespace subak::test
