// Follows a leader's webhook basis over ClusterService.Static, and stores the newest complete copy.
// If the leader is unreachable, the last copy stays, and LeaderCopy connects again. If a copy is
// invalid, it refuses the complete copy with a line in the log, and the last copy stays. Threads:
// its own thread reads the stream; any may call the methods.
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
  // The files with the PEM of the leader's CA and with a bearer token.
  // Each connection reads them again.
  std::string ca_file, token_file;
  // True: connect without TLS, since the leader is on loopback.
  bool plain = false;
  // The configuration that basis() returns until the first copy.
  AdmissionConfig until_first_copy;
};

// The state of the copy, for readiness and metrics.
struct LeaderStats {
  bool has_copy = false;
  // The time since the leader was last heard, or since the start; 0 while it is connected.
  DurationMs age_ms = 0;
  // The numbers of complete copies that were accepted and refused.
  std::uint64_t copies = 0, refused = 0;
};

// The newest complete copy, and the thread that follows the leader.
class LeaderCopy {
 public:
  // `clock` outlives this object.
  LeaderCopy(LeaderOptions options, const Clock& clock);
  // Calls stop().
  ~LeaderCopy();
  LeaderCopy(const LeaderCopy&) = delete;
  LeaderCopy& operator=(const LeaderCopy&) = delete;

  // Starts the thread. Call it once.
  void start();
  // Ends the stream and the thread. The last copy stays. Idempotent.
  void stop();
  // Returns the last copy. Before the first copy, it returns no View, and `until_first_copy` as the
  // configuration. Threads: any.
  AdmissionBasis basis() const;
  // Threads: any.
  LeaderStats stats() const;

 private:
  void run();
  // Follows one stream to its end. True: it brought a copy.
  bool follow();
  // Reads copies until the stream ends or a copy is refused. True: the last copy was accepted.
  bool read_stream(grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& channel);
  // take() accepts a complete copy, refuse() refuses an invalid one, lost() records that the
  // connection was lost. Each writes to the log.
  void take(AdmissionBasis basis);
  void refuse(const Error& error);
  void lost(const std::string& why);
  std::int64_t now_ms() const { return clock_.monotonic_us() / 1000; }

  const LeaderOptions options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  // The context of the open stream.
  grpc::ClientContext* context_ SUBAK_GUARDED_BY(mutex_) = nullptr;
  AdmissionBasis basis_ SUBAK_GUARDED_BY(mutex_);
  // True: the stream is open and has brought a copy.
  bool there_ SUBAK_GUARDED_BY(mutex_) = false;
  // When the leader was last heard, on the monotonic clock.
  std::int64_t heard_ms_ SUBAK_GUARDED_BY(mutex_);
  // Its own thread writes these under the mutex, and reads them without the mutex.
  std::uint64_t copies_ = 0, refused_ = 0;
  // The last log line about an unreachable leader. Only its own thread uses it.
  std::string told_;
  std::thread thread_;
};

}  // namespace subak
