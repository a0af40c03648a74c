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

struct Shared {
  Shared(ApiOptions given, const ApiDeps& deps);

  ApiOptions options;
  Runtime& runtime;
  Follower& follower;
  Store& store;
  const Clock& clock;
  Authenticator auth;
  StoreReads reads;
  StreamSet streams;
  Observers launchers;  // streams of Effects
  BackupDesk backups;
  WatchHub watch;
  AdmissionSnapshotHub statics;
  Denials denials;

  TimeMs start_ms = 0;
  std::atomic<bool> serving{false};
  std::atomic<std::int64_t> last_pass_us{0};
  std::atomic<std::int64_t> last_commit_us{0};
  Mutex verified_mutex;
  // of the last VerifyUsage
  std::optional<GpuTime> verified_drift SUBAK_GUARDED_BY(verified_mutex);

  // Returns the instant for which decayed figures are computed.
  TimeMs now(const Engine& engine) const;
  // Reports a refusal by role and returns it. If the refused caller is known, the audit log also
  // gets it.
  grpc::Status denied(const grpc::CallbackServerContext& context, const std::string& actor,
                      const std::string& subject, const grpc::Status& status);
  // The answer to every call except AcceptClock and Finalize while the wall clock waits to be
  // accepted.
  std::optional<Error> not_ready() const;
  // Says why this replica changes nothing: another process leads, or the database does not answer.
  std::optional<grpc::Status> why_no_change() const;
  // Says why post() or read() refused.
  grpc::Status why_refused(std::string_view what) const;
  // Says why a caller's work was not queued. `what` is "reads" or "store reads".
  grpc::Status why_not(Queued queued, std::string_view what) const;
};

// Authenticates the caller of a stream. A refusal is reported by denied().
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
  Call(Shared& shared, grpc::CallbackServerContext* context);

  // Checks the caller's role. False: the call is finished with the refusal.
  bool allow(Role least);
  // As allow(), for a change. Only the leader accepts changes.
  bool allow_change(Role least);
  const Caller& caller() const { return *caller_; }
  Shared& shared() const { return *shared_; }
  Reactor* reactor() const { return reactor_; }

  // These finish the call.
  Reactor* done() const;
  Reactor* fail(const Error& error) const;
  Reactor* finish(const grpc::Status& status) const;
  Reactor* deny(const std::string& subject, const std::string& want) const;
  // Reports that a part of the call was refused. The call goes on.
  void report_denied(const Error& error) const;

  using Fill = std::function<std::optional<Error>(const Engine&)>;
  // Runs `fill` on the follower's thread and finishes with its error, if any. For cheap reads only,
  // see Follower::read.
  Reactor* read(Fill fill) const;
  // As read(), but an expensive read in the caller's turn: its cost grows with the state.
  Reactor* read_expensive(Fill fill) const;
  // Expensive reads with the start estimates, or with the order of the queue too: see
  // Follower::read_queue.
  using StartsFill = std::function<std::optional<Error>(const Engine&, const ForecastStarts&)>;
  Reactor* read_starts(StartsFill fill) const;
  using QueueFill = std::function<std::optional<Error>(const Engine&, const QueueSnapshot&,
                                                       const ForecastStarts&)>;
  Reactor* read_queue(QueueFill fill) const;
  // Run `next` as a cheap or expensive read. `next` must finish the call.
  Reactor* read_then(Follower::Read next) const;
  Reactor* read_expensive_then(Follower::Read next) const;
  // Sets actor and request id, posts the input, and finishes once it is durable. `fill` gets only
  // replies without error.
  Reactor* post(in::Body body, const RequestFingerprint& fingerprint,
                std::function<void(const Reply&)> fill) const;
  // As post(), but `next` gets every reply and must finish the call. It runs on the loop's thread.
  Reactor* post_then(in::Body body, const RequestFingerprint& fingerprint, ReplyFn next) const;
  // Runs `next` on the thread that reads the store. `next` must finish the call.
  Reactor* store_then(StoreReads::Task next) const;
  // Sets the answer's sequence to the last durable fact. For calls that post to the runtime without
  // post_then(), in their reply.
  void rests_on_all() const;

 private:
  void rests_on(std::uint64_t sequence) const { answer_->sequence = sequence; }
  // Runs `go`, which reads, as soon as this replica has the fact that the caller requires.
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
