#include "server/api/shared.h"

#include <algorithm>
#include <utility>

namespace subak::api {

Shared::Shared(ApiOptions given, const ApiDeps& deps)
    : options(std::move(given)),
      runtime(deps.runtime),
      follower(deps.follower),
      store(deps.store),
      clock(deps.clock),
      auth(options.token_file),
      watch(deps.follower),
      statics(deps.follower),
      start_ms(deps.clock.wall_ms()) {}

TimeMs Shared::now(const Engine& engine) const { return std::max(engine.now(), clock.wall_ms()); }

grpc::Status Shared::denied(const grpc::CallbackServerContext& context, const std::string& actor,
                            const std::string& subject, const grpc::Status& status) const {
  if (options.on_denied)
    options.on_denied({actor, context.peer(), subject, status.error_message()});
  return status;
}

grpc::Status Shared::why_refused(std::string_view what) const {
  if (runtime.stats().failed || follower.stats().failed) return shutting_down();
  return to_status(busy(what));
}

Admission admit(const Shared& shared, const grpc::CallbackServerContext& context, Role least) {
  Admission out;
  const auto& metadata = context.client_metadata();
  const auto given = metadata.find("authorization");
  const std::string_view value = given == metadata.end()
                                     ? std::string_view()
                                     : std::string_view(given->second.data(), given->second.size());
  out.caller = shared.auth.caller(value);
  if (!out.caller) {
    out.refusal = shared.denied(
        context, "", "",
        unauthenticated(value.empty() ? "want the metadata \"authorization: Bearer TOKEN\""
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

Call::Reactor* Call::read(std::function<std::optional<Error>(const Engine&)> fill) const {
  return read_then([call = *this, fill = std::move(fill)](const Engine& engine) {
    const std::optional<Error> error = fill(engine);
    error ? call.fail(*error) : call.done();
  });
}

Call::Reactor* Call::read_then(std::function<void(const Engine&)> next) const {
  if (!shared_->follower.read(std::move(next))) finish(shared_->why_refused("the queue of reads"));
  return reactor_;
}

Call::Reactor* Call::post(in::Body body, const std::string& request_id,
                          std::function<void(const Reply&)> fill) const {
  return post_then(std::move(body), request_id,
                   [reactor = reactor_, fill = std::move(fill)](const Reply& reply) {
                     if (reply.error) return reactor->Finish(to_status(*reply.error));
                     fill(reply);
                     reactor->Finish(grpc::Status::OK);
                   });
}

Call::Reactor* Call::post_then(in::Body body, const std::string& request_id, ReplyFn next) const {
  Input input{0, request_id, caller_->actor, std::move(body)};
  if (!shared_->runtime.post(std::move(input), std::move(next))) {
    finish(shared_->why_refused("the mailbox"));
  }
  return reactor_;
}

Call::Reactor* Call::store_then(StoreReads::Task next) const {
  if (!shared_->reads.run(std::move(next)))
    finish(shared_->why_refused("the queue of store reads"));
  return reactor_;
}

}  // namespace subak::api
