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

// A server has one Shared, which outlives all calls and streams. Its constructor sets the members.
// A member that changes later is atomic, guarded by a mutex, or safe for any thread by itself.
struct Shared {
  // Reads no file and starts no thread: the server loads `auth` and starts `reads`.
  Shared(ApiOptions given, const ApiDeps& deps);

  // As given to the constructor; never changed.
  ApiOptions options;
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
  Authenticator auth;
  // Reads ledger and audit rows.
  StoreReads reads;
  StreamSet streams;
  Observers launchers;  // streams of Effects
  BackupDesk backups;
  WatchHub watch;
  AdmissionSnapshotHub statics;
  Denials denials;

  // Wall clock at construction.
  TimeMs start_ms = 0;
  // The status that the health service reports. The server sets it.
  std::atomic<bool> serving{false};
  // Duration of the last scheduling pass and of the last commit, in microseconds; 0: none yet.
  std::atomic<std::int64_t> last_pass_us{0};
  std::atomic<std::int64_t> last_commit_us{0};
  Mutex verified_mutex;
  // The drift that the last VerifyUsage found.
  std::optional<GpuTime> verified_drift SUBAK_GUARDED_BY(verified_mutex);

  // Returns the instant for which decayed figures are computed.
  // It is the time of the engine's last fact or the service's time, whichever is later. So it is
  // never before the state.
  TimeMs now(const Engine& engine) const;
  // Reports a refusal for lack of rights to options.on_denied, and returns it as a status. If the
  // caller is known, the audit log also gets the refusal.
  // `actor` is empty for an unknown caller. `subject`: account path or job, empty if unknown. The
  // function may post inputs for the audit log to the loop. If the mailbox is full, these inputs
  // are dropped.
  grpc::Status denied(const grpc::CallbackServerContext& context, const std::string& actor,
                      const std::string& subject, const grpc::Status& status);
  // Returns the error for a call while the wall clock waits to be accepted; nullopt:
  // the clock is good.
  // All calls except AcceptClock and Finalize answer this error: kPrecondition, field "clock".
  std::optional<Error> not_ready() const;
  // Says why this replica accepts no changes: another process leads, or the
  // database does not answer.
  // Returns UNAVAILABLE in both cases (not_leader(), database_away()). nullopt: it accepts changes.
  std::optional<grpc::Status> why_no_change() const;
  // Says why post() or read() refused.
  // Returns UNAVAILABLE if the service stops, else RESOURCE_EXHAUSTED. `what` names the full queue.
  grpc::Status why_refused(std::string_view what) const;
  // Says why a caller's work was not queued. `what` is "reads" or "store reads".
  // The text has the limit that was reached. Do not call it for Queued::kYes.
  grpc::Status why_not(Queued queued, std::string_view what) const;
};

// Authenticates the caller of a stream, by the metadata "authorization" and the peer's address.
// A missing or unknown token gets UNAUTHENTICATED, a role below `least` PERMISSION_DENIED. The
// function reports a refusal by Shared::denied(). On success the result has the caller.
Admission admit(Shared& shared, const grpc::CallbackServerContext& context, Role least);

// A unary call. It is a value: copy it into the callback that finishes the call. The request and
// the response outlive the call.
//
// Every answer has trailing metadata `subak-sequence`, the number of a fact. The answer was read
// from a state that has all facts up to this one. A caller can require a fact by the metadata
// `subak-min-sequence`. The call then waits until this replica has that fact. After
// limits::kSequenceWaitMs it ends with UNAVAILABLE.
class Call {
 public:
  using Reactor = grpc::ServerUnaryReactor;
  // Takes over the context's default reactor. The handler must finish the call by one of the
  // members below.
  Call(Shared& shared, grpc::CallbackServerContext* context);

  // Checks the caller's role. False: the call has been finished with a refusal.
  // Also reads the metadata `subak-min-sequence`; a value that is no number gets INVALID_ARGUMENT.
  // Call it before any member that needs the caller.
  bool allow(Role least);
  // As allow(), for a change: it also refuses the call if this replica does not lead.
  bool allow_change(Role least);
  // Call it only after allow() or allow_change() returned true.
  const Caller& caller() const { return *caller_; }
  Shared& shared() const { return *shared_; }
  Reactor* reactor() const { return reactor_; }

  // done(), fail(), finish() and deny() finish the call.
  // They add the trailing metadata. Call one of them, once. They return the reactor, which the
  // handler can return. deny() finishes with PERMISSION_DENIED and reports
  // the refusal of `subject`.
  Reactor* done() const;
  Reactor* fail(const Error& error) const;
  Reactor* finish(const grpc::Status& status) const;
  Reactor* deny(const std::string& subject, const std::string& want) const;
  // Reports that a part of the call was refused. The call goes on.
  // `error.got` is its subject.
  void report_denied(const Error& error) const;

  // Writes the response. It may run after the handler has returned, so it must not refer to the
  // handler's local variables.
  using Fill = std::function<std::optional<Error>(const Engine&)>;
  // Runs `fill` on the follower's thread and finishes with its error, if any. For cheap reads only,
  // see Follower::read.
  // The call gets RESOURCE_EXHAUSTED if the queue of reads is full, UNAVAILABLE
  // if the follower stops.
  Reactor* read(Fill fill) const;
  // As read(), for an expensive read, whose cost grows with the state. Callers take turns.
  // At most limits::kMaxReadsPerCaller such reads wait for each caller, and
  // limits::kMaxExpensiveReads in all.
  Reactor* read_expensive(Fill fill) const;
  // Run an expensive read that also gets the start estimates. read_queue() also passes the order of
  // the queue, see Follower::read_queue().
  using StartsFill = std::function<std::optional<Error>(const Engine&, const ForecastStarts&)>;
  Reactor* read_starts(StartsFill fill) const;
  using QueueFill = std::function<std::optional<Error>(const Engine&, const QueueSnapshot&,
                                                       const ForecastStarts&)>;
  // The answer's sequence is that of the state or that of the order, whichever is older.
  Reactor* read_queue(QueueFill fill) const;
  // Run `next` as a cheap or expensive read. `next` must finish the call.
  Reactor* read_then(Follower::Read next) const;
  Reactor* read_expensive_then(Follower::Read next) const;
  // Sets actor and request id, posts the input, and finishes once it is durable. `fill` gets only
  // replies without error.
  // Inputs beyond the bounds of model/bounds.h are refused before they are queued. Other errors are
  // FAILED_PRECONDITION while the clock waits to be accepted, and RESOURCE_EXHAUSTED for a full
  // mailbox. An input is durable when the store has committed its facts. `fill` runs on the loop's
  // thread and must not block.
  Reactor* post(in::Body body, const RequestFingerprint& fingerprint,
                std::function<void(const Reply&)> fill) const;
  // As post(), but `next` gets every reply and must finish the call. It runs on the loop's thread.
  Reactor* post_then(in::Body body, const RequestFingerprint& fingerprint, ReplyFn next) const;
  // Runs `next` on the thread that reads the store. `next` must finish the call.
  // Long work does one part in `next` and calls store_then() for the following part, so that other
  // callers get their turns.
  Reactor* store_then(StoreReads::Task next) const;
  // Sets the answer's sequence to the last durable fact. A call that posts to the runtime without
  // post_then() must do this in its reply.
  void rests_on_all() const;

 private:
  void rests_on(std::uint64_t sequence) const { answer_->sequence = sequence; }
  // Runs `go`, which reads, as soon as this replica has the fact that the caller requires.
  // It checks again every limits::kSequenceLookMs and blocks no thread meanwhile.
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
