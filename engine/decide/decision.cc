#include "engine/decide/decision.h"

#include <set>
#include <type_traits>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/requested.h"
#include "engine/derive/effects.h"
#include "model/bounds/bounds.h"

namespace subak::decide {

void Decision::emit(fact::Body body) {
  const std::uint64_t before = s.seq();
  state_.apply(out.facts.emplace_back(Fact{s.seq() + 1, s.now(), std::move(body)}));
  observed_.apply(out.facts.back());
  must(s.seq() == before + 1, "a fact has the next number");
  must(out.facts.back().seq == s.seq(), "the last fact of the outcome is the last of the state");
}

ShapeId Decision::shape_of(ClusterId cluster, const GangRequest& request) {
  if (const ShapeId known = s.fleet().shapes().find(cluster, request)) return known;
  const ShapeId seen = shapes_.emplace_back(state_.use_shape(cluster, request)).id();
  must(seen && s.fleet().cluster_of(seen) == cluster, "a request that was seen has a shape");
  return seen;
}

void Decision::refuse(Error error, const std::string& subject) {
  must(!error.field.empty() && !error.want.empty(), "a refusal names the field and what is wanted");
  error.got = bounds::cut(error.got, limits::kMaxEchoBytes);
  if (is_edit(input.body) && !only_validates(input.body)) {
    fact::EditRefused f;
    f.what = std::visit([](const auto& b) { return std::string(b.kName); }, input.body);
    f.subject = bounds::cut(subject, limits::kMaxNameBytes);
    f.error = bounds::cut(error.message(), limits::kMaxMessageBytes);
    f.edit = {bounds::cut(input.actor, limits::kMaxNameBytes), "", ""};
    emit(std::move(f));
  }
  out.reply.error = std::move(error);
}

EditStamp Decision::stamp(const std::string& reason) const {
  must(content == 0 || !input.request_id.empty(), "only a request id has a content");
  return {input.actor, reason, content == 0 ? std::string() : input.request_id, method, content};
}

void Decision::add_effects() {
  std::set<JobId> seen;
  for (const JobId id : acted_) {
    const state::Job* const job = s.jobs().find(id);
    if (job == nullptr || !seen.insert(id).second) continue;
    if (auto effect = derive::effect_of(s, *job)) {
      must(effect->job == id, "an effect is of the job that it was asked for");
      out.effects.push_back(*std::move(effect));
    }
  }
}

}  // namespace subak::decide
