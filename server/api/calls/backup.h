// Backup: copies the store to a file beside it and streams the copy in parts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/api/streams/streams.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// Runs one backup at a time on a thread of its own, since copying a file may take minutes. Threads:
// any.
class BackupDesk {
 public:
  ~BackupDesk() { stop(); }
  // Reserves the desk. False: another backup is running or the service stops; do not call end()
  // then.
  bool begin();
  // Runs `work` on the thread; `work` calls end(). Not after stop().
  void run(std::function<void()> work);
  void end();
  // Waits for the work. Close its stream first.
  void stop();

 private:
  Mutex mutex_;
  bool busy_ SUBAK_GUARDED_BY(mutex_) = false;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// One Backup stream.
class BackupStream final : public QueueWriter<v1::BackupResponse> {
 public:
  BackupStream(StreamSet& set, BackupDesk& desk, Store& store);
  // Call after begin(). Ends the stream with a refusal, or sends the whole copy and then ends it.
  void start(Follower& follower, const std::string& caller);

 private:
  void drained() override { signal(&written_); }
  void ended() override { signal(&over_); }
  void signal(bool* what);
  bool over();
  void work();
  grpc::Status send_copy();
  // False: the stream is over.
  bool send(v1::BackupResponse message);

  BackupDesk& desk_;
  Store& store_;
  v1::BackupHeader header_;
  Mutex wait_mutex_;
  CondVar wake_;
  bool written_ SUBAK_GUARDED_BY(wait_mutex_) = false;
  bool over_ SUBAK_GUARDED_BY(wait_mutex_) = false;
};

}  // namespace subak::api
