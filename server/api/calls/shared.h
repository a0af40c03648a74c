// The state that the gRPC services of one server share (Shared), and the class with which each
// handler of a unary call works (Call). The loop is the thread that decides, and the follower is a
// second engine that serves reads. Private to server/api.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api/common/auth.h"
#include "server/api/common/denials.h"
#include "server/api/common/options.h"
#include "server/api/common/request_fingerprint.h"
#include "server/api/common/sessions.h"
#include "server/api/common/status.h"
#include "server/api/convert/compute_domains.h"
#include "server/api/streams/admission_snapshot_stream.h"
#include "server/api/streams/desk.h"
#include "server/api/streams/job_watch.h"
#include "server/api/streams/observe.h"
#include "server/api/streams/store_reads.h"
#include "server/api/streams/streams.h"
#include "server/past/past.h"
#include "threads/mutex.h"

namespace subak::api {

// The name and the limits of a queue of reads: of all callers together, and of one caller.
struct QueueLimits {
  std::string_view name;
  std::size_t most = 0;
  std::size_t most_of_caller = 0;
};

// A server has one Shared, which outlives all calls and streams. The constructor sets all members.
// A member that changes later is atomic, is guarded by a mutex, or is of a type that any thread may
// use.
struct Shared {
  // The constructor reads no file and starts no thread: the server loads `auth` and starts `reads`
  // later.
  Shared(ApiOptions given, const ApiDeps& deps);

  // The options that the constructor got. They never change.
  ApiOptions options;
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
  Authenticator auth;
  // Reads rows of the ledger and the audit log.
  StoreReads reads;
  // Reads of earlier moments.
  Past past;
  StreamSet streams;
  Observers launchers;  // streams of Effects
  // The threads for the long work of Backup and WhatIf (desk.h), one call of each method at a time.
  struct Desks {
    Desk backups, what_ifs;
  } desks;
  WatchHub watch;
  AdmissionSnapshotHub statics;
  // The sessions of browsers, and the refusals for lack of rights.
  struct Access {
    Sessions sessions;
    Denials denials;
  } access;

  // The time of the wall clock in the constructor.
  TimeMs start_ms = 0;
  // The status that the health service reports; true: SERVING. The server sets this value.
  std::atomic<bool> serving{false};
  // The durations of the last scheduling pass and of the last commit, in microseconds; 0: there was
  // none yet.
  struct Last {
    std::atomic<std::int64_t> pass_us{0};
    std::atomic<std::int64_t> commit_us{0};
  } last;
  Mutex verified_mutex;
  // The drift that the last call of VerifyUsage found; nullopt: there was no call.
  std::optional<GpuTime> verified_drift SUBAK_GUARDED_BY(verified_mutex);

