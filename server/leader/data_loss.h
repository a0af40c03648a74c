// Brings an accepted data loss from the API into the audit log. Private to server.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "server/api/common/options.h"
#include "server/leader/durable_mark.h"
#include "server/runtime/runtime.h"

namespace subak {

// Carries out AdminService.AcceptLoss on a replica whose database ends with fact `last`:
// DurableMark::accept(), with a log line. Returns the last lost fact, or why it is refused.
// Threads: any.
Result<LossSeen> accept_loss(DurableMark& known, const LossAsked& asked, std::uint64_t last);

// Writes an acceptance of data loss into the audit log and waits until that is durable. Call once
// this replica leads, before any decision. Other replicas see by the entry that they may follow.
// Does nothing without an acceptance.
std::optional<Error> record_data_loss(const DurableMark& known, Runtime& runtime);

}  // namespace subak
