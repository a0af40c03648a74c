#include <algorithm>
#include <cassert>

#include "core/limits.h"
#include "engine/impl.h"

namespace subak {
namespace {

// Edits of people and programs: a refusal of one goes to the audit log.
template <class T>
constexpr bool is_edit() {
  return std::is_same_v<T, in::SetCluster> || std::is_same_v<T, in::ImportNodes> ||
         std::is_same_v<T, in::DrainNode> || std::is_same_v<T, in::SetPolicy> ||
         std::is_same_v<T, in::SetAccount> || std::is_same_v<T, in::DeleteAccount> ||
         std::is_same_v<T, in::CancelJob> || std::is_same_v<T, in::HoldJob> ||
         std::is_same_v<T, in::Finalize>;
}

bool only_validates(const in::Body& body) {
  return std::visit(
      [](const auto& b) {
        if constexpr (requires { b.validate_only; }) return b.validate_only;
        return false;
      },
      body);
}

}  // namespace

ApplyOutcome Turn::run() {
  if (answer_repeated()) return std::move(out_);
  s_.now = std::max(s_.now, input_.time_ms);
  close_days();
  std::visit([&](const auto& body) { on(body); }, input_.body);
  keep_request();
  return std::move(out_);
}

// A request that found everything as it wants it is remembered like one that changed something:
// said again later, it must not undo what came in between.
void Turn::keep_request() {
  const std::string& id = input_.request_id;
  if (id.empty() || out_.reply.error || only_validates(input_.body) ||
      s_.requests.find(id) != nullptr) {
    return;
  }
  const Reply& reply = out_.reply;
  emit(fact::RequestKept{id, s_.now, reply.job, reply.account, reply.revision});
}

void Turn::emit(fact::Body body) {
  Fact& fact = out_.facts.emplace_back();
  fact.seq = ++s_.seq;
  fact.time_ms = s_.fact_ms = s_.now;
  fact.body = std::move(body);
  std::visit([&](const auto& b) { s_.on(b); }, fact.body);
}

void Turn::refuse(Error error, std::string subject) {
  const bool edit =
      std::visit([](const auto& b) { return is_edit<std::decay_t<decltype(b)>>(); }, input_.body);
  if (edit && !only_validates(input_.body)) {
    fact::EditRefused f;
    f.what = std::visit([](const auto& b) { return std::string(b.kName); }, input_.body);
    f.subject = std::move(subject);
    f.error = error.message();
    f.edit = {input_.actor, "", ""};
    emit(std::move(f));
  }
  out_.reply.error = std::move(error);
}

EditStamp Turn::stamp(const std::string& reason) const {
  return {input_.actor, reason, input_.request_id};
}

bool Turn::answer_repeated() {
  if (input_.request_id.empty()) return false;
  const RememberedRequest* known = s_.requests.find(input_.request_id);
  if (known == nullptr) return false;
  out_.reply.repeated = true;
  out_.reply.job = known->job;
  out_.reply.account = known->account;
  out_.reply.revision = known->revision;
  return true;
}

// Writes the capacity side of the bill for each UTC midnight that has passed, before anything
// happens.
void Turn::close_days() {
  while (!s_.node_ids.empty() && s_.billed_until + kDayMs <= s_.now) {
    const TimeMs midnight = s_.billed_until + kDayMs;
    for (const auto& [key, id] : std::map(s_.node_ids)) {
      emit(s_.billed(id, midnight));
    }
  }
}

void Turn::on(const in::Restarted&) {
  for (const auto& [id, cluster] : std::map(s_.clusters)) {
    if (!cluster.owned && cluster.synced) emit(fact::ClusterSynced{id, false, false});
  }
  s_.dirty = true;
}

}  // namespace subak