  // Returns the instant for which decayed figures are computed. The instant is the service's time,
  // or the time of the engine's last fact if that is later. So the instant is never before the time
  // of the engine's state.
  TimeMs now(const Engine& engine) const;
  // Returns the ComputeDomains that an edge of this service made in the cluster.
  ComputeDomainRows compute_domains(const std::string& cluster) const {
    return options.reads.compute_domains ? options.reads.compute_domains(cluster) : nullptr;
  }
  // Reports a refusal for lack of rights to options.on_denied, and returns `status` unchanged. If
  // the caller is known, it also posts an input to the loop, so that the audit log gets the
  // refusal. If the mailbox is full, this input is dropped. `actor`: empty if the caller is not
  // known. `subject`: the path of an account or a job; empty if it is not known.
  grpc::Status denied(const grpc::CallbackServerContext& context, const std::string& actor,
                      const std::string& subject, const grpc::Status& status);
  // Returns an error while the wall clock waits to be accepted: kPrecondition, with the field
  // "clock". nullopt: the clock is good. Changes other than AcceptClock and Finalize get this
  // error, and so do the streams Observe and Effects.
  std::optional<Error> not_ready() const;
  // Returns why this replica accepts no changes: not_leader() if another process leads, or
  // database_away() if the database does not answer. Both are UNAVAILABLE. nullopt: this replica
  // accepts changes.
  std::optional<grpc::Status> why_no_change() const;
  // Returns the status for a call that Runtime::post() or Follower::read() refused. The status is
  // UNAVAILABLE if a commit or the follower has failed, else RESOURCE_EXHAUSTED. `what`: the name
  // of the full queue.
  grpc::Status why_refused(std::string_view what) const;
  // Returns the status for work that was not queued. The text of the status names the limit that
  // was reached. `queued` must not be kYes. `of`: the queue that refused it.
  grpc::Status why_not(Queued queued, const QueueLimits& of) const;
};

// Authenticates the caller of a call, by the metadata "authorization" and the peer's address. A
// call within the process may also have a session instead of a token (Sessions::caller()). A
// missing or unknown token gets UNAUTHENTICATED. A role below `least` gets PERMISSION_DENIED. The
// function reports a refusal by Shared::denied(). If the caller is admitted, the result has the
// caller.
Admission admit(Shared& shared, const grpc::CallbackServerContext& context, Role least);

// Does the same as admit(), for a stream. A stream only shows the present. So an admitted caller
// that names a moment (`subak-at`) is refused with INVALID_ARGUMENT.
Admission admit_stream(Shared& shared, const grpc::CallbackServerContext& context, Role least);

// The moments that a call can show. kAny: the caller may name an earlier moment by the metadata
// `subak-at`. kPresent: such a call gets INVALID_ARGUMENT.
enum class Moments : std::uint8_t { kPresent, kAny };

// A unary call, from the check of the caller to the answer. Copy this object into the callback that
// finishes the call. The request and the response outlive the call.
//
// Every answer has the trailing metadata `subak-sequence`, which is the number of a fact: the
// answer comes from a state that has all facts up to this one. By the metadata
// `subak-min-sequence`, a caller can require a fact. The call then waits until this replica has the
// fact. If the replica does not get the fact within limits::kSequenceWaitMs, the call ends with
// UNAVAILABLE.
//
// If several processes share the store, the answer also says which kind of replica gave it, by this
// trailing metadata:
//   subak-leads      "yes" or "no": whether this replica leads
//   subak-epoch      the number of the leadership that this replica knows (v1::Status::epoch)
//   subak-behind-ms  how long ago the state of this replica last had all facts of the store, in ms.
//                    For the leader: how long its present commit has waited for a database that is
//                    away; absent: its state is current.
//
// By the metadata `subak-at`, a caller names an earlier moment: the number of a fact, or a time
// (server/past/moment.h). read(), read_expensive(), read_starts() and read_queue() then use the
// state of that moment. The answer has the metadata `subak-sequence`, and `subak-time` with the
// moment in ms since 1970. If the state of the moment is not in memory, the call waits until that
// state is rebuilt from the facts.
class Call {
 public:
  using Reactor = grpc::ServerUnaryReactor;
  // Uses the default reactor of the context. The handler must finish the call by one of the members
  // below.
  Call(Shared& shared, grpc::CallbackServerContext* context);

  // Checks the caller's role, and reads the metadata `subak-min-sequence`. False: the call was
  // refused and is finished. A value of `subak-min-sequence` that is no number gets
  // INVALID_ARGUMENT. Call allow() before any member that needs the caller.
  // The same holds for a value of `subak-at` that is no moment, or a moment that `moments`
  // excludes.
  bool allow(Role least, Moments moments = Moments::kPresent);
  // Does the same as allow(), and also refuses the call if this replica accepts no changes
  // (why_no_change()). Call it for a change.
  bool allow_change(Role least);
  // Returns the caller. Call it only after allow() or allow_change() has returned true.
  const Caller& caller() const { return *caller_; }
  Shared& shared() const { return *shared_; }
  Reactor* reactor() const { return reactor_; }
  // True if the caller named a moment. The read must then leave out what the facts do not have.
  bool is_past() const { return at_.has_value(); }
  // Returns the instant for which a read computes decayed figures, waits and estimates: the moment
  // of the call, else Shared::now(). Call it in the read.
  TimeMs now(const Engine& engine) const;

  // done(), fail(), finish() and deny() finish the call, with the trailing metadata. Call exactly
  // one of them, once. These four functions return the reactor, which the handler can return.
  // deny() finishes the call with PERMISSION_DENIED and reports the refusal. `subject`: what the
  // caller may not change or read.
  Reactor* done() const;
  Reactor* fail(const Error& error) const;
  Reactor* finish(const grpc::Status& status) const;
  Reactor* deny(const std::string& subject, const std::string& want) const;
  // Reports that a part of the call was refused for lack of rights. The call continues.
  // `error.got`: the subject of the refusal.
  void report_denied(const Error& error) const;

