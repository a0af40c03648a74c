// Server streams: a bounded queue of messages that any thread may fill and gRPC empties.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "server/api/status.h"

namespace subak::api {

// A stream that the end of the service ends too.
class Closable {
 public:
  virtual ~Closable() = default;
  virtual void close(const grpc::Status& status) = 0;
};

// The open streams. Threads: any.
class StreamSet {
 public:
  // False: the service is stopping.
  bool add(const std::shared_ptr<Closable>& stream) {
    const std::scoped_lock lock(mutex_);
    if (!stopping_) open_.insert(stream);
    return !stopping_;
  }
  void remove(const std::shared_ptr<Closable>& stream) {
    const std::scoped_lock lock(mutex_);
    open_.erase(stream);
  }
  void close_all() {
    std::set<std::shared_ptr<Closable>> open;
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      open.swap(open_);
    }
    for (const auto& stream : open) stream->close(shutting_down());
  }

 private:
  std::mutex mutex_;
  bool stopping_ = false;
  std::set<std::shared_ptr<Closable>> open_;
};

// The writing side. gRPC owns a reactor until OnDone; begin() makes it keep itself alive until
// then, and afterwards whoever still holds it may call push() and close() in vain.
template <class Message>
class QueueWriter : public grpc::ServerWriteReactor<Message>,
                    public Closable,
                    public std::enable_shared_from_this<QueueWriter<Message>> {
 public:
  QueueWriter(StreamSet& set, std::size_t most) : set_(set), most_(most) {}

  // Call once, from the method's handler.
  void begin() {
    self_ = this->shared_from_this();
    if (!set_.add(self_)) close(shutting_down());
  }
  // Queues a message; one too many ends the stream with RESOURCE_EXHAUSTED. False: it has ended.
  bool push(Message message) {
    bool overflow = false;
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) return false;
      overflow = queue_.size() >= most_;
      if (!overflow) {
        queue_.push_back(std::move(message));
        if (!writing_) write_locked();
      }
    }
    if (overflow) close(to_status(busy("the stream's backlog")));
    return !overflow;
  }
  // What is queued is dropped. Only the first close counts.
  void close(const grpc::Status& status) override {
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) return;
      closing_ = true;
      status_ = status;
      queue_.clear();
      if (writing_) return;  // OnWriteDone finishes
    }
    this->Finish(status_);
  }
  bool idle() {
    const std::scoped_lock lock(mutex_);
    return !closing_ && !writing_ && queue_.empty();
  }

  void OnWriteDone(bool ok) override {
    bool finish = false;
    bool is_drained = false;
    {
      const std::scoped_lock lock(mutex_);
      writing_ = false;
      if (!ok && !closing_) {
        closing_ = true;
        status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the reader is gone");
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
  // Everything queued was written; a gRPC thread. Push more if there is more.
  virtual void drained() {}
  // The stream is over.
  virtual void ended() {}

 private:
  void write_locked() {
    current_ = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    this->StartWrite(&current_);
  }

  StreamSet& set_;
  std::size_t most_;
  std::mutex mutex_;
  std::deque<Message> queue_;
  Message current_;
  bool writing_ = false;
  bool closing_ = false;
  grpc::Status status_;
  std::shared_ptr<QueueWriter> self_;
};

}  // namespace subak::api
