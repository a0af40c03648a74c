// Runs the long work of one call at a time, on a thread of its own.
// Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "threads/mutex.h"

namespace subak::api {

// The desk of one method, such as Backup.
class Desk {
 public:
  // Joins the thread of the last work.
  ~Desk() { stop(); }
  // Reserves the desk for the work of `caller`. nullopt: end() must be called once. The work that
  // run() gets must call end(). If the caller of begin() does not call run(), it must call end()
  // itself. A text: the desk is not free, and the text is the name of the caller whose work runs;
  // empty if the service stops. Then do not call end().
  std::optional<std::string> begin(const std::string& caller);
  // Starts a thread that runs `work`; `work` must call end(). Before that, it joins the thread of
  // the previous work, which has called end(). After stop(), it drops `work` and returns.
  void run(std::function<void()> work);
  // Frees the desk for the next work. The work's own thread may call it.
  void end();
  // Waits until the work has ended. Close the stream of the work before this call. After this call,
  // the desk is never free. Any thread except the thread of the work may call stop().
  void stop();

 private:
  Mutex mutex_;
  // The caller whose work runs; nullopt: the desk is free.
  std::optional<std::string> caller_ SUBAK_GUARDED_BY(mutex_);
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak::api
