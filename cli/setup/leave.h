// Leaving a cluster: what there is of Subak's in it, and how it is taken away, so that nothing waits
// for ever. Needs an API server and nobody else: the service may be dead. Threads: one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "core/error.h"

namespace subak::cli {

struct QueuedPod {
  std::string ns, name;
  std::string created;   // RFC 3339, UTC
  std::string owner;     // uid of what made it; its own if nobody did
  bool is_made = false;  // would be made again
};

struct SuspendedOwner {
  std::string path;
  bool taken_back = false;  // waits for its turn; else somebody has cancelled it, and it stays so
};

struct Traces {
  // Paths of what intercepts, in the order in which it goes: policies with their bindings first,
  // then webhooks.
  std::vector<std::string> guards;
  std::string cluster;  // its name in Subak, by the webhook's address; empty: unknown
  std::vector<std::string> namespaces;  // with a label of ours that an operator has set
  // With our gate: gang by gang, the gang with the oldest pod first.
  std::vector<QueuedPod> pods;
  std::vector<SuspendedOwner> owners;
  // What the service needs as long as it works: its place among callers, its rights.
  std::vector<std::string> rights;
};

Result<Traces> find_traces(KubeCaller& api);

// Gone, or gone already.
std::optional<Error> remove_object(KubeCaller& api, const std::string& path);
// Takes subak.gpu/managed off.
std::optional<Error> forget_namespace(KubeCaller& api, const std::string& name);
// Opens our gate, to wherever the scheduler puts the pod; the gates of others stay. Nothing if the pod
// is gone or open. A policy that has just been removed may hold for a second: it is tried again.
std::optional<Error> release_pod(KubeCaller& api, const QueuedPod& pod);
// Nobody makes it again.
std::optional<Error> delete_pod(KubeCaller& api, const QueuedPod& pod);
// Takes the mark off, and lets an owner that was taken back make its pods.
std::optional<Error> resume_owner(KubeCaller& api, const SuspendedOwner& owner);
// Those that carry a mark of ours now.
Result<std::vector<SuspendedOwner>> suspended_owners(KubeCaller& api);
// Those that carry our gate now.
Result<std::vector<QueuedPod>> queued_pods(KubeCaller& api);

}  // namespace subak::cli
