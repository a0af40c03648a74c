// Short functions by which tests of server/config read a configuration from text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/config/config.h"

namespace subak::test {

inline constexpr char kHeader[] = "apiVersion: subak.gpu/v1\nkind: Configuration\n";

// Returns why a file with kHeader and `body` is refused; "": it is accepted.
inline std::string refusal(const std::string& body) {
  Config config;
  std::vector<Origin> origins;
  return apply_yaml(kHeader + body, "subak.yaml", config, origins).value_or("");
}

inline Config accepted(const std::string& body) {
  Config config;
  std::vector<Origin> origins;
  const auto error = apply_yaml(kHeader + body, "subak.yaml", config, origins);
  EXPECT_EQ(error.value_or(""), "");
  return config;
}

}  // namespace subak::test
