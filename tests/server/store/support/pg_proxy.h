// A proxy between clients and a PostgreSQL server. A test can hold back or drop what passes
// through, in either direction, to imitate a slow or broken network.
// Threads: any thread may call all methods. A thread of the proxy moves the bytes.
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
  // Begins to accept clients, which use folder() as their host. `server_folder`: the folder of the
  // server's socket. Throws std::runtime_error if that fails.
  explicit PgProxy(const std::string& server_folder);
  ~PgProxy();  // closes all connections
  PgProxy(const PgProxy&) = delete;
  PgProxy& operator=(const PgProxy&) = delete;

  const std::string& folder() const { return folder_; }
  // Hold back all requests of clients, or all answers of the server, while `held` is true.
  void hold_requests(bool held) { hold_requests_ = held; }
  void hold_answers(bool held) { hold_answers_ = held; }
  // Return how many bytes of requests, or of answers, the proxy has not passed on.
  std::size_t held_requests() const { return held_requests_; }
  std::size_t held_answers() const { return held_answers_; }
  // Closes the connections to clients. The connections to the server stay open for requests that
  // the proxy holds back. deliver_late_before() delivers these late requests.
  void cut();
  // Closes all connections. Bytes that the proxy holds back are lost.
  void drop();
  // While `away` is true, closes each new connection of a client at once.
  void turn_away(bool away) { turn_away_ = away; }
  // Connects later clients to the server whose socket is in this folder.
  void lead_to(const std::string& server_folder);
  // Holds back the last `tail` bytes of the next request that commits facts, but never all of it,
  // until let_go(). With 5 bytes, only the Sync message is held back: the server has then executed
  // the statement, and waits inside the transaction.
  void keep_end_of_batch(std::size_t tail) { kept_tail_ = tail; }
  void let_go() { let_go_ = true; }
  // True while the proxy holds back the end of a batch.
  bool keeps_end() const { return keeps_end_; }
  // Delivers the late requests of closed clients just before the first request that contains this
  // text, and waits for their answers.
  void deliver_late_before(std::string text);

 private:
  // A client's connection, and the connection to the server for it. -1: closed.
  struct Line {
    int client = -1, server = -1;
    std::string to_server, to_client;
    std::string kept;  // the end of a batch that is held back, and all later bytes of the client
  };
  void serve();
  void wait_for_bytes();
  void move(Line& line);
  void deliver_late();
  bool is_awaited(const std::string& request);
  bool is_whole(Line& line);
  void connect(int client);

  std::string server_;  // guarded by mutex_
  std::string folder_;
  int listener_ = -1;
  std::atomic<bool> stop_{false}, hold_requests_{false}, hold_answers_{false}, cut_{false},
      drop_{false}, turn_away_{false}, let_go_{false}, keeps_end_{false};
  std::atomic<std::size_t> kept_tail_{0};
  std::atomic<std::size_t> held_requests_{0}, held_answers_{0};
  std::mutex mutex_;
  std::string awaited_;      // the text of deliver_late_before(); guarded by mutex_
  std::vector<Line> lines_;  // only the proxy's thread uses the connections
  std::thread thread_;
};

}  // namespace subak
