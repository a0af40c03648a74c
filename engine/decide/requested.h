// Handles an input as a request with a caller, a method and a subject. A repeated request gets the
// reply of its first use again.
// Threads: one at a time; all functions except apply() are pure.
#pragma once

#include <string>

#include "engine/decide/decide.h"
#include "model/input.h"

namespace subak::decide {

// True for an edit by a person or a program. If such an edit is refused, the refusal goes to the
// audit log.
bool is_edit(const in::Body& body);
// True if validate_only is set: the input is checked and changes nothing.
bool only_validates(const in::Body& body);
// The subject of an edit, as the audit log shows it.
std::string subject_of(const in::Body& body);

// Handles one complete input: time, end of day, request id, bounds, decision. The caller has the
// same duties as a caller of Engine::apply.
ApplyOutcome apply(State& state, Observed& observed, Search& search, PassMemory& memory,
                   const Input& input);

}  // namespace subak::decide
