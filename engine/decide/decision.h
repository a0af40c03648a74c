// One input being decided. It shows the state, which nothing here can change, and offers the only
// two ways to change it: emit() a fact, or tell() a note. Both apply at once. Ids survive
// them, and so do references to jobs and clusters, as far as state/jobs.h and state/clusters.h say;
// no other reference into the state does.
//
// The files of decide/ are functions over it, one file a subject: decide(d, input) for each kind of
// input, and what several of them need (declared in decide.h).
// Threads: none; it lives while Engine::apply runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "engine/state/state.h"
#include "placement/search.h"

namespace subak::decide {

class Decision {
 public:
  // `method` and `content`: of a request id that counts; 0 if there is none.
  // `find`: the memory of searches, which decides nothing.
  Decision(State& state, Search& find, const Input& in, Method call = Method::kNone,
           std::uint64_t hash = 0)
      : s(state),
        search(find),
        input(in),
        method(call),
        content(hash),
        before_ms(state.fact_ms()),
        state_(state) {}

  // A fact, made durable with the outcome and applied now.
  void emit(fact::Body body);
  // What no fact need keep, applied now.
  void tell(const Note& note) { state_.apply(note); }
  // The number of a request that is to be judged, whether it was seen before or not.
  ShapeId shape_of(ClusterId cluster, const GangRequest& request);
  // The input changes nothing. A refused edit goes to the audit log, which knows what it was about:
  // `subject`. Long texts are cut.
  void refuse(Error error, const std::string& subject);
  // Who did it, why, and under which request id.
  EditStamp stamp(const std::string& reason) const;
  // Something is to be done outside about this job. What it is follows from how the job stands when
  // the input is decided.
  void act_on(JobId id) { acted_.push_back(id); }
  // The input is decided: out.effects are those of the jobs that were acted on, each once, in the
  // order of the first time.
  void add_effects();

  const State& s;
  Search& search;  // of s.fleet()
  const Input& input;
  const Method method;
  const std::uint64_t content;
  const TimeMs before_ms;  // of the last fact before this input
  ApplyOutcome out;
  bool retold =
      false;  // what is decided was said by an earlier input, and its times are by our clock

 private:
  State& state_;  // for emit() and tell() alone
  std::vector<JobId> acted_;
};

}  // namespace subak::decide
