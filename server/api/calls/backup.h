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
  // Reserves the desk. False: another backup is running or the service stops; do not call end()
  // then.
  // After true, end() must follow: by the work itself, or by the caller if it never gets to run().
  bool begin();
  // Runs `work` on the thread; `work` calls end(). Not after stop().
  // Joins the thread of the previous backup, which has called end(). After stop() it drops `work`
  // and returns.
  void run(std::function<void()> work);
  // Frees the desk for the next backup. Also called on the backup's own thread.
  void end();
  // Waits for the work. Close its stream first.
  // Later begin() return false. Call from any thread but the backup's.
  void stop();

 private:
  Mutex mutex_;
  bool busy_ SUBAK_GUARDED_BY(mutex_) = false;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// One Backup stream.
// The first message is the header: the copy's bytes, and number and digest of a fact that the copy
// has. The data follow in parts of 1 MiB. The copy may have later facts than the header says.
// Memory: two messages, since one part is written before the next is read. A slow reader holds the
// copy open and fills no memory. The copy lies beside the store and has no name once it is open. So
// the disk needs room for it.
class BackupStream final : public QueueWriter<v1::BackupResponse> {
 public:
  // All three outlive the stream.
  BackupStream(StreamSet& set, BackupDesk& desk, Store& store);
  // Call after begin(). Ends the stream with a refusal, or sends the whole copy and then ends it.
  // Errors: RESOURCE_EXHAUSTED if another backup runs or the queue of reads is full; the error of
  // Store::make_copy(); FAILED_PRECONDITION if the copy cannot be read back. `caller`: whose turns
  // the read of the digest takes.
  void start(Follower& follower, const std::string& caller);

 private:
  // gRPC's threads.
  void drained() override { signal(&written_); }
  void ended() override { signal(&over_); }
  // Sets `*what` under the lock and wakes send().
  void signal(bool* what);
  // True once the stream has ended, which also stops the copy between two parts.
  bool over();
  // On the desk's thread: sends the copy, frees the desk, ends the stream.
  void work();
  // OK also if the reader left meanwhile.
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
