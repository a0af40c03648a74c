// What an input is as a request: of whom, which method, about what. And the memory of requests:
// said again, a request gets the answer that it got.
// Threads: none; pure functions but apply().
#pragma once

#include <string>

#include "engine/decide/decide.h"
#include "engine/input.h"

namespace subak::decide {

// An edit of people or programs: a refusal of one goes to the audit log.
bool is_edit(const in::Body& body);
// It has validate_only set: it is judged and leaves nothing behind.
bool only_validates(const in::Body& body);
// What an edit is about, as the audit log has it.
std::string subject_of(const in::Body& body);

// One whole input: time, day's end, request id, bounds, decision. Duties: those of Engine::apply.
ApplyOutcome apply(State& state, Search& search, PassMemory& memory, const Input& input);

}  // namespace subak::decide
