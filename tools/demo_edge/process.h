// The service as a child process. Start it from one thread only: the kernel ends the child when
// that thread ends, so that a dying demo leaves no process behind.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace subak::demo {

// Where the service listens, from its ready line.
struct Ports {
  // Each "127.0.0.1:40123".
  std::string webhook, grpc, http;
};

// Owns the child and the pipe from its stdout. Threads: one.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill_hard(); }

  // Runs `command` with its log appended to `log_file`, and waits for its line "subakd ready ...".
  // Returns an error; empty: none.
  // Waits at most a minute between two bytes of that line. stderr goes to the log. After an error
  // the child is killed and no process is left. Not while one runs.
  std::string start(const std::vector<std::string>& command, const std::string& log_file,
                    Ports* ports);
  // Sends kill -9, and waits for the end.
  // Does nothing without a child.
  void kill_hard();
  // Sends SIGTERM and waits up to half a minute. Returns the exit code, or -1 if it had to be
  // killed.
  // -1 also for an end by a signal, or without a child.
  int terminate();
  // -1: no child runs.
  pid_t pid() const { return pid_; }

 private:
  // Returns an error, empty: none.
  std::string read_ready(Ports* ports);
  // Closes the pipe, if it is open.
  void close_output();
  // The child; -1: none.
  pid_t pid_ = -1;
  // The read end of the pipe from its stdout; -1: closed.
  int output_ = -1;
};

}  // namespace subak::demo
