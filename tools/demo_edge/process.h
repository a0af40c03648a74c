// Runs the service (`subakd`) as a child process. The kernel ends the child when the thread that
// started it ends, so that a demo that dies leaves no process behind. So start it from a thread
// that lives as long as the demo.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace subak::demo {

// The addresses of the service, from its ready line.
struct Ports {
  // Each has the form "127.0.0.1:40123".
  std::string webhook, grpc, http;
};

// Owns the child and the pipe from its stdout. Threads: one.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill_hard(); }

  // Runs `command`, appends its stderr to `log_file`, and waits for its line "subakd ready ...".
  // Returns an error; empty: none.
  // It waits at most a minute between two bytes of that line. After an error it kills the child,
  // and no process is left. Do not call it while a child runs.
  std::string start(const std::vector<std::string>& command, const std::string& log_file,
                    Ports* ports);
  // Sends SIGKILL to the child, and waits for its end.
  // Does nothing if there is no child.
  void kill_hard();
  // Sends SIGTERM and waits up to half a minute. Returns the exit code, or -1 if it
  // had to kill the child.
  // It also returns -1 if a signal ended the child, or if there is no child.
  int terminate();
  // Returns the child's process id; -1: no child runs.
  pid_t pid() const { return pid_; }

 private:
  // Reads the ready line. Returns an error; empty: none.
  std::string read_ready(Ports* ports);
  // Closes the pipe, if it is open.
  void close_output();
  // The child's process id; -1: none.
  pid_t pid_ = -1;
  // The read end of the pipe from its stdout; -1: closed.
  int output_ = -1;
};

}  // namespace subak::demo
