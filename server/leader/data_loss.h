// Takes an acceptance of data loss from the API, and writes it into the audit log.
// Private to server.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "server/api/common/options.h"
#include "server/leader/durable_mark.h"
#include "server/runtime/runtime.h"

namespace subak {

// Carries out AdminService.AcceptLoss on a replica whose database ends with fact `last`. It calls
// DurableMark::accept() and writes a log line. Returns the last lost fact, or why the acceptance is
// refused. Threads: any.
Result<LossSeen> accept_loss(DurableMark& known, const LossAsked& asked, std::uint64_t last);

// Writes an acceptance of data loss into the audit log and waits until the entry is durable. Call
// it once this replica leads, before any decision. By the entry, other replicas know that they may
// follow. Does nothing if there is no acceptance.
std::optional<Error> record_data_loss(const DurableMark& known, Runtime& runtime);

}  // namespace subak
