#include "engine/decide/requested.h"

#include <algorithm>
#include <type_traits>

#include "core/content_hash.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/said_time.h"
#include "model/bounds/bounds.h"

namespace subak {
namespace {

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
Method method_of_body(const in::ApplyAccounts&) { return Method::kApplyAccounts; }
Method method_of_body(const in::MoveAccount&) { return Method::kMoveAccount; }
Method method_of_body(const in::SubmitJob&) { return Method::kSubmitJob; }
Method method_of_body(const in::CancelJob&) { return Method::kCancelJob; }
Method method_of_body(const in::HoldJob& i) {
  return i.held ? Method::kHoldJob : Method::kReleaseJob;
}
Method method_of_body(const in::Finalize&) { return Method::kFinalize; }
Method method_of_body(const in::AcceptClock&) { return Method::kAcceptClock; }
Method method_of_body(const in::DeleteCluster&) { return Method::kDeleteCluster; }

}  // namespace

const std::string* observed_cluster(const in::Body& body) {
  return std::visit(
      [](const auto& i) -> const std::string* {
        using T = std::decay_t<decltype(i)>;
        if constexpr (std::is_same_v<T, in::ListBegin> || std::is_same_v<T, in::ListComplete> ||
                      std::is_same_v<T, in::NodeSeen> || std::is_same_v<T, in::NodeGone> ||
                      std::is_same_v<T, in::PodSeen> || std::is_same_v<T, in::PodBound> ||
                      std::is_same_v<T, in::PodRunning> || std::is_same_v<T, in::PodGone> ||
                      std::is_same_v<T, in::PodRefused> || std::is_same_v<T, in::SeenUntil> ||
                      std::is_same_v<T, in::NamespaceSeen> || std::is_same_v<T, in::GangGone> ||
                      std::is_same_v<T, in::GangSeen> || std::is_same_v<T, in::OwnerSeen>) {
          return &i.cluster;
        }
        return nullptr;
      },
      body);
}

Method method_of(const in::Body& body) {
  return std::visit([](const auto& b) { return method_of_body(b); }, body);
}

}  // namespace subak

namespace subak::decide {
namespace {

template <class T>
constexpr bool kIsEdit =
    std::is_same_v<T, in::SetCluster> || std::is_same_v<T, in::ImportNodes> ||
    std::is_same_v<T, in::DrainNode> || std::is_same_v<T, in::SetPolicy> ||
    std::is_same_v<T, in::SetAccount> || std::is_same_v<T, in::DeleteAccount> ||
    std::is_same_v<T, in::ApplyAccounts> || std::is_same_v<T, in::MoveAccount> ||
    std::is_same_v<T, in::CancelJob> || std::is_same_v<T, in::HoldJob> ||
    std::is_same_v<T, in::Finalize> || std::is_same_v<T, in::AcceptClock> ||
    std::is_same_v<T, in::DeleteCluster>;

// Returns the content digest that belongs to the request id. 0: the input has no request id that
// counts. The id of a call that only validates does not count: such a call is neither remembered
// nor answered from memory.
std::uint64_t content_of(const Input& input) {
  if (input.request_id.empty() || only_validates(input.body)) return 0;
  if (input.content != 0) return input.content;
  return std::visit([](const auto& b) { return content_hash(to_text(b)); }, input.body);
}

// Returns the remembered request; nullptr if it never came, or if it came too long ago.
const RememberedRequest* find_request(const Decision& d) {
  if (d.content == 0) return nullptr;
  const RememberedRequest* known =
      d.s.requests().find({d.input.actor, d.method, d.input.request_id});
  const TimeMs now = std::max(d.s.now(), d.input.time_ms);
  return known != nullptr && known->at_ms + limits::kRequestIdLifeMs < now ? nullptr : known;
}

void answer_again(Decision& d, const RememberedRequest& known) {
  must(d.out.facts.empty(), "a repeated request changes nothing");
  d.out.reply.repeated = true;
  d.out.reply.job = known.job;
  d.out.reply.account = known.account;
  d.out.reply.revision = known.revision;
}

void refuse_reused(Decision& d, TimeMs used_at) {
  must(d.content != 0 && used_at <= d.s.now(), "a request id was used before");
  d.refuse({ErrorCode::kPrecondition, "request_id", d.input.request_id,
            "want a new id: this one was used at " + format_time(used_at) + " for a different " +
                std::string(enum_name(d.method))},
           "request " + d.input.request_id);
}

// Remembers a request that found nothing to change like one that changed something: a later
// repetition must not undo changes in between.
void keep_request(Decision& d) {
  const Reply& reply = d.out.reply;
  if (d.content == 0 || reply.error || find_request(d) != nullptr) return;
  d.emit(fact::RequestSnapshot{d.input.request_id, d.s.now(), reply.job, reply.account,
                               reply.revision, d.input.actor, d.method, d.content});
}

void note_news(Decision& d) {
  const std::string* const name = observed_cluster(d.input.body);
  const state::Cluster* const cluster = name == nullptr ? nullptr : d.s.clusters().find(*name);
  if (cluster == nullptr) return;
  const auto* const until = std::get_if<in::SeenUntil>(&d.input.body);
  d.tell(note::Heard{cluster->id, until == nullptr ? d.s.now() : our_time(d, until->at_ms)});
}

void decide_body(Decision& d, PassMemory& memory) {
  std::visit(
      [&](const auto& body) {
        if constexpr (std::is_same_v<std::decay_t<decltype(body)>, in::Pass>) {
          decide(d, body, memory);
        } else {
          decide(d, body);
        }
      },
      d.input.body);
}

}  // namespace

bool is_edit(const in::Body& body) {
  return std::visit([](const auto& b) { return kIsEdit<std::decay_t<decltype(b)>>; }, body);
}

bool only_validates(const in::Body& body) {
  return std::visit(
      [](const auto& b) {
        if constexpr (requires { b.validate_only; }) return b.validate_only;
        if constexpr (requires { b.edit.validate_only; }) return b.edit.validate_only;
        return false;
      },
      body);
}

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

ApplyOutcome apply(State& state, Observed& observed, Search& search, PassMemory& memory,
                   const Input& input) {
  const std::uint64_t content = content_of(input);
  Decision d(state, observed, search, input, content == 0 ? Method::kNone : method_of(input.body),
             content);
  const RememberedRequest* const known = find_request(d);
  if (known != nullptr && known->content == content) {
    answer_again(d, *known);
    return std::move(d.out);
  }
  const bool reused = known != nullptr;
  const TimeMs used_at = reused ? known->at_ms : 0;
  state.advance(input.time_ms);
  must(state.now() >= input.time_ms, "time does not go back");
  if (std::holds_alternative<in::Pass>(input.body)) state.advance_tick();
  close_days(d);
  turn_budgets(d);
  note_reached(d);
  if (reused) {
    refuse_reused(d, used_at);
    return std::move(d.out);
  }
  auto error = bounds::check(input);
  if (!error) error = check_session(d);
  if (error) {
    d.refuse(*std::move(error), subject_of(input.body));
  } else {
    decide_body(d, memory);
    note_news(d);
    note_unmanaged(d);
  }
  keep_request(d);
  must(!d.retold, "an early report is told once");
  d.add_effects();
  return std::move(d.out);
}

}  // namespace subak::decide
