// The namespace of a kubeconfig's context, for the plugin of kubectl. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace subak::cli {

// The namespace that kubectl uses if neither the command line nor the context names one.
inline constexpr std::string_view kDefaultNamespace = "default";

// Returns the namespace of a context, as kubectl chooses it from the texts of its kubeconfigs: the
// first text that has a value wins. `context`: the name of the context; empty: the one that
// current-context names. Returns kDefaultNamespace if the context names no namespace, or if no text
// has a current-context. kNotFound: no text has the context. kInvalid: a text is no kubeconfig, or
// the namespace cannot be a name in Kubernetes.
Result<std::string> context_namespace(const std::vector<std::string>& texts,
                                      std::string_view context);

// True if the text can be the name of a namespace: 1 to 63 characters a-z, 0-9 and "-", and "-" at
// neither end.
bool is_namespace(std::string_view text);

}  // namespace subak::cli
