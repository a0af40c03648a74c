// The word that facts are lost, from the API into the audit log. Private to server/service.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "server/api/api.h"
#include "server/runtime/runtime.h"
#include "server/service/known_facts.h"

namespace subak {

// What AdminService.AcceptLoss asks of a replica whose database ends with fact `last`: KnownFacts::accept(), with a line
// in the log. Threads: any.
Result<LossSeen> accept_loss(KnownFacts& known, const LossAsked& asked, std::uint64_t last);

// Once this replica leads, before anything is decided: writes what was accepted into the audit log, by which others see
// that they may follow, and waits until that is durable. Nothing was: does nothing.
std::optional<Error> say_loss(const KnownFacts& known, Runtime& runtime);

}  // namespace subak
