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
  // Joins the last backup's thread.
  ~BackupDesk() { stop(); }
  // Reserves the desk. Returns false if another backup is running or the service stops; then do not
  // call end().
  // After true, end() must be called: by the work itself, or by the caller if it never calls run().
  bool begin();
  // Runs `work` on the thread; `work` must call end().
  // It first joins the thread of the previous backup, which has called end(). After stop() it drops
  // `work` and returns.
  void run(std::function<void()> work);
  // Frees the desk for the next backup. Also called on the backup's own thread.
  void end();
  // Waits until the work has ended. Close the stream of the backup first.
  // After this, begin() returns false. Call it from any thread but the backup's.
  void stop();

 private:
  Mutex mutex_;
  bool busy_ SUBAK_GUARDED_BY(mutex_) = false;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// One Backup stream.
// The first message is the header. It has the size of the copy in bytes, and the number and digest
// of one fact in the copy. The data follow in parts of 1 MiB. The copy may also have later facts
// than the one in the header. Memory: two messages, since the stream writes one part before it
// reads the next. So a slow reader needs no more memory, but the copy stays open. The copy is in
// the folder of the store, so that disk needs room for it.
// The copy has no file name once it is open.
class BackupStream final : public QueueWriter<v1::BackupResponse> {
 public:
  // `set`, `desk` and `store` outlive the stream.
  BackupStream(StreamSet& set, BackupDesk& desk, Store& store);
  // Call it after begin(). Sends the whole copy and ends the stream, or ends the stream with an
  // error. Errors: RESOURCE_EXHAUSTED if another backup runs or the queue of reads is full; the
  // error of Store::make_copy(); FAILED_PRECONDITION if the copy cannot be read back. The read of
  // the digest takes its turns in the queue as `caller`.
  void start(Follower& follower, const std::string& caller);

 private:
  // gRPC's threads call drained() and ended().
  void drained() override { signal(&written_); }
  void ended() override { signal(&over_); }
  // Sets `*what` under the lock and wakes send().
  void signal(bool* what);
  // True once the stream has ended, which also stops the copy between two parts.
  bool over();
  // On the desk's thread: sends the copy, frees the desk, ends the stream.
  void work();
  // Returns OK also if the reader has left meanwhile.
  grpc::Status send_copy();
  // Returns false if the stream is over.
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
