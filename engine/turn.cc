#include <algorithm>
#include <cassert>
#include <optional>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/limits.h"
#include "engine/bounds.h"
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
         std::is_same_v<T, in::Finalize> || std::is_same_v<T, in::AcceptClock> ||
         std::is_same_v<T, in::DeleteCluster>;
}

bool only_validates(const in::Body& body) {
  return std::visit(
      [](const auto& b) {
        if constexpr (requires { b.validate_only; }) return b.validate_only;
        return false;
      },
      body);
}

template <class T>
Method method_of_body(const T&) {
  return Method::kNone;
}
Method method_of_body(const in::SetCluster&) { return Method::kSetCluster; }
Method method_of_body(const in::ImportNodes&) { return Method::kImportNodes; }
Method method_of_body(const in::DrainNode& i) {
  return i.drained ? Method::kDrainNode : Method::kUndrainNode;
}
Method method_of_body(const in::SetPolicy&) { return Method::kSetPolicy; }
Method method_of_body(const in::SetAccount&) { return Method::kSetAccount; }
Method method_of_body(const in::DeleteAccount&) { return Method::kDeleteAccount; }
Method method_of_body(const in::SubmitJob&) { return Method::kSubmitJob; }
Method method_of_body(const in::CancelJob&) { return Method::kCancelJob; }
Method method_of_body(const in::HoldJob& i) {
  return i.held ? Method::kHoldJob : Method::kReleaseJob;
}
Method method_of_body(const in::Finalize&) { return Method::kFinalize; }
Method method_of_body(const in::AcceptClock&) { return Method::kAcceptClock; }
Method method_of_body(const in::DeleteCluster&) { return Method::kDeleteCluster; }

// What an edit is about, as the audit log has it.
std::string subject_of(const in::Body& body) {
  return std::visit(
      [](const auto& b) {
        if constexpr (requires { b.spec.path; }) return b.spec.path;
        if constexpr (requires { b.path; }) return b.path;
        if constexpr (requires { b.job.value; }) return text::job_id_text(b.job);
        if constexpr (requires { b.cluster; }) return b.cluster;
        if constexpr (requires { b.name; }) return b.name;
        return std::string(b.kName);
      },
      body);
}

}  // namespace

Method method_of(const in::Body& body) {
  return std::visit([](const auto& b) { return method_of_body(b); }, body);
}

ApplyOutcome Turn::run() {
  note_request();
  const RememberedRequest* const known = find_request();
  if (known != nullptr && known->content == content_) {
    answer_again(*known);
    return std::move(out_);
  }
  const std::optional<TimeMs> used_at =
      known == nullptr ? std::nullopt : std::optional(known->at_ms);
  s_.now = std::max(s_.now, input_.time_ms);
  close_days();
  if (used_at) {
    refuse_reused(*used_at);
    return std::move(out_);
  }
  if (auto error = bounds::check(input_)) {
    refuse(*std::move(error), subject_of(input_.body));
  } else {
    std::visit([&](const auto& body) { on(body); }, input_.body);
  }
  keep_request();
  return std::move(out_);
}

// A call that only validates is judged as if it had no id: it is not remembered, nor answered from
// what is.
void Turn::note_request() {
  if (input_.request_id.empty() || only_validates(input_.body)) return;
  method_ = method_of(input_.body);
  content_ = input_.content;
  if (content_ != 0) return;
  content_ = std::visit([](const auto& b) { return content_hash(to_text(b)); }, input_.body);
}

const RememberedRequest* Turn::find_request() const {
  if (content_ == 0) return nullptr;
  const RememberedRequest* known = s_.requests.find({input_.actor, method_, input_.request_id});
  const TimeMs now = std::max(s_.now, input_.time_ms);
  return known != nullptr && known->at_ms + limits::kRequestIdLifeMs < now ? nullptr : known;
}

// A request that found everything as it wants it is remembered like one that changed something:
// said again later, it must not undo what came in between.
void Turn::keep_request() {
  const Reply& reply = out_.reply;
  if (content_ == 0 || reply.error || find_request() != nullptr) return;
  emit(fact::RequestKept{input_.request_id, s_.now, reply.job, reply.account, reply.revision,
                         input_.actor, method_, content_});
}

void Turn::emit(fact::Body body) {
  Fact& fact = out_.facts.emplace_back();
  fact.seq = ++s_.seq;
  fact.time_ms = s_.fact_ms = s_.now;
  fact.body = std::move(body);
  std::visit([&](const auto& b) { s_.on(b); }, fact.body);
}

// What was asked for may be too long to be kept or sent back: it is cut.
void Turn::refuse(Error error, const std::string& subject) {
  error.got = bounds::cut(error.got, limits::kMaxEchoBytes);
  const bool edit =
      std::visit([](const auto& b) { return is_edit<std::decay_t<decltype(b)>>(); }, input_.body);
  if (edit && !only_validates(input_.body)) {
    fact::EditRefused f;
    f.what = std::visit([](const auto& b) { return std::string(b.kName); }, input_.body);
    f.subject = bounds::cut(subject, limits::kMaxNameBytes);
    f.error = bounds::cut(error.message(), limits::kMaxMessageBytes);
    f.edit = {bounds::cut(input_.actor, limits::kMaxNameBytes), "", ""};
    emit(std::move(f));
  }
  out_.reply.error = std::move(error);
}

EditStamp Turn::stamp(const std::string& reason) const {
  return {input_.actor, reason, content_ == 0 ? std::string() : input_.request_id, method_,
          content_};
}

void Turn::answer_again(const RememberedRequest& known) {
  out_.reply.repeated = true;
  out_.reply.job = known.job;
  out_.reply.account = known.account;
  out_.reply.revision = known.revision;
}

void Turn::refuse_reused(TimeMs used_at) {
  refuse({ErrorCode::kPrecondition, "request_id", input_.request_id,
          "want a new id: this one was used at " + format_time(used_at) + " for a different " +
              std::string(enum_name(method_))},
         "request " + input_.request_id);
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

void Turn::on(const in::CallDenied& i) {
  emit(fact::EditRefused{std::string(i.kName), i.subject, i.message, stamp("")});
}

void Turn::on(const in::Restarted&) {
  for (const auto& [id, cluster] : std::map(s_.clusters)) {
    if (!cluster.owned && cluster.synced) emit(fact::ClusterSynced{id, false, false});
  }
  s_.dirty = true;
}

}  // namespace subak
