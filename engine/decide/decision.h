// The decision on one input. It shows the state and what was observed as const. It offers the only
// ways to change them: emit() a fact, or tell() a note, which changes only what was observed. Both
// apply at once. Ids survive them. References to jobs and clusters survive as far as
// state/jobs/jobs.h and state/clusters.h say; other references do not.
//
// The files of decide/ are functions over it, one file a subject: decide(d, input) for each kind of
// input, and their shared steps (declared in decide.h).
// Threads: none; it lives while Engine::apply runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "engine/answers/answers.h"
#include "engine/state/observed/observed.h"
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::decide {

class Decision {
 public:
  // `call` and `hash`: method and content of the request id, if one counts; else 0.
  // `find`: the search with its cache, which decides nothing. All four must outlive it.
  Decision(State& state, Observed& seen, Search& find, const Input& in, Method call = Method::kNone,
           std::uint64_t hash = 0)
      : s(state),
        observed(seen),
        search(find),
        input(in),
        method(call),
        content(hash),
        before_ms(state.fact_ms()),
        state_(state),
        observed_(seen) {}

  // Adds a fact, which becomes durable with the outcome, and applies it now.
  void emit(fact::Body body);
  // Records what the input showed and no fact needs to keep.
  void tell(const Note& note) { observed_.apply(note); }
  // Sets whether a pass is due (State::pass_due), which no fact records.
  void set_pass_due(bool due) { state_.set_pass_due(due); }
  // The shape number of a request, seen before or not. It holds as long as this decision.
  ShapeId shape_of(ClusterId cluster, const GangRequest& request);
  // Refuses the input, which then changes nothing. A refused edit goes to the audit log under
  // `subject`. Long texts are cut.
  void refuse(Error error, const std::string& subject);
  // The actor, reason and request id of an edit.
  EditStamp stamp(const std::string& reason) const;
  // Requests an effect for this job. The effect follows from the job's state when the input is
  // decided.
  void act_on(JobId id) { acted_.push_back(id); }
  // Call it once the input is decided. Adds the effects of the jobs of act_on() to out.effects,
  // each job once, in order of the first call.
  void add_effects();

  // The state, with the facts of this decision applied.
  const State& s;
  // What edges reported, with the notes of this decision.
  const Observed& observed;
  // Over s.fleet().
  Search& search;
  // The input as it came, with its time.
  const Input& input;
  // As the constructor got them. kNone: no request id counts.
  const Method method;
  const std::uint64_t content;
  // The time of the last fact before this input. 0: there is none.
  const TimeMs before_ms;
  // What the caller of Engine::apply() gets. Filled step by step.
  ApplyOutcome out;
  // An earlier input reported this, and its times are by our clock.
  bool retold = false;

 private:
  // Only for emit(), set_pass_due() and shape_of().
  State& state_;
  // Only for emit() and tell().
  Observed& observed_;
  // The shapes of shape_of(), which no job uses so far.
  std::vector<ShapeUse> shapes_;
  // The jobs of act_on(), in order of the calls.
  std::vector<JobId> acted_;
};

}  // namespace subak::decide
