// Follows a leader's webhook basis over ClusterService.Static and has the newest complete copy.
// When the leader goes away, the last copy stays, and the connection is retried. An invalid copy is
// refused as a whole, with a line in the log, and the last one stays. Threads: one of its own reads
// the stream; any may call the methods.
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

// Where the leader is, and how to reach it.
struct LeaderOptions {
  std::string address;  // HOST:PORT
  // PEM of the leader's CA, and a bearer token. Both are read again for each connection.
  std::string ca_file, token_file;
  // Connect without TLS: the leader is on loopback.
  bool plain = false;
  // basis() returns it until the first copy.
  AdmissionConfig until_first_copy;
};

// The state of the copy, for readiness and metrics.
struct LeaderStats {
  bool has_copy = false;
  // Since the leader was last heard, or since the start; 0 while it is connected.
  DurationMs age_ms = 0;
  // Complete copies accepted and refused.
  std::uint64_t copies = 0, refused = 0;
};

// The newest complete copy, and the thread that follows the leader.
class LeaderCopy {
 public:
  // `clock` outlives it.
  LeaderCopy(LeaderOptions options, const Clock& clock);
  // stop()
  ~LeaderCopy();
  LeaderCopy(const LeaderCopy&) = delete;
  LeaderCopy& operator=(const LeaderCopy&) = delete;

  // Starts the thread. Call once.
  void start();
  // Ends the stream and the thread. The last copy stays. Idempotent.
  void stop();
  // Returns the last copy. Before the first one: no View, and `until_first_copy`. Threads: any.
  AdmissionBasis basis() const;
  // Threads: any.
  LeaderStats stats() const;

 private:
  void run();
  // Follows one stream to its end. True: it brought a copy.
  bool follow();
  // Reads copies until the stream ends or one is refused. True: the last one was taken.
  bool read_stream(grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& channel);
  // Takes a complete copy; refuses an invalid one; notes that the leader was lost. Each logs.
  void take(AdmissionBasis basis);
  void refuse(const Error& error);
  void lost(const std::string& why);
  std::int64_t now_ms() const { return clock_.monotonic_us() / 1000; }

  const LeaderOptions options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  // Of the open stream.
  grpc::ClientContext* context_ SUBAK_GUARDED_BY(mutex_) = nullptr;
  AdmissionBasis basis_ SUBAK_GUARDED_BY(mutex_);
  // The stream is open and has brought a copy.
  bool there_ SUBAK_GUARDED_BY(mutex_) = false;
  // When the leader was last heard, on the monotonic clock.
  std::int64_t heard_ms_ SUBAK_GUARDED_BY(mutex_);
  // Its thread writes these under the mutex, and reads them without.
  std::uint64_t copies_ = 0, refused_ = 0;
  // The last log line about an unreachable leader. Only its thread uses it.
  std::string told_;
  std::thread thread_;
};

}  // namespace subak
