// The gRPC call Backup: copies the store to a file beside it, and streams this copy in parts.
// Private to server/api.
#pragma once

#include <memory>
#include <string>

#include "server/api/streams/desk.h"
#include "server/api/streams/streams.h"
#include "server/runtime/follower.h"
#include "server/runtime/ports.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// One stream of the call Backup. The first message is the header. The header has the size of the
// copy in bytes, and the number and digest of one fact in the copy. The copy may have later facts
// too. The data follow in parts of 1 MiB. The stream reads a part only after gRPC has written the
// part before. So the stream never has more than two messages in memory, even if the reader is
// slow. The copy is in the folder of the store, so the disk of the store needs room for it. Once
// the copy is open, it has no file name; it disappears when the stream closes it.
class BackupStream final : public QueueWriter<v1::BackupResponse> {
 public:
  // `set`, `desk` and `store` must outlive the stream.
  BackupStream(StreamSet& set, Desk& desk, Store& store);
  // Sends the whole copy and ends the stream, or ends the stream with an error. Call it after
  // begin(). The error is RESOURCE_EXHAUSTED if another backup runs or the queue of reads is full.
  // The error is FAILED_PRECONDITION if the copy cannot be read. All other errors are those of
  // Store::make_copy(). The digest is read in the name of `caller`, so this read counts among the
  // reads of that caller.
  void start(Follower& follower, const std::string& caller);

 private:
  // gRPC's threads call drained() and ended().
  void drained() override { signal(&written_); }
  void ended() override { signal(&over_); }
  // Sets `*what` under the lock and wakes send().
  void signal(bool* what);
  // True if the stream has ended. The work on the copy then ends before the next part.
  bool over();
  // Sends the copy, frees the desk and ends the stream. It runs on the desk's thread.
  void work();
  // Sends the copy. Returns the status with which the stream ends; OK if the client has left
  // meanwhile.
  grpc::Status send_copy();
  // Sends one message and waits until it is written. False: the stream is over.
  bool send(v1::BackupResponse message);

  Desk& desk_;
  Store& store_;
  v1::BackupHeader header_;
  Mutex wait_mutex_;
  CondVar wake_;
  bool written_ SUBAK_GUARDED_BY(wait_mutex_) = false;
  bool over_ SUBAK_GUARDED_BY(wait_mutex_) = false;
};

}  // namespace subak::api
