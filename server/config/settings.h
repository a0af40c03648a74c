// Readers of single values, used for the file and for the flags. Private to server/config.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "model/input.h"
#include "server/config/config.h"

namespace subak::config {

// Returns the error for a bad value (kInvalid). `want` is the text after "want ".
// The caller fills in the field: the key of the file, or the flag.
inline Error bad_value(std::string_view got, std::string_view want) {
  return {ErrorCode::kInvalid, "", std::string(got), "want " + std::string(want)};
}

// Lists the enum's spellings: "observe, warn or enforce".
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

// Reads an enum by its spelling.
// The text must be exactly as in EnumText, in lower case.
template <class E>
Result<E> read_enum(std::string_view text) {
  if (const auto value = enum_from<E>(text)) return *value;
  return bad_value(text, choices<E>());
}

// Reads one value of a setting into `config`. The error's field is empty.
// For a list, each call adds a value. Refuses text that is not printable. After an error `config`
// is unchanged.
std::optional<Error> set(const Setting& setting, Config& config, std::string_view value);
// Returns an error unless the text is_printable().
std::optional<Error> check_text(std::string_view text);

// Checks a Kubernetes DNS label: a cluster or namespace name.
// It has 1 to 63 characters of a-z, 0-9 and "-", with a letter or digit at both ends (RFC 1123).
std::optional<Error> check_name(std::string_view text);

// Reads "NAME[:MODE[:NAMESPACE=MODE,...]]", the flag's form of one cluster.
// An empty MODE means the default.
Result<ClusterConfig> read_cluster(std::string_view text);
// Adds the mode of one namespace; the list stays sorted.
// Refuses a second mode for the same namespace.
std::optional<Error> add_namespace(ClusterConfig& cluster, std::string_view ns,
                                   std::string_view mode);

}  // namespace subak::config
