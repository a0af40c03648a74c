// Turns the configuration into inputs. Clusters, modes and policy are a part of the engine's state.
// So the configured values become edits by the actor "config", and the audit log shows these edits.
// Threads: any, but configure() and not_put_in() block. Private to server/service.
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

// A function that returns the values which the configuration last set for a cluster; nullopt: it
// never set any.
using LastConfigured = std::function<std::optional<fact::ClusterSet>(const std::string& cluster)>;

// Returns the edits that change the state in `view` to the values in `config`.
// - If a user has edited or deleted a cluster since the configuration last set its values, the
//   edits do not touch this cluster, unless the configured values have changed too. So a restart
//   does not undo a user's command, and does not restore a deleted cluster.
// - If neither the configuration nor the view has clusters, the edits create names::kFirstCluster.
// - A new store gets the newest fact version, since no older program has to read the store.
std::vector<in::Body> edits_for(const Config& config, const View& view, const LastConfigured& last);

// Returns the changes that these edits would make, one line for each change, such as
// "half_life_ms=1209600000, in force half_life_ms=604800000".
std::vector<std::string> differences(const std::vector<in::Body>& edits, const View& view);
// Returns the values of the policy in force that differ from this replica's configuration. There
// can be such values because only the leader's configuration changes the policy.
std::vector<std::string> policy_differences(const Config& config, const View& view);

// Posts the edits of edits_for(), and waits until they are durable. If an edit is refused, it
// returns the first refusal as an error.
std::optional<Error> configure(const Config& config, Runtime& runtime, Store& store);
// Returns what configure() would change, one line for each change, without changing anything.
Result<std::vector<std::string>> not_put_in(const Config& config, const Runtime& runtime,
                                            Store& store);

}  // namespace subak
