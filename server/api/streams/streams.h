// The set of the server's open gRPC streams, and the base class of streams that only send. A stream
// that only sends has a bounded queue of messages. Any thread may fill the queue, and gRPC empties
// it.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/api/common/auth.h"
#include "server/api/common/status.h"
#include "threads/mutex.h"

namespace subak::api {

// The result of admitting a caller: the caller, or the status of the refusal.
struct Admission {
  // The caller, if the call is admitted; else nullopt.
  std::optional<Caller> caller;
  // The role that the call needs.
  Role least = Role::kViewer;
  // The status with which the call must end. The status is not OK if there is no caller.
  grpc::Status refusal;
};

// The kind of a stream. Each kind has its own limits. kStatic is the kind of
// AdmissionSnapshotStream, kBackup that of BackupStream, and kWhatIf that of WhatIfStream. Keep the
// order: name_of() in streams.cc lists the names of the kinds in the same order.
enum class StreamKind : unsigned char { kObserve, kEffects, kWatchJobs, kStatic, kBackup, kWhatIf };

// A stream that the service can end.
class Closable {
 public:
  virtual ~Closable() = default;
  // Ends the stream with this status. It returns at once; the stream is destroyed later. Threads:
  // any, and several may call it at the same time.
  virtual void close(const grpc::Status& status) = 0;
};

// The open streams. Threads: any.
class StreamSet {
 public:
  // `auth` must outlive the set.
  explicit StreamSet(const Authenticator& auth) : auth_(auth) {}
  // Adds a stream and returns OK, or returns why the stream must end:
  // - the refusal in `admission`;
  // - UNAVAILABLE, because the service is stopping;
  // - RESOURCE_EXHAUSTED, because limits::kMaxStreamsPerCaller or limits::kMaxStreams is reached
  //   for this kind;
  // - UNAUTHENTICATED or PERMISSION_DENIED, because the caller has lost its role since it was
  //   admitted.
  grpc::Status add(const std::shared_ptr<Closable>& stream, StreamKind kind,
                   const Admission& admission);
  // Removes a stream that is over. Does nothing if the stream is not in the set.
  void remove(const std::shared_ptr<Closable>& stream);
  // Ends all streams with UNAVAILABLE and refuses every later add().
  void close_all();
  // Call it after the tokens were read again. If the token of a stream was removed, the stream ends
  // with UNAUTHENTICATED. If the token no longer has the needed role, the stream ends with
  // PERMISSION_DENIED. It calls close() without holding the lock.
  void check_rights();

 private:
  // The caller of a stream as it was admitted, and the role that the stream needs.
  struct Owner {
    StreamKind kind;
    Caller caller;
    Role least;
  };
  // Returns OK, or why the caller would not be admitted now.
  grpc::Status refusal_of(const Owner& owner) const;
  // Returns OK, or RESOURCE_EXHAUSTED with a text that has the limit.
  grpc::Status limit_reached(StreamKind kind, const std::string& actor) SUBAK_REQUIRES(mutex_);

  const Authenticator& auth_;
  Mutex mutex_;
  // True: close_all() was called.
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  // The open streams, with their callers.
  std::map<std::shared_ptr<Closable>, Owner> open_ SUBAK_GUARDED_BY(mutex_);
  // The number of open streams, by kind and actor.
  std::map<std::pair<StreamKind, std::string>, std::size_t> of_caller_ SUBAK_GUARDED_BY(mutex_);
  // The number of open streams, by kind.
  std::map<StreamKind, std::size_t> of_kind_ SUBAK_GUARDED_BY(mutex_);
};

// Counts approximately the memory that all streams of one kind use. The count is the sum of the
// sizes of the messages (protobuf's SpaceUsedLong()) and of the queue entries. Threads: any.
class StreamBytes {
 public:
  // Wraps a message so that any number of streams can share it. The message counts once, until the
  // last stream releases it. The message may outlive this object.
  template <class Message>
  std::shared_ptr<const Message> keep(Message message) {
    const std::size_t bytes = message.SpaceUsedLong();
    *used_ += bytes;
    return std::shared_ptr<const Message>(new Message(std::move(message)),
                                          [used = used_, bytes](const Message* kept) {
                                            delete kept;
                                            *used -= bytes;
                                          });
  }
  // add() and remove() change the count by bytes that are not part of a message from keep().
  void add(std::size_t bytes) { *used_ += bytes; }
  void remove(std::size_t bytes) { *used_ -= bytes; }
  // Returns the present sum, in bytes.
  std::size_t used() const { return *used_; }

