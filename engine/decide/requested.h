// The entry to all decisions. apply() handles one input, and Engine::apply() calls only this
// function. The other functions say what an input is as a request: whether it is an edit, and its
// subject in the audit log. A request that repeats an earlier request id gets the reply of the
// first use again.
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

// Handles one input completely: a repeated request id, the time, what is due at the end of a day or
// of a budget's period, the bounds, and then the decision. `memory`: the cache of the pass
// (decide.h). The caller has the same duties as a caller of Engine::apply.
ApplyOutcome apply(State& state, Observed& observed, Search& search, PassMemory& memory,
                   const Input& input);

}  // namespace subak::decide
