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
// A post without `stream` has at least one input.
struct Mail {
  std::vector<Input> inputs;
  // The callback for a single input; may be empty.
  ReplyFn done;
  // The callback for a group; may be empty.
  RepliesFn done_all;
  // The new effect stream; nullptr: the post has inputs.
  std::shared_ptr<EffectStream> stream;
  // The cluster of `stream`.
  ClusterId cluster;
};

// Holds at most `most` inputs, including those that the loop has taken and not yet applied.
// Threads: any thread may call put(); only the loop calls the others.
// The caller's mutex guards the mailbox.
class Mailbox {
 public:
  // `most`: the number of inputs that it may hold. A new stream does not count.
  explicit Mailbox(std::size_t most) : most_(most) {}
  // Adds a post, with all its inputs or with none. False: there is no room for all.
  bool put(Mail mail);
  bool empty() const { return mails_.empty(); }
  // Returns the number of inputs, with those taken and not yet applied.
  std::size_t waiting() const { return waiting_; }
  // Moves all posts to the end of `out`.
  void take(std::deque<Mail>& out);
  // Says that the loop has applied this many of the taken inputs, which makes room for new ones.
  void applied(std::size_t inputs) { waiting_ -= inputs; }

 private:
  std::vector<Mail> mails_;
  std::size_t most_;
  // The number of inputs, with those taken and not yet applied.
  std::size_t waiting_ = 0;
};

}  // namespace subak