  // A function that writes the response from the engine. It may run after the handler has returned,
  // so it must not refer to local variables of the handler.
  using Fill = std::function<std::optional<Error>(const Engine&)>;
  // Runs `fill` on the follower's thread and finishes the call, with the error of `fill` if there
  // is one. Use it only for cheap reads (Follower::read()). The call gets RESOURCE_EXHAUSTED if the
  // queue of reads is full, and UNAVAILABLE if the follower stops.
  Reactor* read(Fill fill) const;
  // Works as read(), for an expensive read, whose cost grows with the state. Callers take turns.
  // Follower::read_expensive() has the limits on the number of such reads.
  Reactor* read_expensive(Fill fill) const;
  // read_starts() and read_queue() run an expensive read that also gets the start estimates.
  // read_queue() passes the order of the queue too (Follower::read_queue()).
  using StartsFill = std::function<std::optional<Error>(const Engine&, const ForecastStarts&)>;
  Reactor* read_starts(StartsFill fill) const;
  using QueueFill = std::function<std::optional<Error>(const Engine&, const QueueSnapshot&,
                                                       const ForecastStarts&)>;
  // The answer's `subak-sequence` is the smaller of two numbers: the sequence of the state, and
  // that of the queue's order.
  Reactor* read_queue(QueueFill fill) const;
  // read_then() runs `next` as a cheap read, and read_expensive_then() as an expensive read. `next`
  // must finish the call.
  Reactor* read_then(Follower::Read next) const;
  Reactor* read_expensive_then(Follower::Read next) const;
  // Posts the input with the caller's name and the request id. It finishes the call when the store
  // has committed the facts of the input. Before that, it passes the reply to `fill`; but if the
  // reply is an error, the call gets that error instead. `fill` runs on the loop's thread and must
  // not block. The call is refused without being queued in these cases:
  // - The input is beyond the bounds of model/bounds/bounds.h.
  // - The wall clock waits to be accepted: FAILED_PRECONDITION.
  // - The mailbox is full: RESOURCE_EXHAUSTED.
  Reactor* post(in::Body body, const RequestFingerprint& fingerprint,
                std::function<void(const Reply&)> fill) const;
  // Works as post(), but `next` gets every reply, even an error, and must finish the call. `next`
  // runs on the loop's thread.
  Reactor* post_then(in::Body body, const RequestFingerprint& fingerprint, ReplyFn next) const;
  // Runs `next` on the thread that reads the store. `next` must finish the call, or call
  // store_then() again. Long work does one part in each call of store_then(), so that other callers
  // get their turns.
  Reactor* store_then(StoreReads::Task next) const;
  // Sets the sequence of the answer to the last durable fact. A call that posts to the runtime
  // without post() or post_then() must call this function when it gets the reply.
  void rests_on_all() const;

 private:
  void rests_on(std::uint64_t sequence) const { answer_->sequence = sequence; }
  // Adds the trailing metadata about this replica.
  void name_replica() const;
  // Runs `go`, which makes a read, as soon as this replica has the fact that the caller requires.
  // It looks for the fact every limits::kSequenceLookMs, and blocks no thread between two looks.
  Reactor* once_seen(std::function<void()> go) const;
  void look_for_it(const std::function<void()>& go, int looks_left) const;
  // Finishes the call if its work was not queued.
  Reactor* queued(Queued how) const;
  // Reads `subak-at`. False: the call was refused and is finished.
  bool read_at(Moments moments);
  // Runs `next` with the state of the moment.
  void read_past(std::function<void(PastState&)> next) const;

  Shared* shared_;
  grpc::CallbackServerContext* context_;
  Reactor* reactor_;
  std::shared_ptr<const Caller> caller_;
  struct Answer {
    std::uint64_t sequence = 0;  // 0: the answer rests on no fact
    TimeMs past_ms = 0;          // the moment of the answer; 0: the present
  };
  std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  std::uint64_t min_sequence_ = 0;  // 0: the caller requires none
  std::optional<Moment> at_;        // nullopt: the present
};

}  // namespace subak::api
