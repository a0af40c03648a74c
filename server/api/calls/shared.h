// The state that the services of one server share, and a unary call from start to finish. Private
// to server/api.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api/calls/backup.h"
#include "server/api/common/auth.h"
#include "server/api/common/denials.h"
#include "server/api/common/options.h"
#include "server/api/common/request_fingerprint.h"
#include "server/api/common/status.h"
#include "server/api/streams/admission_snapshot_stream.h"
#include "server/api/streams/job_watch.h"
#include "server/api/streams/observe.h"
#include "server/api/streams/store_reads.h"
#include "server/api/streams/streams.h"
#include "threads/mutex.h"

namespace subak::api {

// One per server; it outlives all calls and streams. Members are set at construction. Those that
// change later are atomic, guarded, or safe for any thread themselves.
struct Shared {
  // Reads no file and starts no thread: the server loads `auth` and starts `reads`.
  Shared(ApiOptions given, const ApiDeps& deps);

  // As given; not changed afterwards.
  ApiOptions options;
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
  Authenticator auth;
  // Ledger and audit rows.
  StoreReads reads;
  StreamSet streams;
  Observers launchers;  // streams of Effects
  BackupDesk backups;
  WatchHub watch;
  AdmissionSnapshotHub statics;
  Denials denials;

  // Wall clock at construction.
  TimeMs start_ms = 0;
  // What the health service says; set by the server.
  std::atomic<bool> serving{false};
  // Duration of the last scheduling pass and of the last commit, in microseconds; 0: none yet.
  std::atomic<std::int64_t> last_pass_us{0};
  std::atomic<std::int64_t> last_commit_us{0};
  Mutex verified_mutex;
  // of the last VerifyUsage
  std::optional<GpuTime> verified_drift SUBAK_GUARDED_BY(verified_mutex);

  // Returns the instant for which decayed figures are computed.
  // It is the later one of the engine's last fact and the service's time, so it never lies before
  // the state.
  TimeMs now(const Engine& engine) const;
  // Reports a refusal by role and returns it. If the refused caller is known, the audit log also
  // gets it.
  // `actor` is empty for an unknown caller: such refusals are only passed to options.on_denied.
  // `subject`: account path or job, empty if unknown. It may post inputs to the loop; a full
  // mailbox drops them.
  grpc::Status denied(const grpc::CallbackServerContext& context, const std::string& actor,
                      const std::string& subject, const grpc::Status& status);
  // The answer to every call except AcceptClock and Finalize while the wall clock waits to be
  // accepted.
  // kPrecondition, field "clock"; nullopt: the clock is good.
  std::optional<Error> not_ready() const;
  // Says why this replica changes nothing: another process leads, or the database does not answer.
  // UNAVAILABLE in both cases (not_leader(), database_away()); nullopt: it accepts changes.
  std::optional<grpc::Status> why_no_change() const;
  // Says why post() or read() refused.
  // UNAVAILABLE if the service stops, else RESOURCE_EXHAUSTED for `what`, the full queue.
  grpc::Status why_refused(std::string_view what) const;
  // Says why a caller's work was not queued. `what` is "reads" or "store reads".
  // The text has the limit that was reached. Not for Queued::kYes.
  grpc::Status why_not(Queued queued, std::string_view what) const;
};

// Authenticates the caller of a stream. A refusal is reported by denied().
// Looks at the metadata "authorization" and the peer's address. No token or an unknown one is
// UNAUTHENTICATED. A role below `least` is PERMISSION_DENIED. On success the result has the caller.
Admission admit(Shared& shared, const grpc::CallbackServerContext& context, Role least);

// A unary call. It is a value: copy it into the callback that finishes the call. The request and
// the response outlive the call.
//
// Every answer has trailing metadata `subak-sequence`: the state that it was read from has at least
// the facts up to this one. A call with the metadata `subak-min-sequence` reads only once this
// replica has that fact. It ends with UNAVAILABLE if that takes longer than
// limits::kSequenceWaitMs.
class Call {
 public:
  using Reactor = grpc::ServerUnaryReactor;
  // Takes over the context's default reactor. Some member must finish the call.
  Call(Shared& shared, grpc::CallbackServerContext* context);

