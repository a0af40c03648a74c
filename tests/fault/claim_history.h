// Checks the claims in a history of facts: whether each was made, carried out and ended by the
// rules (docs/design/0084), even if the leader changed meanwhile. A claim sets GPUs aside for a
// waiting job; its victims must end. It uses only the facts, and an engine that applies them.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/fact.h"

namespace subak::fault {

struct ClaimHistory {
  // What is wrong; empty: nothing.
  std::vector<std::string> mistakes;
  // Claims that were made, claims whose job started on them, and claims that a fact ended.
  std::size_t made = 0, started = 0, ended = 0;
  // Victims that were asked to end.
  std::size_t asked = 0;
};

// Reads the facts from the first one on. These are mistakes:
// - A claim ends, and the fact that ends it is not about its job.
// - A claim is made for a job that has one, or a claim ends that was not made.
// - A victim of the claim is not in the attempt that is claimed, or is a victim of another claim.
// - A job is preempted too early, twice in one attempt, or without a claim that asks for it.
// - A claim is open after the last fact, and its job has ended.
ClaimHistory read_claims(const std::vector<Fact>& facts);

}  // namespace subak::fault
