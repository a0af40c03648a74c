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

struct LeaderOptions {
  std::string address;  // HOST:PORT
  // PEM of the leader's CA, and a bearer token. Both are read again for each connection.
  std::string ca_file, token_file;
  bool plain = false;                // without TLS: on loopback
  AdmissionConfig until_first_copy;  // returned by basis() until then
};

struct LeaderStats {
  bool has_copy = false;
  // Since the leader was last heard, or since the start; 0 while it is connected.
  DurationMs age_ms = 0;
  std::uint64_t copies = 0, refused = 0;  // complete copies accepted and refused
};

class LeaderCopy {
 public:
  // `clock` outlives it.
  LeaderCopy(LeaderOptions options, const Clock& clock);
  ~LeaderCopy();  // stop()
  LeaderCopy(const LeaderCopy&) = delete;
  LeaderCopy& operator=(const LeaderCopy&) = delete;

  void start();
  void stop();  // idempotent; the last copy stays
  AdmissionBasis basis() const;
  LeaderStats stats() const;

 private:
  void run();
  // Follows one stream to its end. True: it brought a copy.
  bool follow();
  bool read_stream(grpc::ClientContext& context, const std::shared_ptr<grpc::Channel>& channel);
  void take(AdmissionBasis basis);
  void refuse(const Error& error);
  void lost(const std::string& why);
  std::int64_t now_ms() const { return clock_.monotonic_us() / 1000; }

  const LeaderOptions options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ SUBAK_GUARDED_BY(mutex_) = nullptr;  // of the open stream
  AdmissionBasis basis_ SUBAK_GUARDED_BY(mutex_);
  bool there_ SUBAK_GUARDED_BY(mutex_) = false;  // the stream is open and has brought a copy
  std::int64_t heard_ms_ SUBAK_GUARDED_BY(mutex_);
  // Its thread writes these under the mutex, and reads them without.
  std::uint64_t copies_ = 0, refused_ = 0;
  std::string told_;  // of its thread: the last log line about an unreachable leader
  std::thread thread_;
};

}  // namespace subak
