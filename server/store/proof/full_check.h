// Reads and checks a whole store while the service runs, if the store is too large to be checked
// before the start.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "server/store/file/connection.h"

namespace subak {

// It makes the check of check_content(), with a connection for reading and the lowest priority. If
// it does not succeed, `sound` stays false, and readers do not use the indexes.
class FullCheck {
 public:
  // It sets `sound` to true when the whole store is checked and intact. It logs damage with its
  // place, and writes nothing.
  explicit FullCheck(std::shared_ptr<std::atomic<bool>> sound) : sound_(std::move(sound)) {}
  // Stops the check within about a millisecond of work, and joins the thread.
  // `sound` does not change.
  ~FullCheck();
  FullCheck(const FullCheck&) = delete;
  FullCheck& operator=(const FullCheck&) = delete;

  // Starts the thread and returns at once. Call it once. `path`: the store's file. The results go
  // only to the log.
  void start(const std::string& path);
  // Waits until the check is done.
  void wait();

 private:
  void run(const std::string& path);

  std::shared_ptr<std::atomic<bool>> sound_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace subak
