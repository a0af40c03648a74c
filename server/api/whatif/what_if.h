// The call WhatIf: replays a window of the store's history with a change, and streams the progress
// and the report (server/whatif).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "server/api/streams/desk.h"
#include "server/api/streams/streams.h"
#include "server/runtime/ports.h"
#include "subak/v1/policy_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// One stream of the call WhatIf. The work runs on the desk's thread, with a low priority and its
// own read connection, so neither the loop nor the follower waits for it. If the stream ends, the
// work stops soon.
class WhatIfStream final : public QueueWriter<v1::WhatIfResponse> {
 public:
  // `set`, `desk` and `store` must outlive the stream.
  WhatIfStream(StreamSet& set, Desk& desk, Store& store);
  // Sends the progress and the report, or ends the stream with an error of whatif::run_what_if().
  // Call it after begin(). `last_seq`: the last fact that the caller may see. If the desk is not
  // free, the stream ends with RESOURCE_EXHAUSTED and the name of the other caller.
  void start(const v1::WhatIfRequest& request, std::uint64_t last_seq, const std::string& caller);

 private:
  // gRPC's threads call drained() and ended().
  void drained() override;
  void ended() override;
  // Waits until gRPC has written all messages, or the stream has ended. The end of a stream drops
  // messages that are not written.
  void await_written();
  // Does the work and ends the stream. It runs on the desk's thread.
  void work(const v1::WhatIfRequest& request, std::uint64_t last_seq);
  // Returns the status with which the stream ends.
  grpc::Status send_report(const v1::WhatIfRequest& request, std::uint64_t last_seq);
  void send_progress(const char* what, int percent);

  Desk& desk_;
  Store& store_;
  // True: the client has left, or the stream was closed.
  std::atomic<bool> over_{false};
  Mutex wait_mutex_;
  CondVar wake_;
};

}  // namespace subak::api
