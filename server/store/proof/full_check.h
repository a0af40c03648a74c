// Reads and checks a whole store while the service runs. FullCheck is for stores that are not
// checked completely before they are used (SqliteOptions::check). Threads: one at a time; the
// object's own thread does the check.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "server/store/file/connection.h"

namespace subak {

// FullCheck calls check_content(), with a connection that only reads, on a thread of the lowest
// priority. If the check does not succeed, `sound` stays false, so readers do not use the indexes.
class FullCheck {
 public:
  // `sound`: set to true when the whole store was checked and is intact. If the store is damaged,
  // it logs where. It never writes into the store.
  explicit FullCheck(std::shared_ptr<std::atomic<bool>> sound) : sound_(std::move(sound)) {}
  // Stops the check, which takes about a millisecond, and joins the thread. After that, `sound`
  // does not change.
  ~FullCheck();
  FullCheck(const FullCheck&) = delete;
  FullCheck& operator=(const FullCheck&) = delete;

  // Starts the thread and returns at once. Call it once. `path`: the store's file. The check
  // reports its result only by `sound` and in the log.
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
