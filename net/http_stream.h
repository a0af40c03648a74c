// The body of an answer that a producer sends in parts, such as server-sent events (class
// `HttpStream`). The producer may send a part at any time. The listener (HttpResponse::stream of
// net/listener.h) writes the parts to the connection in their order.
// Threads: any.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "threads/mutex.h"

namespace subak {

// One stream. The producer and the connection share it.
class HttpStream {
 public:
  // A part of the body. Several streams may share one part, so a text for many readers exists once.
  using Part = std::shared_ptr<const std::string>;

  // `most_bytes`: how many bytes may wait for the connection. A part that exceeds this ends the
  // stream, and the waiting parts are dropped.
  explicit HttpStream(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  // Queues a part; never nullptr. False: the stream has ended, or ends now because its reader is
  // too slow.
  bool send(Part part);
  // Ends the stream. The connection closes after it has sent the queued parts.
  void end();
  // True after end(), after the end of the connection, or if the reader was too slow.
  bool ended() const;

  // For the listener. attach() sets the function to call when there is something to take; it must
  // not block and may run on any thread. take() returns all waiting parts.
  void attach(std::function<void()> wake);
  std::vector<Part> take();

 private:
  const std::size_t most_bytes_;
  mutable Mutex mutex_;
  std::function<void()> wake_ SUBAK_GUARDED_BY(mutex_);
  std::vector<Part> parts_ SUBAK_GUARDED_BY(mutex_);
  // The sum of the sizes of `parts_`.
  std::size_t bytes_ SUBAK_GUARDED_BY(mutex_) = 0;
  bool ended_ SUBAK_GUARDED_BY(mutex_) = false;
};

}  // namespace subak
