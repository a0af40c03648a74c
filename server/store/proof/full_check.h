// Reads and checks a whole store while the service runs. For a store that is too large to be
// checked before the start.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "server/store/file/connection.h"

namespace subak {

// It proves what check_content() does. It uses a connection for reading and the lowest priority.
// Without success `sound` stays false, and readers go on without the indexes.
class FullCheck {
 public:
  // `sound` becomes true when the whole store was proved; damage is logged with its place. Nothing
  // is written.
  explicit FullCheck(std::shared_ptr<std::atomic<bool>> sound) : sound_(std::move(sound)) {}
  // Stops the check within about a millisecond of work, and joins. `sound` stays as it is.
  ~FullCheck();
  FullCheck(const FullCheck&) = delete;
  FullCheck& operator=(const FullCheck&) = delete;

  // Starts the thread; once. `path`: the store's file. It returns at once; results are only logged.
  void start(const std::string& path);
  // Waits until it is done.
  void wait();

 private:
  void run(const std::string& path);

  std::shared_ptr<std::atomic<bool>> sound_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace subak
