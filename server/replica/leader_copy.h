// Gets copies of the data by which the leader's webhook decides (ClusterService.Static), for a
// webhook-only replica: a process that answers only admission reviews. LeaderCopy holds the newest
// complete copy in memory. If the leader is unreachable, the last copy stays in use, and LeaderCopy
// tries to connect again. If a new copy is invalid, it logs that and refuses the whole new copy,
// and the last copy stays in use. Threads: its own thread reads the stream; any thread may call the
// methods.
#pragma once

#include <grpcpp/client_context.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "admission/webhook.h"
#include "core/error.h"
#include "core/quantity.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak {

// The address of the leader, and how to connect.
struct LeaderOptions {
  std::string address;  // HOST:PORT
  // The paths of the files with the PEM of the leader's CA and with a bearer token. Each new
  // connection reads these files again.
  std::string ca_file, token_file;
  // True: the replica connects without TLS, since the leader is on this machine.
  bool plain = false;
  // The configuration that basis() returns until the first copy has come.
  AdmissionConfig until_first_copy;
};

// The state of the copy, for readiness and metrics.
struct LeaderStats {
  bool has_copy = false;
  // The time since the leader was last heard. If the leader was never heard, this is the time since
  // this object was made. 0 while a stream is open that has brought a copy.
  DurationMs age_ms = 0;
  // The numbers of complete copies that were accepted and refused.
  std::uint64_t copies = 0, refused = 0;
};

// The newest complete copy, and the thread that follows the leader.
class LeaderCopy {
 public:
  // `clock` must outlive this object.
  LeaderCopy(LeaderOptions options, const Clock& clock);
  // Calls stop().
  ~LeaderCopy();
  LeaderCopy(const LeaderCopy&) = delete;
  LeaderCopy& operator=(const LeaderCopy&) = delete;

  // Starts the thread. Call it once.
  void start();
  // Ends the stream and the thread. basis() still returns the last copy. A second call does
  // nothing.
  void stop();
  // Returns the last copy. Before the first copy has come, the result has no View, and its
  // configuration is `until_first_copy`. Threads: any.
  AdmissionBasis basis() const;
  // Threads: any.
  LeaderStats stats() const;

 private:
  void run();
  // Opens one stream and reads it to its end. Returns the result of read_stream(); false if it
  // could not connect.
  bool follow();
  // Reads copies until the stream ends or a copy is refused. True: at least one copy was accepted,
  // and none was refused.
  bool read_stream(grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& channel);
  // take() puts a complete copy in use, refuse() refuses an invalid copy, and lost() records that
  // the connection was lost. Each of them logs what it did.
  void take(AdmissionBasis basis);
  void refuse(const Error& error);
  void lost(const std::string& why);
  std::int64_t now_ms() const { return clock_.monotonic_us() / 1000; }

  const LeaderOptions options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  // The context of the open stream; nullptr: no stream is open.
  grpc::ClientContext* context_ SUBAK_GUARDED_BY(mutex_) = nullptr;
  AdmissionBasis basis_ SUBAK_GUARDED_BY(mutex_);
  // True: the stream is open and has brought a copy.
  bool there_ SUBAK_GUARDED_BY(mutex_) = false;
  // When the leader was last heard, by the monotonic clock.
  std::int64_t heard_ms_ SUBAK_GUARDED_BY(mutex_);
  // This object's thread locks the mutex when it writes these two counters. Only that thread may
  // read the counters without the mutex.
  std::uint64_t copies_ = 0, refused_ = 0;
  // The last log line about an unreachable leader. Only this object's thread uses this text.
  std::string told_;
  std::thread thread_;
};

}  // namespace subak
