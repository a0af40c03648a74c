// The bounded mailbox through which other threads send inputs to the loop, the thread that owns the
// engine. Private to server/runtime: others call Runtime::post().
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "model/input.h"
#include "server/runtime/runtime.h"

namespace subak {

// One post. A Mail has one input, or a group of inputs with one completion, or a new effect stream.
// A post without `stream` has at least one input.
struct Mail {
  std::vector<Input> inputs;
  // The callback for the reply to a single input; may be empty.
  ReplyFn done;
  // The callback for the replies to a group of inputs; may be empty.
  RepliesFn done_all;
  // The new effect stream; nullptr: the post has inputs.
  std::shared_ptr<EffectStream> stream;
  // The cluster of `stream`.
  ClusterId cluster;
};

// Holds at most `most` inputs. Inputs that the loop has taken and not yet applied count too.
// Threads: any thread may call put(); only the loop calls take() and applied(). Each caller must
// lock the runtime's mutex, which guards the mailbox.
class Mailbox {
 public:
  // `most`: the number of inputs that the mailbox may hold. A post with a new stream does not
  // count.
  explicit Mailbox(std::size_t most) : most_(most) {}
  // Adds a post with all its inputs. False: there is no room for all of its inputs, so none was
  // added.
  bool put(Mail mail);
  bool empty() const { return mails_.empty(); }
  // Returns the number of inputs, including those that the loop has taken and not yet applied.
  std::size_t waiting() const { return waiting_; }
  // Moves all posts to the end of `out`.
  void take(std::deque<Mail>& out);
  // Says that the loop has applied this many of the inputs that it took. The mailbox then has room
  // for as many new inputs.
  void applied(std::size_t inputs) { waiting_ -= inputs; }

 private:
  std::vector<Mail> mails_;
  std::size_t most_;
  // The number of inputs, including those that the loop has taken and not yet applied.
  std::size_t waiting_ = 0;
};

}  // namespace subak
