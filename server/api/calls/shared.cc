#include "server/api/calls/shared.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/api/common/later.h"

namespace subak::api {
namespace {

constexpr char kSequence[] = "subak-sequence", kMinSequence[] = "subak-min-sequence";
constexpr char kAt[] = "subak-at", kTime[] = "subak-time";
constexpr char kLeads[] = "subak-leads", kEpoch[] = "subak-epoch", kBehind[] = "subak-behind-ms";
constexpr QueueLimits kReads{"reads", limits::kMaxExpensiveReads, limits::kMaxReadsPerCaller};
constexpr QueueLimits kStoreReads{"store reads", limits::kMaxStoreReads,
                                  limits::kMaxReadsPerCaller};
constexpr QueueLimits kPastReads{"reads of the past", limits::kMaxPastReads,
                                 limits::kMaxPastReadsPerCaller};

// Returns the address of the browser of a call within the process; nullopt: the call comes from
// outside. The metadata `subak-inside` has the service's own authorization, which no other process
// knows, a blank, and the address.
std::optional<std::string> browser_of(const Shared& shared,
                                      const grpc::CallbackServerContext& context) {
  const auto it = context.client_metadata().find("subak-inside");
  if (it == context.client_metadata().end()) return std::nullopt;
  const std::string_view value(it->second.data(), it->second.size());
  const std::string& own = shared.access.sessions.own();
  if (value.size() <= own.size()) return std::nullopt;
  if (digest_of(value.substr(0, own.size())) != digest_of(own)) return std::nullopt;
  return std::string(value.substr(own.size() + 1));
}

// Returns the value of `subak-at`; nullopt: the caller names no moment.
std::optional<std::string_view> moment_of(const grpc::CallbackServerContext& context) {
  const auto it = context.client_metadata().find(kAt);
  if (it == context.client_metadata().end()) return std::nullopt;
  return std::string_view(it->second.data(), it->second.size());
}

Error only_present(std::string_view moment, std::string_view what) {
  return {ErrorCode::kInvalid, kAt, std::string(moment.substr(0, limits::kMaxMomentBytes)),
          "want no moment: this " + std::string(what) + " only shows the present"};
}

}  // namespace

Shared::Shared(ApiOptions given, const ApiDeps& deps)
    : options(std::move(given)),
      runtime(deps.runtime),
      follower(deps.follower),
      store(deps.store),
      clock(deps.clock),
      auth(options.token_file, options.loopback_admin),
      past({[this] { return runtime.view()->seq; }}),
      streams(auth),
      watch(deps.follower, options.most_watch_bytes),
      statics(deps.follower, options.admission),
      access{Sessions(auth, deps.clock), Denials()},
      start_ms(deps.clock.wall_ms()) {}

TimeMs Shared::now(const Engine& engine) const { return std::max(engine.now(), runtime.now_ms()); }

std::optional<Error> Shared::not_ready() const {
  const ClockStatus status = runtime.stats().clock;
  if (status.state != ClockState::kWaits) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "clock", "", "not ready: " + why_not_ready(status)};
}

std::optional<grpc::Status> Shared::why_no_change() const {
  if (!runtime.stats().leads) return not_leader(store.lead());
  const DurationMs waits_ms = store.waiting_ms();
  if (waits_ms > limits::kDatabaseSlowMs) return database_away(waits_ms);
  return std::nullopt;
}

grpc::Status Shared::denied(const grpc::CallbackServerContext& context, const std::string& actor,
                            const std::string& subject, const grpc::Status& status) {
  if (options.on_denied)
    options.on_denied({actor, browser_of(*this, context).value_or(context.peer()), subject,
                       status.error_message()});
  if (actor.empty()) return status;  // unknown caller: else anyone could fill the audit log
  for (auto& row :
       access.denials.note({actor, subject, status.error_message()}, clock.monotonic_ms())) {
    in::CallDenied body{std::move(row.subject), std::move(row.message)};
    runtime.post({0, "", std::move(row.actor), std::move(body)}, nullptr);
  }
  return status;
}

grpc::Status Shared::why_refused(std::string_view what) const {
  if (runtime.stats().failed || follower.stats().failed) return shutting_down();
  return to_status(busy(what));
}

