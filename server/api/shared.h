// What the services of one server share, and one unary call until it is finished.
// Private to server/api.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "server/api/api.h"
#include "server/api/asked.h"
#include "server/api/auth.h"
#include "server/api/backup.h"
#include "server/api/denials.h"
#include "server/api/job_watch.h"
#include "server/api/observe.h"
#include "server/api/static_stream.h"
#include "server/api/status.h"
#include "server/api/store_reads.h"
#include "server/api/streams.h"

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
  Observers launchers;  // by Effects
  BackupDesk backups;
  WatchHub watch;
  StaticHub statics;
  Denials denials;

  TimeMs start_ms = 0;
  std::atomic<bool> serving{false};
  std::atomic<std::int64_t> last_pass_us{0};
  std::atomic<std::int64_t> last_commit_us{0};
  std::mutex verified_mutex;
  std::optional<GpuTime> verified_drift;  // of the last VerifyUsage

  // The instant for which decayed figures are computed.
  TimeMs now(const Engine& engine) const;
  // Reports a refusal by role and hands it back.
  // If it is known who was refused, the audit log gets it too.
  grpc::Status denied(const grpc::CallbackServerContext& context, const std::string& actor,
                      const std::string& subject, const grpc::Status& status);
  // While the wall clock waits to be accepted: what every call is told but those that end it.
  std::optional<Error> not_ready() const;
  // What keeps this replica from changing anything: another leads, or the database is away.
  std::optional<grpc::Status> why_no_change() const;
  // Why post() or read() said no.
  grpc::Status why_refused(std::string_view what) const;
  // Why work of one caller was not queued, `what` being "reads", "store reads".
  grpc::Status why_not(Queued queued, std::string_view what) const;
};

// A refusal is reported as denied.
Admission admit(Shared& shared, const grpc::CallbackServerContext& context, Role least);

// A value: copy it into whatever finishes the call. The request and the response outlive the call.
//
// Every answer has trailing metadata `subak-sequence`: the last fact that it rests on at least. A call whose metadata
// have `subak-min-sequence` reads only once this replica has that fact; after limits::kSequenceWaitMs without it, it
// ends with UNAVAILABLE.
class Call {
 public:
  using Reactor = grpc::ServerUnaryReactor;
  Call(Shared& shared, grpc::CallbackServerContext* context);

  // False: the call is finished with the refusal.
  bool allow(Role least);
  // The same for what changes something, and so is the leader's alone.
  bool allow_change(Role least);
  const Caller& caller() const { return *caller_; }
  Shared& shared() const { return *shared_; }
  Reactor* reactor() const { return reactor_; }

  // These finish the call.
  Reactor* done() const;
  Reactor* fail(const Error& error) const;
  Reactor* finish(const grpc::Status& status) const;
  Reactor* deny(const std::string& subject, const std::string& want) const;
  // Reports the refusal of a part of the call, which goes on.
  void report_denied(const Error& error) const;

  using Fill = std::function<std::optional<Error>(const Engine&)>;
  // Runs `fill` on the follower's thread and finishes with its error, if any.
  // Cheap reads only: see Follower::read.
  Reactor* read(Fill fill) const;
  // The same in the caller's turn, for what grows with the state.
  Reactor* read_dear(Fill fill) const;
  // A dear one with the forecast of starts, and one with the order of the queue too: see
  // Follower::read_queue.
  using StartsFill = std::function<std::optional<Error>(const Engine&, const ForecastStarts&)>;
  Reactor* read_starts(StartsFill fill) const;
  using QueueFill = std::function<std::optional<Error>(const Engine&, const QueuePicture&,
                                                       const ForecastStarts&)>;
  Reactor* read_queue(QueueFill fill) const;
  // Run `next` there; it has to see to the end of the call.
  Reactor* read_then(Follower::Read next) const;
  Reactor* read_dear_then(Follower::Read next) const;
  // Stamps actor and request id, posts, and finishes when durable.
  // `fill` sees replies without error.
  Reactor* post(in::Body body, const Asked& asked, std::function<void(const Reply&)> fill) const;
  // `next` sees every reply and has to see to the end of the call. It runs on the loop's thread.
  Reactor* post_then(in::Body body, const Asked& asked, ReplyFn next) const;
  // Runs `next` on the thread that reads the store; it has to see to the end of the call.
  Reactor* store_then(StoreReads::Task next) const;
  // The answer rests on all that is durable by now: for who posts to the runtime without post_then(), in its reply.
  void rests_on_all() const;

 private:
  void rests_on(std::uint64_t sequence) const { answer_->sequence = sequence; }
  // Runs `go`, which reads, now or once this replica has the fact that the caller wants to see.
  Reactor* once_seen(std::function<void()> go) const;
  void look_for_it(const std::function<void()>& go, int looks_left) const;
  // Finishes the call if its read was not queued.
  Reactor* queued(Queued how) const;

  Shared* shared_;
  grpc::CallbackServerContext* context_;
  Reactor* reactor_;
  std::shared_ptr<const Caller> caller_;
  struct Answer {
    std::uint64_t sequence = 0;  // 0: it rests on none
  };
  std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  std::uint64_t min_sequence_ = 0;  // 0: the caller wants to see nothing in particular
};

}  // namespace subak::api
