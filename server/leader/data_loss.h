// Takes an operator's acceptance of data loss from the API, and writes it into the audit log. Data
// loss: the database failed over to a copy that lacks facts that were durable before
// (durable_mark.h). Private to server.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "server/api/common/options.h"
#include "server/leader/durable_mark.h"
#include "server/runtime/runtime.h"

namespace subak {

// Carries out AdminService.AcceptLoss on this replica. `last`: the last fact of the database. It
// calls DurableMark::accept() and writes a log line. Returns the last lost fact. An error says why
// the acceptance is refused. Threads: any.
Result<LossSeen> accept_loss(DurableMark& known, const LossAsked& asked, std::uint64_t last);

// Writes the acceptance of data loss into the audit log, and waits until the entry is durable. Does
// nothing if there is no acceptance. Call it when this replica has begun to lead, before any
// decision. Other replicas that knew the lost facts see this entry, so they know that they may
// follow and lead again.
std::optional<Error> record_data_loss(const DurableMark& known, Runtime& runtime);

}  // namespace subak
