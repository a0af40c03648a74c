// The decision on one input, while the engine makes it. A Decision gives const access to the state
// and to the observed reports of the clusters. emit() adds a fact: a durable decision or
// observation, which changes the state. tell() applies a note, which changes only the observed
// reports and is not durable. Both take effect at once. After a change, ids stay valid. References
// to jobs and clusters stay valid as state/jobs/jobs.h and state/clusters.h say. Other references
// become invalid.
//
// Each file of decide/ has the functions of one subject, which take a Decision. There is one
// function decide(d, input) for each kind of input. Other functions are steps that several
// decisions share (decide.h).
// Threads: one at a time; a Decision lives while Engine::apply runs.
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
  // `call` and `hash`: for an input with a request id, its method and the digest of its content.
  // kNone and 0: there is no request id, or the call only validates. `find` is the search with
  // its cache; the cache does not influence decisions. State, observed reports, search and input
  // must outlive the decision.
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

  // Adds a fact to the outcome, and applies it now.
  void emit(fact::Body body);
  // Applies a note: it records a report that no fact needs to store.
  void tell(const Note& note) { observed_.apply(note); }
  // Set when a scheduling pass is due (state::PassDue): now or not now, and at which later time. No
  // fact records this.
  void set_pass_due(bool due) { state_.set_pass_due({due, s.pass_due().at_ms}); }
  void set_pass_due_at(TimeMs at) { state_.set_pass_due({s.pass_due().now, at}); }
  // Returns the shape number of a request: equal requests of a cluster have the same number.
  // Assigns a number to a new request. The number is valid as long as this decision.
  ShapeId shape_of(ClusterId cluster, const GangRequest& request);
  // Refuses the input: sets the error of the reply. For an edit, unless it only validates, the fact
  // EditRefused also records the refusal in the audit log, under `subject`. Long texts are cut.
  void refuse(Error error, const std::string& subject);
  // Returns the actor, reason and request id of an edit.
  EditStamp stamp(const std::string& reason) const;
  // Requests an effect for this job: a command to its cluster. The effect follows from the job's
  // state at the end of the decision.
  void act_on(JobId id) { acted_.push_back(id); }
  // Call add_effects() once, after the decision on the input. For each job of act_on(), adds its
  // effect to out.effects, in the order of the first calls.
  void add_effects();

  // The state, with the facts of this decision applied.
  const State& s;
  // The reports of edges, with the notes of this decision applied.
  const Observed& observed;
  // The search for placements in the fleet of `s`.
  Search& search;
  // The input.
  const Input& input;
  // The arguments `call` and `hash` of the constructor.
  const Method method;
  const std::uint64_t content;
  // The time of the last fact before this input. 0: there is no earlier fact.
  const TimeMs before_ms;
  // The outcome that the caller of Engine::apply() gets. The decision fills it step by step.
  ApplyOutcome out;
  // True while the engine decides on an early report (state::EarlyPods), whose times are already
  // converted to the service's clock.
  bool retold = false;

 private:
  // The state, only for emit(), set_pass_due(), set_pass_due_at() and shape_of().
  State& state_;
  // The observed reports, only for emit() and tell().
  Observed& observed_;
  // The shapes of shape_of(). The decision uses each shape until a job uses it.
  std::vector<ShapeUse> shapes_;
  // The jobs of act_on(), in order of the calls.
  std::vector<JobId> acted_;
};

}  // namespace subak::decide
