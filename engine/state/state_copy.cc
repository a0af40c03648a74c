#include "engine/state/state_copy.h"

#include <string>
#include <utility>

#include "core/must.h"

namespace subak::state {
namespace {

FactSink into(std::vector<fact::Body>& facts) {
  return [&facts](fact::Body body) { facts.push_back(std::move(body)); };
}

}  // namespace

StateCopy::StateCopy(State& state, SnapshotParts what) : fact_ms_(state.fact_ms()) {
  snapshot_before_live(state, into(before_.facts), what);
  snapshot_books(state, into(books_.facts), what);
  if (what == SnapshotParts::kAll) requests_ = state.requests();
  snapshot_last(state, into(last_.facts), what);
  must(!before_.facts.empty(), "a state has a policy at least");
  state.jobs_.begin_copy();
}

bool StateCopy::pass(State& state, std::size_t most, const Sink& sink) {
  if (!pass(before_, most, sink)) return false;
  if (!live_passed_) {
    live_passed_ = state.jobs_.copy_slice(most, [&](fact::Body&& body) {
      sink({0, fact_ms_, std::move(body)});
    });
    return false;
  }
  return pass(books_, most, sink) && pass_requests(most, sink) && pass(last_, most, sink);
}

bool StateCopy::pass(Made& made, std::size_t& most, const Sink& sink) const {
  for (; made.next < made.facts.size() && most > 0; ++made.next, --most) {
    sink({0, fact_ms_, std::move(made.facts[made.next])});
  }
  must(made.next <= made.facts.size(), "each fact is passed on once");
  return made.next == made.facts.size();
}

bool StateCopy::pass_requests(std::size_t& most, const Sink& sink) {
  for (; requests_.size() > 0 && most > 0; --most) {
    requests_.take_first([&](const RequestKey& key, const RememberedRequest& request) {
      sink({0, fact_ms_, request_snapshot(key, request)});
    });
  }
  return requests_.size() == 0;
}

}  // namespace subak::state
