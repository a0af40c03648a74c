// The bounded mailbox between all threads and the loop.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "model/input.h"
#include "server/runtime/runtime.h"

namespace subak {

// One post: an input, a group of inputs with one completion, or a new effect stream.
// Without `stream` it has at least one input.
struct Mail {
  std::vector<Input> inputs;
  // Of a single input; may be empty.
  ReplyFn done;
  // Of a group; may be empty.
  RepliesFn done_all;
  // nullptr: it is not a new stream.
  std::shared_ptr<EffectStream> stream;
  // The cluster of `stream`.
  ClusterId cluster;
};

// Holds at most `most` inputs, including those that the loop has taken and not yet applied.
// Threads: put() any; the rest the loop's. The caller's mutex guards it.
class Mailbox {
 public:
  // `most`: inputs; a new stream counts as none.
  explicit Mailbox(std::size_t most) : most_(most) {}
  // Adds a post. False: no room.
  // A group goes in as a whole or not at all.
  bool put(Mail mail);
  bool empty() const { return mails_.empty(); }
  // Returns the number of inputs, taken ones included.
  std::size_t waiting() const { return waiting_; }
  // Moves all posts to the end of `out`.
  void take(std::deque<Mail>& out);
  // Makes room: so many inputs that were taken are applied.
  void applied(std::size_t inputs) { waiting_ -= inputs; }

 private:
  std::vector<Mail> mails_;
  std::size_t most_;
  // Inputs, taken ones included.
  std::size_t waiting_ = 0;
};

}  // namespace subak
