// Readers of single values, shared by the file and the flags. Internal to server/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/input.h"
#include "server/config/config.h"

namespace subak::config {

// `want` goes on after "want ".
inline Error bad_value(std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, "", std::string(got), "want " + std::string(want)};
}

// "observe, warn or enforce" for the enum's spellings.
template <class E>
std::string choices() {
  std::string out;
  const auto& names = EnumText<E>::names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

template <class E>
Result<E> read_enum(std::string_view text) {
  if (const auto value = enum_from<E>(text)) return *value;
  return bad_value(text, choices<E>());
}

// Reads one value of a setting: a text that is_printable().
std::optional<Error> set(const Setting& setting, Config& config, std::string_view value);
std::optional<Error> check_text(std::string_view text);

// A Kubernetes DNS label: cluster and namespace names.
std::optional<Error> check_name(std::string_view text);

// "NAME[:MODE[:NAMESPACE=MODE,...]]", the flag's form of one cluster.
Result<ClusterConfig> read_cluster(std::string_view text);
// Adds one override, keeping the list sorted; a second one for the same namespace is refused.
std::optional<Error> add_namespace(ClusterConfig& cluster, std::string_view ns,
                                   std::string_view mode);

}  // namespace subak::config
