// The decision on one input. It shows the state as const and offers the only two ways to change it:
// emit() a fact, or tell() a note (an ephemeral change). Both apply at once. Ids survive them.
// References to jobs and clusters survive as far as state/jobs.h and state/clusters.h say; other
// references into the state do not.
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
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::decide {

class Decision {
 public:
  // `call` and `hash`: method and content of the request id, if one counts; else 0.
  // `find`: the search with its cache, which decides nothing.
  Decision(State& state, Search& find, const Input& in, Method call = Method::kNone,
           std::uint64_t hash = 0)
      : s(state),
        search(find),
        input(in),
        method(call),
        content(hash),
        before_ms(state.fact_ms()),
        state_(state) {}

  // Adds a fact, which becomes durable with the outcome, and applies it now.
  void emit(fact::Body body);
  // Applies an ephemeral change, which no fact needs to record.
  void tell(const Note& note) { state_.apply(note); }
  // The shape number of a request, seen before or not.
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

  const State& s;
  Search& search;  // of s.fleet()
  const Input& input;
  const Method method;
  const std::uint64_t content;
  const TimeMs before_ms;  // of the last fact before this input
  ApplyOutcome out;
  // An earlier input reported this, and its times are by our clock.
  bool retold = false;

 private:
  State& state_;  // only for emit() and tell()
  std::vector<JobId> acted_;
};

}  // namespace subak::decide
