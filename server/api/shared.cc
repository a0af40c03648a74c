#include "server/api/shared.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "engine/bounds.h"

namespace subak::api {

Shared::Shared(ApiOptions given, const ApiDeps& deps)
    : options(std::move(given)),
      runtime(deps.runtime),
      follower(deps.follower),
      store(deps.store),
      clock(deps.clock),
      auth(options.token_file, options.loopback_admin),
      streams(auth),
      watch(deps.follower, options.most_watch_bytes),
      statics(deps.follower, options.admission),
      start_ms(deps.clock.wall_ms()) {}

TimeMs Shared::now(const Engine& engine) const { return std::max(engine.now(), runtime.now_ms()); }

std::optional<Error> Shared::not_ready() const {
  const ClockStatus status = runtime.stats().clock;
  if (status.state != ClockState::kWaits) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "clock", "", "not ready: " + why_not_ready(status)};
}

grpc::Status Shared::denied(const grpc::CallbackServerContext& context, const std::string& actor,
                            const std::string& subject, const grpc::Status& status) {
  if (options.on_denied)
    options.on_denied({actor, context.peer(), subject, status.error_message()});
  if (actor.empty()) return status;  // a guess: whoever wants to could fill the audit log
  for (auto& row : denials.note({actor, subject, status.error_message()}, clock.monotonic_ms())) {
    in::CallDenied body{std::move(row.subject), std::move(row.message)};
    runtime.post({0, "", std::move(row.actor), std::move(body)}, nullptr);
  }
  return status;
}

grpc::Status Shared::why_refused(std::string_view what) const {
  if (runtime.stats().failed || follower.stats().failed) return shutting_down();
  return to_status(busy(what));
}

grpc::Status Shared::why_not(Queued queued, std::string_view what) const {
  if (queued == Queued::kStopped) return shutting_down();
  const bool of_caller = queued == Queued::kCallerFull;
  const std::size_t most = of_caller               ? limits::kMaxReadsPerCaller
                           : what == "store reads" ? limits::kMaxStoreReads
                                                   : limits::kMaxDearReads;
  return to_status(busy("the queue of " + std::to_string(most) + " " + std::string(what) +
                        (of_caller ? " of one caller" : "")));
}

Admission admit(Shared& shared, const grpc::CallbackServerContext& context, Role least) {
  Admission out;
  out.least = least;
  const auto& metadata = context.client_metadata();
  const auto given = metadata.find("authorization");
  const std::string_view value = given == metadata.end()
                                     ? std::string_view()
                                     : std::string_view(given->second.data(), given->second.size());
  out.caller = shared.auth.caller(value, context.peer());
  if (!out.caller) {
    out.refusal = shared.denied(
        context, "", "",
        unauthenticated(!shared.auth.wants_token() ? "loopback is no admin here (loopbackAdmin); "
                                                     "want the service's Unix socket (grpcSocket)"
                        : value.empty() ? "want the metadata \"authorization: Bearer TOKEN\""
                                        : "this token is not known; want one of the token file"));
  } else if (out.caller->role < least) {
    const char* want = least == Role::kAdmin ? " needs the role admin for this"
                                             : " may only read; this needs team-admin or admin";
    out.refusal = shared.denied(context, out.caller->actor, "",
                                to_status({ErrorCode::kDenied, "", "", out.caller->actor + want}));
    out.caller.reset();
  }
  return out;
}

Call::Call(Shared& shared, grpc::CallbackServerContext* context)
    : shared_(&shared), context_(context), reactor_(context->DefaultReactor()) {}

bool Call::allow(Role least) {
  Admission admission = admit(*shared_, *context_, least);
  if (!admission.caller) {
    finish(admission.refusal);
    return false;
  }
  caller_ = std::make_shared<const Caller>(*std::move(admission.caller));
  return true;
}

Call::Reactor* Call::finish(const grpc::Status& status) const {
  reactor_->Finish(status);
  return reactor_;
}
Call::Reactor* Call::done() const { return finish(grpc::Status::OK); }
Call::Reactor* Call::fail(const Error& error) const { return finish(to_status(error)); }

Call::Reactor* Call::deny(const std::string& subject, const std::string& want) const {
  return finish(shared_->denied(*context_, caller_->actor, subject,
                                to_status({ErrorCode::kDenied, "", subject, want})));
}

namespace {

// A read that finishes the call with what `fill` says of what it is shown.
template <class Fill>
auto finishing(const Call& call, Fill fill) {
  return [call, fill = std::move(fill)](const auto&... shown) {
    const std::optional<Error> error = fill(shown...);
    error ? call.fail(*error) : call.done();
  };
}

}  // namespace

void Call::report_denied(const Error& error) const {
  shared_->denied(*context_, caller_->actor, error.got, to_status(error));
}

Call::Reactor* Call::read(Fill fill) const { return read_then(finishing(*this, std::move(fill))); }

Call::Reactor* Call::read_dear(Fill fill) const {
  return read_dear_then(finishing(*this, std::move(fill)));
}

Call::Reactor* Call::read_starts(StartsFill fill) const {
  return queued(
      shared_->follower.read_dear_starts(caller_->actor, finishing(*this, std::move(fill))));
}

Call::Reactor* Call::read_queue(QueueFill fill) const {
  return queued(shared_->follower.read_queue(caller_->actor, finishing(*this, std::move(fill))));
}

Call::Reactor* Call::read_then(Follower::Read next) const {
  if (!shared_->follower.read(std::move(next))) finish(shared_->why_refused("the queue of reads"));
  return reactor_;
}

Call::Reactor* Call::read_dear_then(Follower::Read next) const {
  return queued(shared_->follower.read_dear(caller_->actor, std::move(next)));
}

Call::Reactor* Call::queued(Queued how) const {
  if (how != Queued::kYes) finish(shared_->why_not(how, "reads"));
  return reactor_;
}

Call::Reactor* Call::post(in::Body body, const Asked& asked,
                          std::function<void(const Reply&)> fill) const {
  return post_then(std::move(body), asked,
                   [reactor = reactor_, fill = std::move(fill)](const Reply& reply) {
                     if (reply.error) return reactor->Finish(to_status(*reply.error));
                     fill(reply);
                     reactor->Finish(grpc::Status::OK);
                   });
}

Call::Reactor* Call::post_then(in::Body body, const Asked& asked, ReplyFn next) const {
  const bool ends_waiting =
      std::holds_alternative<in::AcceptClock>(body) || std::holds_alternative<in::Finalize>(body);
  if (const auto error = shared_->not_ready(); error && !ends_waiting) return fail(*error);
  Input input{0, asked.request_id, caller_->actor, std::move(body), asked.content};
  if (auto error = bounds::check(input)) return fail(*error);  // before it waits in the mailbox
  if (!shared_->runtime.post(std::move(input), std::move(next))) {
    finish(shared_->why_refused("the mailbox"));
  }
  return reactor_;
}

Call::Reactor* Call::store_then(StoreReads::Task next) const {
  const Queued queued = shared_->reads.run(caller_->actor, std::move(next));
  if (queued != Queued::kYes) finish(shared_->why_not(queued, "store reads"));
  return reactor_;
}

}  // namespace subak::api
