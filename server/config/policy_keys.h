// Reads and changes the settings of the policy (those that all scheduling decisions use) that are
// also keys of the configuration. The API's calls GetPolicy and SetPolicy use it. If the file or a
// flag sets a key, callers of the API cannot change it. Threads: any; pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/policy.h"
#include "server/config/config.h"

namespace subak {

// Returns the value of each key in `policy`, in the order of `subakd --help`.
std::vector<PolicyValue> policy_values(const Config& config, const Policy& policy);

// Returns the policy with other values for some keys. kNotFound: there is no such key.
// kPrecondition: the configuration sets the key. kInvalid: the value cannot be read, or a key comes
// twice. The field of the error is the key.
Result<Policy> policy_with(const Config& config, const Policy& policy,
                           const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace subak