grpc::Status Shared::why_not(Queued queued, const QueueLimits& of) const {
  if (queued == Queued::kStopped) return shutting_down();
  const bool of_caller = queued == Queued::kCallerFull;
  const std::size_t most = of_caller ? of.most_of_caller : of.most;
  return to_status(busy("the queue of " + std::to_string(most) + " " + std::string(of.name) +
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
  out.caller = browser_of(shared, context) ? shared.access.sessions.caller(value)
                                           : shared.auth.caller(value, context.peer());
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

Admission admit_stream(Shared& shared, const grpc::CallbackServerContext& context, Role least) {
  Admission out = admit(shared, context, least);
  const auto moment = moment_of(context);
  if (!out.caller || !moment) return out;
  out.refusal = to_status(only_present(*moment, "stream"));
  out.caller.reset();
  return out;
}

Call::Call(Shared& shared, grpc::CallbackServerContext* context)
    : shared_(&shared), context_(context), reactor_(context->DefaultReactor()) {}

bool Call::allow(Role least, Moments moments) {
  Admission admission = admit(*shared_, *context_, least);
  if (!admission.caller) {
    finish(admission.refusal);
    return false;
  }
  caller_ = std::make_shared<const Caller>(*std::move(admission.caller));
  if (!read_at(moments)) return false;
  const auto& metadata = context_->client_metadata();
  const auto it = metadata.find(kMinSequence);
  if (it == metadata.end()) return true;
  const char* const end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, min_sequence_);
  if (error == std::errc() && stop == end) return true;
  fail({ErrorCode::kInvalid, kMinSequence, std::string(it->second.data(), it->second.size()),
        "want the number of a fact, as subak-sequence says it"});
  return false;
}

bool Call::read_at(Moments moments) {
  const auto text = moment_of(*context_);
  if (!text) return true;
  const Result<Moment> at = read_moment(*text, kAt);
  if (!at.ok()) {
    fail(at.error());
    return false;
  }
  if (moments == Moments::kPresent) {
    fail(only_present(*text, "call"));
    return false;
  }
  const auto* const time = std::get_if<MomentTime>(&*at);
  const TimeMs now_ms = shared_->runtime.now_ms();
  if (time != nullptr && time->time_ms > now_ms) {
    fail({ErrorCode::kInvalid, kAt, format_time(time->time_ms),
          "want a time up to now, " + format_time(now_ms)});
    return false;
  }
  at_ = *at;
  return true;
}

TimeMs Call::now(const Engine& engine) const {
  return is_past() ? std::max(engine.now(), answer_->past_ms) : shared_->now(engine);
}

void Call::read_past(std::function<void(PastState&)> next) const {
  PastRead read;
  read.moment = *at_;
  read.wanted = [context = context_] { return !context->IsCancelled(); };
  read.then = [call = *this, next = std::move(next)](PastState& state) {
    call.rests_on(state.engine().seq());
    call.answer_->past_ms = state.time_ms();
    next(state);
  };
  read.failed = [call = *this](const std::optional<Error>& error) {
    if (!error) {
      call.finish(shutting_down());
      return;
    }
    Error named = *error;
    if (named.field == "at") named.field = kAt;
    call.fail(named);
  };
  const Queued how = shared_->past.ask(caller_->turn(), std::move(read));
  if (how != Queued::kYes) finish(shared_->why_not(how, kPastReads));
}

bool Call::allow_change(Role least) {
  if (!allow(least)) return false;
  const auto why = shared_->why_no_change();
  if (why) finish(*why);
  return !why;
}

void Call::name_replica() const {
  const RuntimeStats stats = shared_->runtime.stats();
  const std::int64_t epoch = shared_->store.lead().epoch;
  if (epoch == 0 && stats.leads) return;  // the store belongs to this process alone
  context_->AddTrailingMetadata(kLeads, stats.leads ? "yes" : "no");
  context_->AddTrailingMetadata(kEpoch, std::to_string(epoch));
  const DurationMs waits_ms = shared_->store.waiting_ms();
  const DurationMs behind_ms = !stats.leads                         ? stats.behind_ms
                               : waits_ms > limits::kDatabaseSlowMs ? waits_ms
                                                                    : 0;
  if (!stats.leads || behind_ms > 0) {
    context_->AddTrailingMetadata(kBehind, std::to_string(behind_ms));
  }
}

Call::Reactor* Call::finish(const grpc::Status& status) const {
  if (caller_) name_replica();
  if (answer_->sequence > 0) {
    context_->AddTrailingMetadata(kSequence, std::to_string(answer_->sequence));
  }
  if (answer_->past_ms > 0) context_->AddTrailingMetadata(kTime, std::to_string(answer_->past_ms));
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

// Returns a read that finishes the call with the result of `fill`.
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

void Call::rests_on_all() const { rests_on(shared_->runtime.view()->seq); }

Call::Reactor* Call::once_seen(std::function<void()> go) const {
  look_for_it(go, static_cast<int>(limits::kSequenceWaitMs / limits::kSequenceLookMs));
  return reactor_;
}

// A read sees everything that was released before it was requested.
void Call::look_for_it(const std::function<void()>& go, int looks_left) const {
  if (min_sequence_ == 0) return go();
  const std::uint64_t seen = shared_->runtime.view()->seq;
  if (seen >= min_sequence_) return go();
  if (looks_left == 0) {
    finish(is_behind(seen, min_sequence_));
    return;
  }
  run_later(std::chrono::milliseconds(limits::kSequenceLookMs),
            [call = *this, go, looks_left] { call.look_for_it(go, looks_left - 1); });
}

Call::Reactor* Call::read(Fill fill) const { return read_then(finishing(*this, std::move(fill))); }

Call::Reactor* Call::read_expensive(Fill fill) const {
  return read_expensive_then(finishing(*this, std::move(fill)));
}

Call::Reactor* Call::read_starts(StartsFill fill) const {
  return once_seen([call = *this, next = finishing(*this, std::move(fill))] {
    if (call.is_past())
      return call.read_past([next](PastState& s) { next(s.engine(), s.starts()); });
    call.queued(call.shared_->follower.read_expensive_starts(
        call.caller_->turn(), [call, next](const Engine& engine, const ForecastStarts& starts) {
          call.rests_on(engine.seq());
          next(engine, starts);
        }));
  });
}

// The snapshot of the order may be a little older than the rest.
Call::Reactor* Call::read_queue(QueueFill fill) const {
  return once_seen([call = *this, next = finishing(*this, std::move(fill))] {
    if (call.is_past()) {
      return call.read_past([next](PastState& s) { next(s.engine(), s.order(), s.starts()); });
    }
    call.queued(call.shared_->follower.read_queue(
        call.caller_->turn(), [call, next](const Engine& engine, const QueueSnapshot& snapshot,
                                           const ForecastStarts& starts) {
          call.rests_on(std::min(engine.seq(), snapshot.seq()));
          next(engine, snapshot, starts);
        }));
  });
}

Call::Reactor* Call::read_then(Follower::Read next) const {
  return once_seen([call = *this, next = std::move(next)] {
    if (call.is_past()) return call.read_past([next](PastState& s) { next(s.engine()); });
    const bool queued = call.shared_->follower.read([call, next](const Engine& engine) {
      call.rests_on(engine.seq());
      next(engine);
    });
    if (!queued) call.finish(call.shared_->why_refused("the queue of reads"));
  });
}

Call::Reactor* Call::read_expensive_then(Follower::Read next) const {
  return once_seen([call = *this, next = std::move(next)] {
    if (call.is_past()) return call.read_past([next](PastState& s) { next(s.engine()); });
    call.queued(call.shared_->follower.read_expensive(call.caller_->turn(),
                                                      [call, next](const Engine& engine) {
                                                        call.rests_on(engine.seq());
                                                        next(engine);
                                                      }));
  });
}

Call::Reactor* Call::queued(Queued how) const {
  if (how != Queued::kYes) finish(shared_->why_not(how, kReads));
  return reactor_;
}

Call::Reactor* Call::post(in::Body body, const RequestFingerprint& fingerprint,
                          std::function<void(const Reply&)> fill) const {
  return post_then(std::move(body), fingerprint,
                   [call = *this, fill = std::move(fill)](const Reply& reply) {
                     if (!reply.error) fill(reply);
                     reply.error ? call.fail(*reply.error) : call.done();
                   });
}

Call::Reactor* Call::post_then(in::Body body, const RequestFingerprint& fingerprint,
                               ReplyFn next) const {
  const bool ends_waiting =
      std::holds_alternative<in::AcceptClock>(body) || std::holds_alternative<in::Finalize>(body);
  if (const auto error = shared_->not_ready(); error && !ends_waiting) return fail(*error);
  Input input{0, fingerprint.request_id, caller_->actor, std::move(body), fingerprint.content};
  if (auto error = bounds::check(input)) return fail(*error);  // before it waits in the mailbox
  const auto durable = [call = *this, next = std::move(next)](const Reply& reply) {
    call.rests_on_all();
    next(reply);
  };
  if (!shared_->runtime.post(std::move(input), durable)) {
    finish(shared_->why_refused("the mailbox"));
  }
  return reactor_;
}

// The read includes everything that was durable when this began.
Call::Reactor* Call::store_then(StoreReads::Task next) const {
  return once_seen([call = *this, next = std::move(next)] {
    if (call.answer_->sequence == 0) call.rests_on_all();  // its first part sets it
    const Queued queued = call.shared_->reads.run(call.caller_->turn(), next);
    if (queued != Queued::kYes) call.finish(call.shared_->why_not(queued, kStoreReads));
  });
}

}  // namespace subak::api
