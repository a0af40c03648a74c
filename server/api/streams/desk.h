// Runs the long work of a call, such as Backup or WhatIf, on a thread of its own, for one caller at
// a time. Each method has a desk, which refuses a second caller. Threads: any.
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
  // Reserves the desk for the work of `caller`. nullopt: the desk is reserved. Then call end()
  // once: in the work that run() gets, or directly if you do not call run(). A text: the desk is
  // not free, so do not call end(). The text is the name of the caller whose work runs; empty if
  // the service stops.
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