  // Checks the caller's role. False: the call is finished with the refusal.
  // Also reads the metadata `subak-min-sequence`; a value that is no number is INVALID_ARGUMENT.
  // Call it before any member that needs the caller.
  bool allow(Role least);
  // As allow(), for a change. Only the leader accepts changes.
  bool allow_change(Role least);
  // Only after allow() was true.
  const Caller& caller() const { return *caller_; }
  Shared& shared() const { return *shared_; }
  Reactor* reactor() const { return reactor_; }

  // These finish the call.
  // They add the trailing metadata. Call one of them once. They return the reactor, so a handler
  // can return it. deny() also reports the refusal: PERMISSION_DENIED for `subject`.
  Reactor* done() const;
  Reactor* fail(const Error& error) const;
  Reactor* finish(const grpc::Status& status) const;
  Reactor* deny(const std::string& subject, const std::string& want) const;
  // Reports that a part of the call was refused. The call goes on.
  // `error.got` is its subject.
  void report_denied(const Error& error) const;

  // Writes the response. It may be called after the handler has returned, so it captures what it
  // uses.
  using Fill = std::function<std::optional<Error>(const Engine&)>;
  // Runs `fill` on the follower's thread and finishes with its error, if any. For cheap reads only,
  // see Follower::read.
  // RESOURCE_EXHAUSTED if the queue of reads is full, UNAVAILABLE if the follower stops.
  Reactor* read(Fill fill) const;
  // As read(), but an expensive read in the caller's turn: its cost grows with the state.
  // At most limits::kMaxReadsPerCaller wait per caller, and limits::kMaxExpensiveReads in all.
  Reactor* read_expensive(Fill fill) const;
  // Expensive reads with the start estimates, or with the order of the queue too: see
  // Follower::read_queue.
  using StartsFill = std::function<std::optional<Error>(const Engine&, const ForecastStarts&)>;
  Reactor* read_starts(StartsFill fill) const;
  using QueueFill = std::function<std::optional<Error>(const Engine&, const QueueSnapshot&,
                                                       const ForecastStarts&)>;
  // The answer's sequence is the older one of state and order.
  Reactor* read_queue(QueueFill fill) const;
  // Run `next` as a cheap or expensive read. `next` must finish the call.
  Reactor* read_then(Follower::Read next) const;
  Reactor* read_expensive_then(Follower::Read next) const;
  // Sets actor and request id, posts the input, and finishes once it is durable. `fill` gets only
  // replies without error.
  // Inputs beyond the bounds of model/bounds.h are refused before they are queued. Other errors:
  // FAILED_PRECONDITION while the clock waits, RESOURCE_EXHAUSTED for a full mailbox. Durable means
  // that the store has committed the facts. `fill` runs on the loop's thread and must not block.
  Reactor* post(in::Body body, const RequestFingerprint& fingerprint,
                std::function<void(const Reply&)> fill) const;
  // As post(), but `next` gets every reply and must finish the call. It runs on the loop's thread.
  Reactor* post_then(in::Body body, const RequestFingerprint& fingerprint, ReplyFn next) const;
  // Runs `next` on the thread that reads the store. `next` must finish the call.
  // Work of several parts calls it again from `next`, so that other callers get their turns.
  Reactor* store_then(StoreReads::Task next) const;
  // Sets the answer's sequence to the last durable fact. For calls that post to the runtime without
  // post_then(), in their reply.
  void rests_on_all() const;

 private:
  void rests_on(std::uint64_t sequence) const { answer_->sequence = sequence; }
  // Runs `go`, which reads, as soon as this replica has the fact that the caller requires.
  // It looks each limits::kSequenceLookMs without holding a thread.
  Reactor* once_seen(std::function<void()> go) const;
  void look_for_it(const std::function<void()>& go, int looks_left) const;
  // Finishes the call if its read was refused.
  Reactor* queued(Queued how) const;

  Shared* shared_;
  grpc::CallbackServerContext* context_;
  Reactor* reactor_;
  std::shared_ptr<const Caller> caller_;
  struct Answer {
    std::uint64_t sequence = 0;  // 0: the answer rests on no fact
  };
  std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  std::uint64_t min_sequence_ = 0;  // 0: the caller requires none
};

}  // namespace subak::api
