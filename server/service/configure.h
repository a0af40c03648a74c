// The configuration as inputs: clusters, modes and policy are state of the engine, so what the file
// says enters like any edit, by actor "config", and shows in the audit log.
// Private to server/service.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "engine/input.h"
#include "engine/view.h"
#include "server/config/config.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

inline constexpr char kConfigActor[] = "config";

// What the configuration said about a cluster when it last entered; nothing if it never did.
using LastConfigured = std::function<std::optional<fact::ClusterSet>(const std::string& cluster)>;

// The edits that bring `view` to what `config` names. A cluster that somebody has edited since is
// left alone unless the configuration itself has changed: a restart does not undo a command, nor
// bring back a cluster that was deleted. Without clusters in the configuration and in the view
// there will be names::kFirstCluster. A new store has no previous program to stay readable for: it
// starts at the newest fact version.
std::vector<in::Body> edits_for(const Config& config, const View& view, const LastConfigured& last);

// What such edits would change, a line each: "half_life_ms=1209600000, in force half_life_ms=604800000".
std::vector<std::string> differences(const std::vector<in::Body>& edits, const View& view);
// Of the policy alone, which nothing but a configuration changes: what the one of this replica says otherwise.
std::vector<std::string> policy_differences(const Config& config, const View& view);

// Posts them and waits until they are durable. The first refusal is the error.
std::optional<Error> configure(const Config& config, Runtime& runtime, Store& store);
// What configure() would change, and does not.
Result<std::vector<std::string>> not_put_in(const Config& config, const Runtime& runtime,
                                            Store& store);

}  // namespace subak
