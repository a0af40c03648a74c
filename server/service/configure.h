// Turns the configuration into inputs. Clusters, modes and policy are state of the engine. So the
// values of the configuration become edits by the actor "config", and the audit log shows them.
// Private to server/service.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/answers/view.h"
#include "model/input.h"
#include "server/config/config.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

inline constexpr char kConfigActor[] = "config";

// Returns the values of a cluster that the configuration last set; nullopt: it never set any.
using LastConfigured = std::function<std::optional<fact::ClusterSet>(const std::string& cluster)>;

// Returns the edits that change `view` to the values that `config` names. If another edit changed a
// cluster later, they do not touch the cluster, unless the configuration itself has changed. So a
// restart does not undo a command, and does not restore a deleted cluster. If neither the
// configuration nor the view has clusters, the edits create names::kFirstCluster. A new store gets
// the newest fact version, since no older program has to read it.
std::vector<in::Body> edits_for(const Config& config, const View& view, const LastConfigured& last);

// Returns the changes that these edits would make, one line for each: "half_life_ms=1209600000, in
// force half_life_ms=604800000".
std::vector<std::string> differences(const std::vector<in::Body>& edits, const View& view);
// Returns where this replica's configuration differs from the policy in force. Only a configuration
// changes the policy.
std::vector<std::string> policy_differences(const Config& config, const View& view);

// Posts the edits and waits until they are durable. Returns the first refusal as an error.
std::optional<Error> configure(const Config& config, Runtime& runtime, Store& store);
// Returns what configure() would change, without changing it.
Result<std::vector<std::string>> not_put_in(const Config& config, const Runtime& runtime,
                                            Store& store);

}  // namespace subak
