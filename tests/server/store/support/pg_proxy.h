// A line to a PostgreSQL server that a test can hold and cut, in either direction.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace subak {

class PgProxy {
 public:
  // Listens beside a server's own socket, whose folder this is; its clients use folder() as their host.
  explicit PgProxy(const std::string& server_folder);
  ~PgProxy();  // cuts all lines
  PgProxy(const PgProxy&) = delete;
  PgProxy& operator=(const PgProxy&) = delete;

  const std::string& folder() const { return folder_; }
  // From now on what clients send stays here, or what the server answers; it goes on when it is let go of.
  void hold_requests(bool held) { hold_requests_ = held; }
  void hold_answers(bool held) { hold_answers_ = held; }
  // Bytes that are held here of the direction.
  std::size_t held_requests() const { return held_requests_; }
  std::size_t held_answers() const { return held_answers_; }
  // Ends the lines to clients. What is held of their requests stays: it is late.
  void cut();
  // Ends all lines, in both directions; what is held is lost.
  void drop();
  // From now on who connects is turned away at once.
  void turn_away(bool away) { turn_away_ = away; }
  // From now on lines go to the server whose socket is in this folder.
  void lead_to(const std::string& server_folder);
  // Of the next request with a batch of facts, the last bytes stay here until let_go(): at most `tail` of them, and
  // never all. Its Sync alone is 5; without it the server has done the statement and waits in the transaction.
  void keep_end_of_batch(std::size_t tail) { kept_tail_ = tail; }
  void let_go() { let_go_ = true; }
  // The end of a batch is kept here.
  bool keeps_end() const { return keeps_end_; }
  // What is late is sent on, and answered, right before the first request with this text.
  void deliver_late_before(std::string text);

 private:
  struct Line {
    int client = -1, server = -1;
    std::string to_server, to_client;
    std::string kept;  // the end of a batch and what came after it; follows to_server
  };
  void serve();
  void wait_for_bytes();
  void move(Line& line);
  void deliver_late();
  bool is_awaited(const std::string& request);
  bool is_whole(Line& line);
  void connect(int client);

  std::string server_;  // under the mutex
  std::string folder_;
  int listener_ = -1;
  std::atomic<bool> stop_{false}, hold_requests_{false}, hold_answers_{false}, cut_{false},
      drop_{false}, turn_away_{false}, let_go_{false}, keeps_end_{false};
  std::atomic<std::size_t> kept_tail_{0};
  std::atomic<std::size_t> held_requests_{0}, held_answers_{0};
  std::mutex mutex_;
  std::string awaited_;      // under the mutex; empty: nothing is
  std::vector<Line> lines_;  // of the thread
  std::thread thread_;
};

}  // namespace subak
