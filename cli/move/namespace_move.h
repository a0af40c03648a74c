// Moves a namespace from Kueue to Subak and back, step by step (`subak migrate --namespace`). A
// caller may repeat each step: a step changes only objects that are not in the wanted state yet.
// These functions need only an API server.
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/move/namespace_facts.h"
#include "core/error.h"

namespace subak::cli {

// The report that a person reads before a move.
struct MoveReport {
  // The objects of the namespace, and what the move would do with them.
  std::vector<std::string> lines;
  // Settings and pods that have no equivalent on the other side.
  std::vector<std::string> without_equivalent;
  // Why the move cannot begin, each with what to do. Empty: it can.
  std::vector<std::string> blockers;
};
// Returns the report on a move to Subak, or `back` to Kueue. `account`: the account in Subak that
// pays for the namespace; empty: none.
MoveReport report_move(const MovingNamespace& facts, const std::string& account, bool back);

// Returns the workloads and pods that still run on the side that the namespace leaves. The move
// waits until there are none.
std::vector<std::string> left_to_drain(const MovingNamespace& facts, bool back);

// Stops the LocalQueues of the namespace, and remembers their stopPolicy. Kueue then admits no
// further workload. Admitted workloads continue, unless a queue already had the stopPolicy
// HoldAndDrain.
std::optional<Error> hold_queues(KubeCaller& api, const MovingNamespace& facts);
// Gives the LocalQueues the stopPolicy that they had.
std::optional<Error> open_queues(KubeCaller& api, const MovingNamespace& facts);
// Sets the label subak.gpu/managed: "true", or removes it.
std::optional<Error> set_managed(KubeCaller& api, const std::string& ns, bool managed);
// Hands owners that wait in Kueue to Subak: removes the label with their queue's name and resumes
// them. Their pods then wait behind Subak's gate. Deletes pods with Kueue's gate that have a
// controller, which creates them again.
std::optional<Error> give_to_subak(KubeCaller& api, const MovingNamespace& facts);
// Hands owners that wait in Subak to Kueue: suspends them, and sets the label with their queue's
// name again. Opens the gates of all other waiting pods.
std::optional<Error> give_to_kueue(KubeCaller& api, const MovingNamespace& facts);

}  // namespace subak::cli