 private:
  // The present sum. The messages share it, since they may outlive this object.
  std::shared_ptr<std::atomic<std::size_t>> used_ = std::make_shared<std::atomic<std::size_t>>(0);
};

// The writing side of a stream. gRPC uses the writer until it calls OnDone(), so the writer owns
// itself from begin() to OnDone(). After the first close(), push() and close() have no effect.
// Create a subclass with std::make_shared. Threads: any may call push(), backlog(), idle() and
// close(). gRPC calls the On... methods on its own threads; it calls OnWriteDone() for one write at
// a time.
template <class Message>
class QueueWriter : public grpc::ServerWriteReactor<Message>,
                    public Closable,
                    public std::enable_shared_from_this<QueueWriter<Message>> {
 public:
  // `most`: how many messages may wait; the message that is being written does not count. `bytes`:
  // counts the memory of the queue itself; nullptr: this memory is not counted. `set` and `bytes`
  // must outlive the writer.
  QueueWriter(StreamSet& set, std::size_t most, StreamBytes* bytes = nullptr)
      : set_(set), most_(most), bytes_(bytes) {}

  // Adds the stream to the set. Call it once, from the handler of the method. False:
  // StreamSet::add() has refused the stream, so the stream has ended with that status.
  bool begin(StreamKind kind, const Admission& admission) {
    self_ = this->shared_from_this();
    const grpc::Status status = set_.add(self_, kind, admission);
    if (!status.ok()) close(status);
    return status.ok();
  }
  // Queues a message. If too many messages wait, it ends the stream with RESOURCE_EXHAUSTED
  // instead. False: the stream has ended. A shared message is not copied, so many streams can send
  // the same one.
  bool push(Message message) { return push(std::make_shared<const Message>(std::move(message))); }
  bool push(std::shared_ptr<const Message> message) {
    bool overflow = false;
    {
      const MutexLock lock(mutex_);
      if (closing_) return false;
      overflow = queue_.size() >= most_;
      if (!overflow) {
        queue_.push_back(std::move(message));
        count(1);
        if (!writing_) write_locked();
      }
    }
    if (overflow) {
      close(to_status(busy("the stream's backlog of " + std::to_string(most_) + " messages")));
    }
    return !overflow;
  }
  // Returns the number of messages that wait.
  std::size_t backlog() {
    const MutexLock lock(mutex_);
    return queue_.size();
  }
  // Drops the queued messages and ends the stream. If a message is being written, the stream ends
  // after it. Only the first call has an effect.
  void close(const grpc::Status& status) override {
    {
      const MutexLock lock(mutex_);
      if (closing_) return;
      closing_ = true;
      status_ = status;
      count(-static_cast<std::ptrdiff_t>(queue_.size()));
      queue_.clear();
      if (writing_) return;  // OnWriteDone finishes
    }
    this->Finish(status_);
  }
  // True if the stream has not ended, and no message waits or is being written.
  bool idle() {
    const MutexLock lock(mutex_);
    return !closing_ && !writing_ && queue_.empty();
  }

  void OnWriteDone(bool ok) override {
    bool finish = false;
    bool is_drained = false;
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      current_ = nullptr;
      if (!ok && !closing_) {
        closing_ = true;
        status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the reader is gone");
        count(-static_cast<std::ptrdiff_t>(queue_.size()));
        queue_.clear();
      }
      finish = closing_;
      if (!finish && !queue_.empty()) write_locked();
      is_drained = !finish && !writing_;
    }
    if (finish) this->Finish(status_);
    if (is_drained) drained();
  }
  void OnCancel() override { close(grpc::Status::CANCELLED); }
  void OnDone() override {
    ended();
    set_.remove(self_);
    const auto last = std::move(self_);  // may destroy this on return
  }

 protected:
  // Called on a gRPC thread when all queued messages were written. An override may push further
  // messages. Another thread may call push() at the same time.
  virtual void drained() {}
  // Called once on a gRPC thread when the stream is over, even if the set refused the stream in
  // begin(). The set removes the stream after this call.
  virtual void ended() {}

 private:
  // Begins to write the first message of the queue. There must be one.
  void write_locked() SUBAK_REQUIRES(mutex_) {
    current_ = std::move(queue_.front());
    queue_.pop_front();
    count(-1);
    writing_ = true;
    this->StartWrite(current_.get());
  }
  // Adds this many queue entries to `bytes_`; a negative number removes entries.
  void count(std::ptrdiff_t entries) SUBAK_REQUIRES(mutex_) {
    if (bytes_ == nullptr) return;
    const std::size_t bytes = sizeof(current_) * static_cast<std::size_t>(std::abs(entries));
    entries > 0 ? bytes_->add(bytes) : bytes_->remove(bytes);
  }

  // The set that has this stream from begin() to OnDone().
  StreamSet& set_;
  std::size_t most_;
  Mutex mutex_;
  // nullptr: the queue's memory is not counted.
  StreamBytes* bytes_;
  // Messages that wait, the oldest first.
  std::deque<std::shared_ptr<const Message>> queue_ SUBAK_GUARDED_BY(mutex_);
  // The message that is being written; nullptr: none is.
  std::shared_ptr<const Message> current_ SUBAK_GUARDED_BY(mutex_);
  bool writing_ SUBAK_GUARDED_BY(mutex_) = false;
  bool closing_ SUBAK_GUARDED_BY(mutex_) = false;
  // The status of the first close(). The status never changes after that.
  grpc::Status status_;
  // A reference to this object, from begin() to OnDone(). The reference makes the object stay
  // alive.
  std::shared_ptr<QueueWriter> self_;
};

}  // namespace subak::api
